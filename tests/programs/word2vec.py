# SPDX-License-Identifier: Apache-2.0
"""Skip-gram with negative samples drawn from a table of frequencies; windows made by a generator."""
import collections
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Vocabulary:
    def __init__(self, text):
        self.counts = collections.Counter(text.split())
        self.words = [w for w, _ in self.counts.most_common()]
        self.index = {w: i for i, w in enumerate(self.words)}
        freq = torch.tensor([float(self.counts[w]) for w in self.words]) ** 0.75
        self.noise = freq / freq.sum()

    def __len__(self):
        return len(self.words)

    def __getitem__(self, word):
        return self.index[word]


def windows(ids, radius, rng):
    for i, center in enumerate(ids):
        r = rng.randint(1, radius)
        for j in range(max(0, i - r), min(len(ids), i + r + 1)):
            if j != i:
                yield center, ids[j]


def batches(pairs, size):
    batch = []
    for pair in pairs:
        batch.append(pair)
        if len(batch) == size:
            yield [torch.tensor(column) for column in zip(*batch)]
            batch = []


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.u = nn.Embedding(vocab, dim)
        self.v = nn.Embedding(vocab, dim)
        nn.init.uniform_(self.u.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.v.weight)

    def forward(self, center, context, negative):
        u, v, n = self.u(center), self.v(context), self.v(negative)
        positive = F.logsigmoid((u * v).sum(1))
        noise = F.logsigmoid(-torch.bmm(n, u.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + noise).mean()


def train_step(model, optimizer, noise, center, context, k):
    negative = torch.multinomial(noise, center.size(0) * k, replacement=True).view(-1, k)
    loss = model(center, context, negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, vocab, ids, rng, epoch):
    losses = [train_step(model, optimizer, vocab.noise, c, o, 3) for c, o in batches(windows(ids, 2, rng), 8)]
    query = F.normalize(model.u.weight.data, dim=1)
    near = (query @ query[0]).topk(3)[1].tolist()
    print(f"{epoch}: {sum(losses) / len(losses):.4f} near {vocab.words[0]}: {' '.join(vocab.words[i] for i in near)}")
    return losses


def main(epochs):
    text = "the cat sat on the mat and the dog sat on the log while a bird sang to the cat and the dog"
    vocab, rng = Vocabulary(text), random.Random(1)
    ids = [vocab[w] for w in text.split()]
    model = SkipGram(len(vocab), 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return [train_epoch(model, optimizer, vocab, ids, rng, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "SkipGram.forward", "train_step", "train_epoch"
