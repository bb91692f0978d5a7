# SPDX-License-Identifier: Apache-2.0
"""Nodes that compute themselves: several classes with a method each, and a cache on the instance."""
import random
import time

import janus as torch
import janus.nn as nn


class Expr:
    def eval(self, net):
        raise NotImplementedError

    def depth(self):
        return 0


class Leaf(Expr):
    def __init__(self, index):
        self.index = index

    def eval(self, net):
        return net.leaf[self.index]

    def __repr__(self):
        return "x%d" % self.index


class Unary(Expr):
    def __init__(self, child):
        self.child = child

    def eval(self, net):
        return torch.tanh(net.unary @ self.child.eval(net))

    def depth(self):
        return 1 + self.child.depth()

    def __repr__(self):
        return f"f({self.child!r})"


class Pair(Expr):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def eval(self, net):
        a, b = self.left.eval(net), self.right.eval(net)
        return torch.relu(net.first @ a + net.second @ b)

    def depth(self):
        return 1 + max(self.left.depth(), self.right.depth())

    def __repr__(self):
        return f"g({self.left!r}, {self.right!r})"


def random_expr(rng, depth):
    if depth == 0:
        return Leaf(rng.randrange(4))
    return rng.choice([lambda: Unary(random_expr(rng, depth - 1)), lambda: Leaf(rng.randrange(4)),
                       lambda: Pair(random_expr(rng, depth - 1), random_expr(rng, depth - 1))])()


class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.leaf = nn.Parameter(torch.randn(4, dim))
        self.unary = nn.Parameter(torch.randn(dim, dim) * 0.4)
        self.first = nn.Parameter(torch.randn(dim, dim) * 0.4)
        self.second = nn.Parameter(torch.randn(dim, dim) * 0.4)

    def forward(self, expr):
        return expr.eval(self).sum()


def train_step(net, optimizer, expr, target):
    loss = (net(expr) - target) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(net, optimizer, data, epoch):
    start = time.time()
    losses = [train_step(net, optimizer, expr, target) for expr, target in data]
    worst = max(range(len(data)), key=lambda i: losses[i])
    print(f"epoch {epoch}: {sum(losses):.4f}, worst {data[worst][0]!r} in {time.time() - start:.3f} s")
    return losses


def main(epochs):
    rng = random.Random(21)
    exprs = [random_expr(rng, 4) for _ in range(12)]
    data = [(e, 0.5 * e.depth()) for e in exprs]
    net = Net(4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    return [train_epoch(net, optimizer, data, e) for e in range(epochs)], net


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
