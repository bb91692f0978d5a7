# SPDX-License-Identifier: Apache-2.0
"""A forest of trees that decide softly: probabilities of leaves by recursion, leaf distributions fitted between the gradient steps, features counted."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

FEATURES, CLASSES = 5, 3


class Split:
    def __init__(self, weight, feature, left, right):
        self.weight, self.feature, self.left, self.right = weight, feature, left, right
        self.visits = 0


class Leaf:
    def __init__(self, number):
        self.number, self.visits = number, 0


class Tree(nn.Module):
    def __init__(self, depth, rng):
        super().__init__()
        self.splits = nn.ParameterList()
        self.n_leaves = 0
        self.root = self.grow(depth, rng)
        self.register_buffer("leaves", torch.full((self.n_leaves, CLASSES), 1.0 / CLASSES))

    def grow(self, depth, rng):
        if depth == 0 or (depth < 2 and rng.random() < 0.3):
            leaf = Leaf(self.n_leaves)
            self.n_leaves += 1
            return leaf
        w = nn.Parameter(torch.randn(2) * 0.5)
        self.splits.append(w)
        return Split(w, rng.randrange(FEATURES), self.grow(depth - 1, rng), self.grow(depth - 1, rng))

    def route(self, node, x, reach, out):
        node.visits += 1
        if isinstance(node, Leaf):
            out.append(reach)
            return
        p = torch.sigmoid(x[:, node.feature] * node.weight[0] + node.weight[1])
        self.route(node.left, x, reach * p, out)
        self.route(node.right, x, reach * (1 - p), out)

    def reach(self, x):
        out = []
        self.route(self.root, x, torch.ones(x.shape[0]), out)
        return torch.stack(out, 1)

    def forward(self, x):
        return self.reach(x) @ self.leaves


class Forest(nn.Module):
    def __init__(self, n, rng):
        super().__init__()
        self.trees = nn.ModuleList([Tree(rng.randint(2, 3), rng) for _ in range(n)])

    def forward(self, x):
        return sum(t(x) for t in self.trees) / len(self.trees)


def train_step(forest, opt, x, y):
    opt.zero_grad()
    loss = F.nll_loss(torch.log(forest(x) + 1e-6), y)
    loss.backward()
    opt.step()
    return loss.item()


def fit_leaves(forest, x, y):
    with torch.no_grad():
        for tree in forest.trees:
            mass = tree.reach(x).t() @ F.one_hot(y, CLASSES).float()
            mass = mass * tree.leaves + 1e-3
            tree.leaves.copy_(mass / mass.sum(1, keepdim=True))


def importance(node, counts):
    if isinstance(node, Split):
        counts[node.feature] = counts.get(node.feature, 0) + 1
        importance(node.left, counts)
        importance(node.right, counts)
    return counts


def run_epoch(epoch, forest, opt, x, y):
    losses = []
    for i in range(0, x.shape[0], 10):
        losses.append(train_step(forest, opt, x[i:i + 10], y[i:i + 10]))
    fit_leaves(forest, x, y)
    counts = {}
    for tree in forest.trees:
        importance(tree.root, counts)
    best = max(sorted(counts), key=counts.get)
    with torch.no_grad():
        right = (forest(x).argmax(1) == y).float().mean().item()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} right {right:.2f} most used feature {best}")
    return losses


def main(epochs):
    torch.manual_seed(17)
    rng = random.Random(17)
    x = torch.randn(40, FEATURES)
    y = (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0.5).long()
    forest = Forest(3, rng)
    opt = torch.optim.Adam(forest.parameters(), lr=0.05)
    losses = [run_epoch(e, forest, opt, x, y) for e in range(epochs)]
    return losses, [t.root.visits for t in forest.trees]


MODEL, STEP, EPOCH = "Forest.forward", "train_step", "run_epoch"
