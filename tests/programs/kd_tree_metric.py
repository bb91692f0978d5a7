# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours in a k-d tree that is built anew each epoch from what a net makes of the points; the net learns from the neighbours found."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class KdNode:
    def __init__(self, point, label, axis, left, right):
        self.point, self.label, self.axis, self.left, self.right = point, label, axis, left, right

    @classmethod
    def build(cls, rows, depth=0):
        if not rows:
            return None
        axis = depth % len(rows[0][0])
        rows = sorted(rows, key=lambda r: r[0][axis])
        middle = len(rows) // 2
        return cls(*rows[middle], axis, cls.build(rows[:middle], depth + 1), cls.build(rows[middle + 1:], depth + 1))


class Neighbours:
    def __init__(self, k):
        self.k, self.found, self.visited = k, [], 0

    def offer(self, distance, label):
        at = 0
        while at < len(self.found) and self.found[at][0] <= distance:
            at += 1
        self.found.insert(at, (distance, label))
        if len(self.found) > self.k:
            self.found.pop()

    def worst(self):
        return self.found[-1][0] if len(self.found) == self.k else float("inf")

    def search(self, node, q):
        if node is None:
            return
        self.visited += 1
        self.offer(sum((a - b) ** 2 for a, b in zip(node.point, q)), node.label)
        side = q[node.axis] - node.point[node.axis]
        near, far = (node.left, node.right) if side < 0 else (node.right, node.left)
        self.search(near, q)
        if side * side < self.worst():
            self.search(far, q)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=-1)


def train_step(net, opt, tree, x, y, margin=0.4):
    with torch.no_grad():
        queries = net(x).tolist()
    weights, visited = [], 0
    for q, label in zip(queries, y.tolist()):
        n = Neighbours(3)
        n.search(tree, q)
        wrong = sum(1 for _, l in n.found if l != label)
        weights.append(1.0 + wrong)
        visited += n.visited
    z = net(x)
    d = torch.cdist(z, z)
    same = (y[:, None] == y[None, :]).float()
    per_row = (same * d + (1 - same) * F.relu(margin - d)).mean(1)
    loss = (per_row * torch.tensor(weights)).sum() / sum(weights)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), visited


def run_epoch(epoch, net, opt, x, y):
    with torch.no_grad():
        points = net(x).tolist()
    tree = KdNode.build(list(zip(points, y.tolist())))
    losses, visited = [], 0
    for i in range(0, len(points), 8):
        loss, n = train_step(net, opt, tree, x[i:i + 8], y[i:i + 8])
        losses.append(loss)
        visited += n
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} visited {visited}")
    return losses


def main(epochs):
    torch.manual_seed(12)
    rng = random.Random(12)
    y = [rng.randrange(3) for _ in range(24)]
    x = torch.tensor([[float(k == label) + rng.gauss(0, 0.4) for k in range(4)] for label in y])
    net = Embedder()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    return [run_epoch(e, net, opt, x, torch.tensor(y)) for e in range(epochs)]


MODEL, STEP, EPOCH = "Embedder.forward", "train_step", "run_epoch"
