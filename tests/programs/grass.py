# SPDX-License-Identifier: Apache-2.0
"""A recursive autoencoder of shapes: boxes joined or repeated by symmetry, typed nodes, encoded bottom up, decoded top down, then sampled."""
import random
import time
from dataclasses import dataclass
from typing import Optional

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Node:
    kind: str
    box: Optional[torch.Tensor] = None
    sym: Optional[torch.Tensor] = None
    left: "Node" = None
    right: "Node" = None

    KINDS = ("box", "adj", "sym")

    def is_leaf(self):
        return self.kind == "box"

    @property
    def label(self):
        return torch.tensor([self.KINDS.index(self.kind)])

    def depth(self):
        return 1 + max((c.depth() for c in self.children()), default=0)

    def children(self):
        return [c for c in (self.left, self.right) if c is not None]

    def __iter__(self):
        yield self
        for c in self.children():
            yield from c


def two_layers(a, b, c):
    return nn.Sequential(nn.Linear(a, b), nn.Tanh(), nn.Linear(b, c), nn.Tanh())


class Encoder(nn.Module):
    def __init__(self, feature, hidden):
        super().__init__()
        self.box = nn.Linear(6, feature)
        self.adj = two_layers(2 * feature, hidden, feature)
        self.sym = two_layers(feature + 4, hidden, feature)
        self.mu, self.logvar = nn.Linear(feature, feature), nn.Linear(feature, feature)

    def encode(self, node):
        if node.is_leaf():
            return torch.tanh(self.box(node.box))
        if node.kind == "adj":
            return self.adj(torch.cat([self.encode(node.left), self.encode(node.right)], 1))
        if node.kind == "sym":
            return self.sym(torch.cat([self.encode(node.left), node.sym], 1))
        raise ValueError(node.kind)

    def forward(self, tree):
        root = self.encode(tree)
        return self.mu(root), self.logvar(root)


class Decoder(nn.Module):
    def __init__(self, feature, hidden):
        super().__init__()
        self.box = nn.Sequential(nn.Linear(feature, 6), nn.Tanh())
        self.adj = two_layers(feature, hidden, 2 * feature)
        self.sym = two_layers(feature, hidden, feature + 4)
        self.kind = nn.Sequential(nn.Linear(feature, hidden), nn.ReLU(), nn.Linear(hidden, 3))
        self.feature = feature

    def split_adj(self, f):
        return self.adj(f).chunk(2, dim=1)

    def split_sym(self, f):
        out = self.sym(f)
        return out[:, :self.feature], out[:, self.feature:]

    def losses(self, node, f):
        """Of a node and of all below it: (box, symmetry, kind)."""
        kind = F.cross_entropy(self.kind(f), node.label)
        if node.is_leaf():
            return F.mse_loss(self.box(f), node.box, reduction="sum"), torch.zeros(()), kind
        if node.kind == "adj":
            a, b = self.split_adj(f)
            one, two = self.losses(node.left, a), self.losses(node.right, b)
            return one[0] + two[0], one[1] + two[1], kind + one[2] + two[2]
        child, params = self.split_sym(f)
        box, sym, below = self.losses(node.left, child)
        return box, sym + F.mse_loss(params, node.sym, reduction="sum"), kind + below

    @torch.no_grad()
    def sample(self, f, depth=0, limit=4):
        kind = Node.KINDS[self.kind(f).argmax(1).item()] if depth < limit else "box"
        if kind == "box":
            return Node("box", box=self.box(f))
        if kind == "adj":
            a, b = self.split_adj(f)
            return Node("adj", left=self.sample(a, depth + 1, limit), right=self.sample(b, depth + 1, limit))
        child, params = self.split_sym(f)
        return Node("sym", sym=params, left=self.sample(child, depth + 1, limit))


class Model(nn.Module):
    def __init__(self, feature=12, hidden=20):
        super().__init__()
        self.encoder, self.decoder = Encoder(feature, hidden), Decoder(feature, hidden)

    def forward(self, tree):
        mu, logvar = self.encoder(tree)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        box, sym, kind = self.decoder.losses(tree, z)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return {"box": box, "sym": sym, "kind": kind, "kl": kl}


WEIGHTS = {"box": 1.0, "sym": 1.0, "kind": 0.2, "kl": 0.01}


def train_step(model, optimizer, trees, sizes):
    optimizer.zero_grad()
    totals = {}
    for tree, n in zip(trees, sizes):
        for name, value in model(tree).items():
            totals[name] = totals.get(name, 0) + WEIGHTS[name] * value / (n if name != "kl" else 1)
    loss = sum(totals.values()) / len(trees)
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    optimizer.step()
    return {"loss": loss.item(), **{k: v.item() / len(trees) for k, v in totals.items()}}


def describe(node):
    if node.is_leaf():
        return f"[{node.box[0, 0].item():.2f}]"
    inner = " ".join(describe(c) for c in node.children())
    return f"({node.kind} {inner})"


def train_epoch(epoch, model, optimizer, trees, rng, batch=4):
    start, log = time.time(), []
    order = list(range(len(trees)))
    rng.shuffle(order)
    for i in range(0, len(order), batch):
        chosen = [trees[j] for j in order[i:i + batch]]
        log.append(train_step(model, optimizer, chosen, [sum(1 for _ in t) for t in chosen]))
    means = {k: sum(row[k] for row in log) / len(log) for k in log[0]}
    sample = model.decoder.sample(torch.randn(1, 12))
    print(f"{epoch}: " + ", ".join(f"{k} {v:.4f}" for k, v in means.items()) + f" | depth {sample.depth()} {describe(sample)} | {time.time() - start:.2f}s")
    return means


def grow(rng, depth):
    if depth == 0 or rng.random() < 0.25:
        return Node("box", box=torch.rand(1, 6) - 0.5)
    if rng.random() < 0.3:
        return Node("sym", sym=torch.rand(1, 4), left=grow(rng, depth - 1))
    return Node("adj", left=grow(rng, depth - 1), right=grow(rng, depth - 1))


def main(epochs):
    torch.manual_seed(9)
    rng = random.Random(9)
    trees = [grow(rng, 3) for _ in range(40)]
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.8)
    history = []
    for e in range(epochs):
        history.append(train_epoch(e, model, optimizer, trees, rng))
        scheduler.step()
    return history, model.state_dict()


MODEL, STEP, EPOCH = "Model.forward", "train_step", "train_epoch"
