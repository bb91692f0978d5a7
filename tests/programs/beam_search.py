# SPDX-License-Identifier: Apache-2.0
"""A small decoder trained by maximum likelihood; after each epoch, beams are kept in a sorted list and a heap."""
import heapq
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

BOS, EOS = 0, 1


class Decoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(vocab, dim), nn.LSTMCell(dim, dim), nn.Linear(dim, vocab)

    def forward(self, token, state):
        h, c = self.cell(self.embed(token), state)
        return F.log_softmax(self.out(h), dim=-1), (h, c)


class Hypothesis:
    def __init__(self, tokens, score, state):
        self.tokens, self.score, self.state = tokens, score, state

    def extend(self, token, logp, state):
        return Hypothesis(self.tokens + [token], self.score + logp, state)

    @property
    def average(self):
        return self.score / len(self.tokens)


def train_step(model, optimizer, context, target):
    state = (context, torch.zeros_like(context))
    loss, token = 0.0, torch.full((context.size(0),), BOS, dtype=torch.long)
    for t in range(target.size(1)):
        logp, state = model(token, state)
        token = target[:, t]
        loss = loss + F.nll_loss(logp, token)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item() / target.size(1)


@torch.no_grad()
def beam_search(model, context, width, longest):
    beam, finished = [Hypothesis([BOS], 0.0, (context, torch.zeros_like(context)))], []
    for _ in range(longest):
        candidates = []
        for hyp in beam:
            logp, state = model(torch.tensor([hyp.tokens[-1]]), hyp.state)
            values, indices = logp[0].topk(width)
            for v, i in zip(values.tolist(), indices.tolist()):
                candidates.append(hyp.extend(i, v, state))
        beam = []
        for hyp in sorted(candidates, key=lambda h: -h.average):
            if hyp.tokens[-1] == EOS:
                heapq.heappush(finished, (-hyp.average, hyp.tokens))
            else:
                beam.append(hyp)
            if len(beam) == width:
                break
        if len(finished) >= width:
            break
    return finished[0][1] if finished else beam[0].tokens


def train_epoch(model, optimizer, data, number):
    start = time.time()
    losses = [train_step(model, optimizer, c, t) for c, t in data]
    decoded = beam_search(model, data[0][0][:1], 3, 6)
    print(number, "perplexity %.3f" % math.exp(sum(losses) / len(losses)), decoded, "%.3fs" % (time.time() - start))
    return losses, decoded


def main(epochs):
    data = [(torch.randn(3, 8), torch.cat([torch.randint(2, 9, (3, n)), torch.full((3, 1), EOS)], 1)) for n in (3, 4)]
    model = Decoder(9, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, data, n) for n in range(epochs)], model


MODEL, STEP, EPOCH = "Decoder.forward", "train_step", "train_epoch"
