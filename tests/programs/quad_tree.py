# SPDX-License-Identifier: Apache-2.0
"""Point clouds as quad-trees that grow by splitting full cells; a network folds a tree from its leaves and tells which shape drew the points."""
import math
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

SHAPES = ["ring", "cross", "blob"]


class Cell:
    __slots__ = ("x", "y", "half", "points", "children", "depth")

    def __init__(self, x, y, half, depth=0):
        self.x, self.y, self.half, self.depth = x, y, half, depth
        self.points, self.children = [], None

    def insert(self, p, capacity=3, deepest=4):
        if self.children is None:
            self.points.append(p)
            if len(self.points) > capacity and self.depth < deepest:
                self.split()
            return
        self.children[self.quadrant(p)].insert(p, capacity, deepest)

    def quadrant(self, p):
        return (p[0] > self.x) + 2 * (p[1] > self.y)

    def split(self):
        h = self.half / 2
        self.children = [Cell(self.x + dx * h, self.y + dy * h, h, self.depth + 1) for dy in (-1, 1) for dx in (-1, 1)]
        points, self.points = self.points, []
        for p in points:
            self.children[self.quadrant(p)].insert(p)

    def __len__(self):
        return len(self.points) if self.children is None else sum(len(c) for c in self.children)


def draw(kind, n, rng):
    points = []
    for _ in range(n):
        t = rng.random()
        if kind == "ring":
            p = (0.8 * math.cos(6.283 * t), 0.8 * math.sin(6.283 * t))
        elif kind == "cross":
            p = (2 * t - 1, 0.0) if rng.random() < 0.5 else (0.0, 2 * t - 1)
        else:
            p = (rng.gauss(0, 0.3), rng.gauss(0, 0.3))
        points.append((p[0] + rng.gauss(0, 0.05), p[1] + rng.gauss(0, 0.05)))
    return points


class QuadNet(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.empty = nn.Parameter(torch.zeros(hidden))
        self.point = nn.Linear(2, hidden)
        self.merge = nn.ModuleList([nn.Linear(hidden, hidden, bias=False) for _ in range(4)])
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, len(SHAPES))

    def fold(self, cell):
        if cell.children is not None:
            h = self.bias
            for w, child in zip(self.merge, cell.children):
                h = h + w(self.fold(child))
            return torch.tanh(h)
        if not cell.points:
            return self.empty
        at = torch.tensor([[(x - cell.x) / cell.half, (y - cell.y) / cell.half] for x, y in cell.points])
        return torch.tanh(self.point(at)).mean(0)

    def forward(self, root):
        return self.out(self.fold(root))


def train_step(net, opt, batch):
    opt.zero_grad()
    loss, right = 0.0, 0
    for root, kind in batch:
        logits = net(root)
        loss = loss + F.cross_entropy(logits.unsqueeze(0), torch.tensor([kind]))
        right += logits.argmax().item() == kind
    loss = loss / len(batch)
    loss.backward()
    opt.step()
    return loss.item(), right


def run_epoch(epoch, net, opt, data, rng):
    rng.shuffle(data)
    total, right = 0.0, 0
    for i in range(0, len(data), 6):
        batch = data[i:i + 6]
        loss, ok = train_step(net, opt, batch)
        total += loss * len(batch)
        right += ok
    print(f"epoch {epoch}: loss {total / len(data):.4f} accuracy {right / len(data):.2f}")
    return total / len(data)


def main(epochs):
    torch.manual_seed(3)
    rng = random.Random(3)
    data = []
    for i in range(18):
        root = Cell(0.0, 0.0, 1.2)
        for p in draw(SHAPES[i % 3], rng.randint(8, 20), rng):
            root.insert(p)
        data.append((root, i % 3))
    net = QuadNet()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = [run_epoch(e, net, opt, data, rng) for e in range(epochs)]
    return losses, sorted(len(root) for root, _ in data)


MODEL, STEP, EPOCH = "QuadNet.forward", "train_step", "run_epoch"
