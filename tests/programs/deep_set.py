# SPDX-License-Identifier: Apache-2.0
"""Sets of any size: a generator of batches, a context manager of one's own, exceptions for sets that are empty."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class EmptySet(ValueError):
    pass


class Timer:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __enter__(self):
        self.start = time.time()
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(self.name)
        self.elapsed = time.time() - self.start
        return kind is EmptySet


class DeepSet(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.rho = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, points):
        if points.size(0) == 0:
            raise EmptySet("no points")
        h = self.phi(points)
        return self.rho(torch.cat([h.mean(0), h.max(0)[0]])).squeeze()


def stream(rng, n):
    for i in range(n):
        size = rng.choice([0, 1, 2, 3, 5])
        points = torch.rand(size, 2)
        yield points, points.norm(dim=1).max() if size else torch.tensor(0.0)


def train_step(model, optimizer, points, target):
    optimizer.zero_grad()
    try:
        loss = F.mse_loss(model(points), target)
    except EmptySet as e:
        return str(e)
    loss.backward()
    optimizer.step()
    return round(loss.item(), 3)


def train_epoch(model, optimizer, rng, log):
    results = []
    with Timer("train", log) as timer:
        for points, target in stream(rng, 6):
            results.append(train_step(model, optimizer, points, target))
    with Timer("check", log):
        model(torch.zeros(0, 2))
        log.append("not reached")
    numbers = [r for r in results if not isinstance(r, str)]
    print("%.3f from %d of %d in %.3f s" % (sum(numbers), len(numbers), len(results), timer.elapsed))
    return results


def main(epochs):
    rng, log = random.Random(3), []
    model = DeepSet(2, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return [train_epoch(model, optimizer, rng, log) for _ in range(epochs)], log, model


MODEL, STEP, EPOCH = "DeepSet.forward", "train_step", "train_epoch"
