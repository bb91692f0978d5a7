# SPDX-License-Identifier: Apache-2.0
"""A tagger with a conditional random field: forward algorithm for training, Viterbi for decoding."""
import time

import janus as torch
import janus.nn as nn


def log_sum_exp(x):
    m = x.max(0)[0]
    return m + (x - m).exp().sum(0).log()


class CRFTagger(nn.Module):
    def __init__(self, vocab, dim, tags):
        super().__init__()
        self.tags = tags
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim)
        self.emit = nn.Linear(dim, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)
        self.start = nn.Parameter(torch.zeros(tags))

    def emissions(self, words):
        out, _ = self.rnn(self.embed(words).unsqueeze(1))
        return self.emit(out.squeeze(1))

    def partition(self, emissions):
        alpha = self.start + emissions[0]
        for i in range(1, emissions.size(0)):
            alpha = log_sum_exp(alpha.unsqueeze(1) + self.transitions) + emissions[i]
        return log_sum_exp(alpha)

    def score(self, emissions, tags):
        s = self.start[tags[0]] + emissions[0, tags[0]]
        for i in range(1, len(tags)):
            s = s + self.transitions[tags[i - 1], tags[i]] + emissions[i, tags[i]]
        return s

    def viterbi(self, emissions):
        best, back = self.start + emissions[0], []
        for e in emissions[1:]:
            value, index = (best.unsqueeze(1) + self.transitions).max(0)
            best = value + e
            back.append(index)
        tag = best.argmax().item()
        path = [tag]
        for index in reversed(back):
            tag = index[tag].item()
            path.append(tag)
        path.reverse()
        return path

    def forward(self, words, tags):
        emissions = self.emissions(words)
        return self.partition(emissions) - self.score(emissions, tags)


def train_step(model, optimizer, words, tags):
    model.zero_grad()
    loss = model(words, tags)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    total = sum(train_step(model, optimizer, w, t) for w, t in data)
    with torch.no_grad():
        paths = [model.viterbi(model.emissions(w)) for w, _ in data]
    right = sum(p == q for (_, t), path in zip(data, paths) for p, q in zip(path, t.tolist()))
    print(f"epoch {epoch}: loss {total:.3f}, {right} right, {time.time() - start:.2f} s")
    return total, paths


def main(epochs):
    data = [(torch.randint(0, 12, (n,)), torch.randint(0, 4, (n,))) for n in (4, 6, 3, 5, 7)]
    model = CRFTagger(12, 6, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, weight_decay=1e-4)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "CRFTagger.forward", "train_step", "train_epoch"
