# SPDX-License-Identifier: Apache-2.0
"""Examples drawn in proportion to their last error by a sum tree that is walked and updated by recursion; the errors correct for the draw."""
import random

import janus as torch
import janus.nn as nn


class Node:
    def __init__(self, low, high):
        self.low, self.high = low, high
        self.total = 0.0
        if high - low > 1:
            middle = (low + high) // 2
            self.left, self.right = Node(low, middle), Node(middle, high)
        else:
            self.left = self.right = None

    def is_leaf(self):
        return self.left is None

    def update(self, i, value):
        if self.is_leaf():
            self.total = value
            return
        (self.left if i < self.left.high else self.right).update(i, value)
        self.total = self.left.total + self.right.total

    def find(self, mass):
        if self.is_leaf():
            return self.low, self.total
        if mass < self.left.total:
            return self.left.find(mass)
        return self.right.find(mass - self.left.total)


class Net(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.a, self.b = nn.Linear(1, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Replay:
    def __init__(self, xs, ys, seed):
        self.xs, self.ys, self.rng = xs, ys, random.Random(seed)
        self.tree = Node(0, len(xs))
        for i in range(len(xs)):
            self.tree.update(i, 1.0)

    def draw(self, n):
        segment = self.tree.total / n
        picked = [self.tree.find((k + self.rng.random()) * segment) for k in range(n)]
        indices, weights = [], []
        for i, p in picked:
            indices.append(i)
            weights.append((len(self.xs) * p / self.tree.total) ** -0.5)
        most = max(weights)
        return indices, [w / most for w in weights]


def train_step(net, opt, replay, n=6):
    indices, weights = replay.draw(n)
    x = torch.tensor([[replay.xs[i]] for i in indices])
    y = torch.tensor([replay.ys[i] for i in indices])
    error = net(x).squeeze(1) - y
    loss = (torch.tensor(weights) * error * error).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for i, e in zip(indices, error.detach().abs().tolist()):
        replay.tree.update(i, e + 0.01)
    return loss.item()


def run_epoch(epoch, net, opt, replay):
    losses = []
    for _ in range(5):
        losses.append(train_step(net, opt, replay))
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} mass {replay.tree.total:.3f} left {replay.tree.left.total:.3f}")
    return losses


def main(epochs):
    torch.manual_seed(4)
    xs = [i / 8 - 1 for i in range(17)]
    ys = [abs(x) if x < 0.5 else 2.0 - x for x in xs]
    net, replay = Net(), Replay(xs, ys, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    return [run_epoch(e, net, opt, replay) for e in range(epochs)]


MODEL, STEP, EPOCH = "Net.forward", "train_step", "run_epoch"
