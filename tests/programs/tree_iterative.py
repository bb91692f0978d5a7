# SPDX-License-Identifier: Apache-2.0
"""Trees laid out in arrays: nodes by level, parents' indices, index_add for the sums of children."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def random_parents(rng, n):
    """parents[i] < i for i > 0; the root is 0."""
    return [-1] + [rng.randrange(i) for i in range(1, n)]


def levels(parents):
    depth = [0] * len(parents)
    for i, p in enumerate(parents):
        depth[i] = 0 if p < 0 else depth[p] + 1
    out = [[] for _ in range(max(depth) + 1)]
    for i, d in enumerate(depth):
        out[d].append(i)
    return [torch.tensor(level) for level in out]


class LevelRNN(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed, self.inner, self.out = nn.Embedding(vocab, dim), nn.Linear(2 * dim, dim), nn.Linear(dim, classes)

    def forward(self, tokens, parents, order):
        x = self.embed(tokens)
        up = torch.zeros_like(x)
        for level in reversed(order):
            h = torch.tanh(self.inner(torch.cat([x[level], up[level]], dim=1)))
            if len(level) == 1 and level[0] == 0:
                return self.out(h)
            up = up.index_add(0, parents[level], h)
        raise RuntimeError("no root")


def train_step(model, optimizer, tree, label):
    loss = F.cross_entropy(model(*tree), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, epoch):
    start = time.time()
    losses = []
    for i, (tree, label) in enumerate(data):
        losses.append(train_step(model, optimizer, tree, label))
    print("Epoch %d: %.4f (%d levels at most), %.3f s" % (epoch, sum(losses), max(len(t[2]) for t, _ in data),
                                                          time.time() - start))
    return losses


def main(epochs):
    rng, data = random.Random(51), []
    for _ in range(8):
        parents = random_parents(rng, rng.randint(1, 7))
        tree = torch.randint(0, 9, (len(parents),)), torch.tensor(parents), levels(parents)
        data.append((tree, torch.tensor([len(parents) % 2])))
    model = LevelRNN(9, 5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [train_epoch(model, optimizer, data, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "LevelRNN.forward", "train_step", "train_epoch"
