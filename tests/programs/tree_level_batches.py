# SPDX-License-Identifier: Apache-2.0
"""Mini-batches of trees of all shapes in one list, encoded one by one and stacked for the classifier."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Vertex:
    __slots__ = ("token", "kids")

    def __init__(self, token, kids=()):
        self.token, self.kids = token, kids


def grow(rng, size):
    if size <= 1:
        return Vertex(rng.randrange(16))
    k = rng.randint(1, min(3, size - 1))
    sizes = [1] * k
    for _ in range(size - 1 - k):
        sizes[rng.randrange(k)] += 1
    return Vertex(rng.randrange(16), tuple(grow(rng, s) for s in sizes))


class TreeGRU(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(16, dim)
        self.z, self.r, self.h = (nn.Linear(2 * dim, dim) for _ in range(3))
        self.dim = dim

    def forward(self, vertex):
        x = self.embed(torch.tensor(vertex.token))
        if not vertex.kids:
            s = torch.zeros(self.dim)
        else:
            s = torch.stack([self(k) for k in vertex.kids]).sum(0)
        xs = torch.cat([x, s])
        z, r = torch.sigmoid(self.z(xs)), torch.sigmoid(self.r(xs))
        return (1 - z) * s + z * torch.tanh(self.h(torch.cat([x, r * s])))


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.encoder, self.head = TreeGRU(dim), nn.Linear(dim, 2)

    def forward(self, trees):
        return self.head(torch.stack([self.encoder(t) for t in trees]))


def train_step(model, optimizer, trees, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(trees), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, data, batch_size, rng):
    rng.shuffle(data)
    start, losses = time.time(), []
    for i in range(0, len(data), batch_size):
        trees, labels = zip(*data[i:i + batch_size])
        losses.append(train_step(model, optimizer, trees, torch.tensor(labels)))
    print("loss %.4f, %.0f ms" % (sum(losses) / len(losses), 1000 * (time.time() - start)))
    return losses


def main(epochs):
    rng = random.Random(41)
    data = [(grow(rng, rng.randint(1, 9)), rng.randrange(2)) for _ in range(16)]
    model = Model(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return [train_epoch(model, optimizer, data, 4, rng) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "Model.forward", "train_step", "train_epoch"
