# SPDX-License-Identifier: Apache-2.0
"""A language model with a mixture of softmaxes: dropped weights, one mask for all steps, averaging that starts when validation stalls."""
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

TEXT = """the cat sat on the mat and the dog sat on the log <eos> the dog ran after the cat <eos>
a bird sang in the tree and the cat looked at the bird <eos> the bird flew over the log <eos>""".split()


class Corpus:
    def __init__(self, words):
        self.word2idx, self.idx2word = {}, []
        for w in words:
            self.add(w)
        self.ids = torch.tensor([self.word2idx[w] for w in words])

    def add(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class LockedDropout(nn.Module):
    def forward(self, x, dropout=0.5):
        if not self.training or not dropout:
            return x
        m = x.new_empty(1, x.size(1), x.size(2)).bernoulli_(1 - dropout)
        return m.div_(1 - dropout).expand_as(x) * x


class DropCell(nn.Module):
    """An LSTM cell whose recurrent weights are dropped once a sequence."""

    def __init__(self, inputs, hidden, drop):
        super().__init__()
        self.w_ih, self.w_hh = nn.Linear(inputs, 4 * hidden), nn.Linear(hidden, 4 * hidden, bias=False)
        self.drop = drop

    def forward(self, x, state):
        w = F.dropout(self.w_hh.weight, p=self.drop, training=self.training)
        h, c = state
        outputs = []
        for step in self.w_ih(x).unbind(0):
            i, f, g, o = (step + F.linear(h, w)).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs), (h, c)


class MoS(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers=2, experts=3):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnns = nn.ModuleList(DropCell(ninp if k == 0 else nhid, nhid, 0.2) for k in range(nlayers))
        self.prior = nn.Linear(nhid, experts, bias=False)
        self.latent = nn.Sequential(nn.Linear(nhid, experts * ninp), nn.Tanh())
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        self.lockdrop = LockedDropout()
        self.ninp, self.nhid, self.experts, self.ntoken = ninp, nhid, experts, ntoken

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return [(weight.new_zeros(bsz, self.nhid), weight.new_zeros(bsz, self.nhid)) for _ in self.rnns]

    def forward(self, tokens, hidden, return_h=False):
        n, b = tokens.shape
        raw = self.lockdrop(self.encoder(tokens), 0.1)
        new_hidden, raws, dropped = [], [], []
        for rnn, h in zip(self.rnns, hidden):
            raw, h = rnn(raw, h)
            new_hidden.append(h)
            raws.append(raw)
            raw = self.lockdrop(raw, 0.2)
            dropped.append(raw)
        latent = self.lockdrop(self.latent(raw), 0.1)
        logit = self.decoder(latent.view(-1, self.ninp))
        prior = F.softmax(self.prior(raw).view(-1, self.experts), -1)
        prob = F.softmax(logit, -1).view(-1, self.experts, self.ntoken)
        prob = (prob * prior.unsqueeze(2).expand_as(prob)).sum(1)
        log_prob = torch.log(prob.add_(1e-8)).view(n, b, self.ntoken)
        return (log_prob, new_hidden, raws, dropped) if return_h else (log_prob, new_hidden)


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return type(h)(repackage(v) for v in h)


def train_step(model, optimizer, data, targets, hidden, lr, alpha=2.0, beta=1.0, clip=0.25):
    hidden = repackage(hidden)
    optimizer.param_groups[0]["lr"] = lr
    optimizer.zero_grad()
    log_prob, hidden, raws, dropped = model(data, hidden, return_h=True)
    raw_loss = F.nll_loss(log_prob.view(-1, log_prob.size(2)), targets)
    loss = raw_loss + sum(alpha * h.pow(2).mean() for h in dropped[-1:])
    loss = loss + sum(beta * (h[1:] - h[:-1]).pow(2).mean() for h in raws[-1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return raw_loss.item(), hidden


def evaluate(model, source, bptt=6):
    model.eval()
    total, hidden = 0.0, model.init_hidden(source.size(1))
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            n = min(bptt, len(source) - 1 - i)
            log_prob, hidden = model(source[i:i + n], hidden)
            total += F.nll_loss(log_prob.view(-1, model.ntoken), source[i + 1:i + 1 + n].view(-1)).item() * n
    return total / (len(source) - 1)


def train_epoch(epoch, model, optimizer, train, valid, state, bptt=6):
    model.train()
    start, i, total, batches = time.time(), 0, 0.0, 0
    hidden = model.init_hidden(train.size(1))
    while i < train.size(0) - 2:
        n = bptt if torch.rand(1).item() < 0.8 else bptt // 2
        n = min(n, len(train) - 1 - i)
        lr = state["lr"] * n / bptt
        loss, hidden = train_step(model, optimizer, train[i:i + n], train[i + 1:i + 1 + n].reshape(-1), hidden, lr)
        total += loss
        batches += 1
        i += n
    for p in model.parameters():
        if p in state["average"]:
            state["average"][p].mul_(state["mu"]).add_(p.data, alpha=1 - state["mu"])
        elif state["averaging"]:
            state["average"][p] = p.detach().clone()
    val = evaluate(model, valid)
    print("| end of epoch {:3d} | time: {:5.2f}s | loss {:5.2f} | valid ppl {:8.2f}".format(
        epoch, time.time() - start, total / batches, math.exp(val)))
    if not state["averaging"] and len(state["valid"]) > 2 and val > min(state["valid"][:-2]):
        print("Switching to averages")
        state["averaging"] = True
    state["valid"].append(val)
    return total / batches, val


def main(epochs):
    torch.manual_seed(11)
    corpus = Corpus(TEXT)
    train, valid = batchify(corpus.ids, 2), batchify(corpus.ids[:20], 1)
    model = MoS(len(corpus), 6, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=1.2e-6)
    state = {"lr": 2.0, "mu": 0.7, "average": {}, "averaging": False, "valid": []}
    results = [train_epoch(e, model, optimizer, train, valid, state) for e in range(1, epochs + 1)]
    return results, model, [state["average"].get(p) for p in model.parameters()]


MODEL, STEP, EPOCH = "MoS.forward", "train_step", "train_epoch"
