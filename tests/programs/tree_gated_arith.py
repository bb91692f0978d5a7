# SPDX-License-Identifier: Apache-2.0
"""Nested lists of operations, ListOps like: operators by name in a dictionary of lambdas, memory of subtrees."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

OPERATORS = {"MIN": min, "MAX": max, "SUM": lambda xs: sum(xs) % 10}


def random_list(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return rng.randrange(10)
    return [rng.choice(sorted(OPERATORS))] + [random_list(rng, depth - 1) for _ in range(rng.randint(2, 3))]


def value(expr):
    if isinstance(expr, int):
        return expr
    op, *args = expr
    return OPERATORS[op]([value(a) for a in args])


class ListNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.digits = nn.Embedding(10, dim)
        self.ops = nn.ModuleDict({name: nn.Linear(2 * dim, dim) for name in OPERATORS})
        self.gate = nn.Linear(2 * dim, dim)
        self.out = nn.Linear(dim, 10)

    def encode(self, expr):
        if isinstance(expr, int):
            return self.digits(torch.tensor([expr]))
        op, *args = expr
        states = [self.encode(a) for a in args]
        h = states[0]
        for s in states[1:]:
            both = torch.cat([h, s], dim=1)
            g = torch.sigmoid(self.gate(both))
            h = g * torch.tanh(self.ops[op](both)) + (1 - g) * h
        return h

    def forward(self, expr):
        return self.out(self.encode(expr))


def train_step(net, optimizer, expr):
    logits = net(expr)
    loss = F.cross_entropy(logits, torch.tensor([value(expr)]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), logits.argmax(1).item() == value(expr)


def train_epoch(net, optimizer, data, epoch):
    start, right, total = time.time(), 0, 0.0
    for expr in data:
        loss, ok = train_step(net, optimizer, expr)
        right += ok
        total += loss
    print("%2d: loss %.3f, %d of %d, %.3f s" % (epoch, total, right, len(data), time.time() - start))
    return total, right


def main(epochs):
    rng = random.Random(12)
    data = [["MAX", random_list(rng, 2), random_list(rng, 2)] for _ in range(10)]
    net = ListNet(6)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    return [train_epoch(net, optimizer, data, e) for e in range(epochs)], net


MODEL, STEP, EPOCH = "ListNet.forward", "train_step", "train_epoch"
