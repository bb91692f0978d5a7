# SPDX-License-Identifier: Apache-2.0
"""Points merged to a tree, closest pair first, by a learnt distance; a net folds what was merged, a margin pulls apart what belongs to other groups."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Cluster:
    def __init__(self, members, center, left=None, right=None, height=0.0):
        self.members, self.center, self.left, self.right, self.height = members, center, left, right, height

    def __len__(self):
        return len(self.members)

    def cut(self, height):
        if self.left is None or self.height <= height:
            return [self]
        return self.left.cut(height) + self.right.cut(height)


class Metric(nn.Module):
    def __init__(self, dims=3, hidden=6):
        super().__init__()
        self.project = nn.Linear(dims, hidden)
        self.join = nn.Linear(2 * hidden, hidden)
        self.score = nn.Linear(hidden, 1)

    def embed(self, x):
        return F.normalize(torch.tanh(self.project(x)), dim=-1)

    def fold(self, cluster, z):
        if cluster.left is None:
            return z[cluster.members[0]]
        a, b = self.fold(cluster.left, z), self.fold(cluster.right, z)
        if len(cluster.left) < len(cluster.right):
            a, b = b, a
        return torch.tanh(self.join(torch.cat([a, b])))

    def forward(self, root, x):
        return self.score(self.fold(root, self.embed(x)))[0]


def cluster(z):
    rows = z.tolist()
    active = [Cluster([i], row) for i, row in enumerate(rows)]
    while len(active) > 1:
        best = None
        for i in range(len(active)):
            for j in range(i + 1, len(active)):
                d = sum((p - q) ** 2 for p, q in zip(active[i].center, active[j].center))
                if best is None or d < best[0]:
                    best = (d, i, j)
        d, i, j = best
        b, a = active.pop(j), active.pop(i)
        n, m = len(a), len(b)
        center = [(p * n + q * m) / (n + m) for p, q in zip(a.center, b.center)]
        active.append(Cluster(a.members + b.members, center, a, b, d))
    return active[0]


def pairs_loss(z, groups):
    loss = 0.0
    for i in range(len(groups)):
        for j in range(i + 1, len(groups)):
            d = ((z[i] - z[j]) ** 2).sum()
            loss = loss + (d if groups[i] == groups[j] else F.relu(0.8 - d))
    return loss / len(groups)


def train_step(net, opt, x, groups):
    with torch.no_grad():
        root = cluster(net.embed(x))
    z = net.embed(x)
    target = torch.tensor(float(len(set(groups))))
    loss = pairs_loss(z, groups) + 0.1 * (net(root, x) - target) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), root


def purity(root, groups, height=0.5):
    right = 0
    for c in root.cut(height):
        counts = {}
        for i in c.members:
            counts[groups[i]] = counts.get(groups[i], 0) + 1
        right += max(counts.values())
    return right / len(groups)


def run_epoch(epoch, net, opt, sets):
    losses, pure = [], []
    for x, groups in sets:
        loss, root = train_step(net, opt, x, groups)
        losses.append(loss)
        pure.append(purity(root, groups))
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} purity {min(pure):.2f} to {max(pure):.2f}")
    return losses


def main(epochs):
    torch.manual_seed(10)
    rng, sets = random.Random(10), []
    for _ in range(5):
        groups = [rng.randrange(3) for _ in range(rng.randint(5, 8))]
        x = torch.tensor([[float(g == k) + rng.gauss(0, 0.3) for k in range(3)] for g in groups])
        sets.append((x, groups))
    net = Metric()
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    return [run_epoch(e, net, opt, sets) for e in range(epochs)]


MODEL, STEP, EPOCH = "Metric.forward", "train_step", "run_epoch"
