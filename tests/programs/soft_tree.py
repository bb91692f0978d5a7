# SPDX-License-Identifier: Apache-2.0
"""A soft decision tree: inner nodes route with a sigmoid, leaves hold distributions; path probabilities by recursion, a penalty for lopsided nodes."""
import janus as torch
import janus.nn as nn


class Leaf(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(classes) * 0.1)

    def forward(self, x, prob, leaves, penalties, depth):
        leaves.append((prob, torch.softmax(self.logits, 0)))


class Inner(nn.Module):
    def __init__(self, features, classes, depth, beta=1.0):
        super().__init__()
        self.gate, self.beta = nn.Linear(features, 1), nn.Parameter(torch.tensor(beta))
        kind = (lambda: Inner(features, classes, depth - 1)) if depth > 1 else (lambda: Leaf(classes))
        self.left, self.right = kind(), kind()

    def forward(self, x, prob, leaves, penalties, depth=0):
        p = torch.sigmoid(self.beta * self.gate(x)).squeeze(1)
        alpha = (prob * p).sum() / prob.sum()
        penalties.append((2.0 ** -depth, -0.5 * (torch.log(alpha) + torch.log(1 - alpha))))
        self.left(x, prob * (1 - p), leaves, penalties, depth + 1)
        self.right(x, prob * p, leaves, penalties, depth + 1)


class SoftTree(nn.Module):
    def __init__(self, features, classes, depth=3, strength=0.1):
        super().__init__()
        self.root, self.strength = Inner(features, classes, depth), strength

    def forward(self, x):
        leaves, penalties = [], []
        self.root(x, torch.ones(x.size(0)), leaves, penalties)
        mixed = sum(p.unsqueeze(1) * q for p, q in leaves)
        best = torch.stack([p for p, _ in leaves]).argmax(0)
        chosen = torch.stack([q for _, q in leaves])[best]
        return mixed, chosen, self.strength * sum(w * c for w, c in penalties)


def step(tree, opt, x, y):
    mixed, chosen, penalty = tree(x)
    loss = -torch.log(mixed.gather(1, y[:, None]) + 1e-9).mean() + penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach(), (chosen.argmax(1) == y).float().mean()


def run_epoch(epoch, tree, opt, batches):
    losses, accs = zip(*(step(tree, opt, x, y) for x, y in batches))
    loss, acc = torch.stack(losses).mean(), torch.stack(accs).mean()
    print("epoch", epoch, "loss", f"{loss:.4f}", "acc %.3f" % acc)
    if acc > 0.9:
        print("   depth used:", sum(1 for m in tree.modules() if isinstance(m, Inner)))
    return loss.item()


def main(epochs):
    torch.manual_seed(6)
    x = torch.rand(120, 2) * 2 - 1
    y = ((x[:, 0] * x[:, 1]) > 0).long() + ((x ** 2).sum(1) > 1).long()
    tree = SoftTree(2, 3)
    opt = torch.optim.Adam(tree.parameters(), lr=0.03)
    return [run_epoch(e, tree, opt, list(zip(x.chunk(4), y.chunk(4)))) for e in range(epochs)]


MODEL, STEP, EPOCH = "SoftTree.forward", "step", "run_epoch"
