# SPDX-License-Identifier: Apache-2.0
"""Names of functions from paths between the leaves of their syntax trees: nodes are numbered, ancestors met, paths embedded and attended over."""
import ast
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

SOURCES = [("total", "def f(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s"), ("largest", "def f(xs):\n    m = xs[0]\n    for x in xs:\n        if x > m:\n            m = x\n    return m"),
           ("double", "def f(x):\n    return x + x"), ("contains", "def f(xs, y):\n    for x in xs:\n        if x == y:\n            return True\n    return False"),
           ("total", "def f(values):\n    r = 0\n    for v in values:\n        r = r + v\n    return r"), ("double", "def f(n):\n    return 2 * n")]
NAMES = sorted({name for name, _ in SOURCES})


class Node:
    def __init__(self, kind, parent=None, token=None):
        self.kind, self.parent, self.token = kind, parent, token
        self.children = []
        self.depth = 0 if parent is None else parent.depth + 1
        if parent is not None:
            parent.children.append(self)


def build(tree, parent=None):
    token = getattr(tree, "id", None) or getattr(tree, "arg", None)
    if isinstance(tree, ast.Constant):
        token = str(tree.value)
    node = Node(type(tree).__name__, parent, token)
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, (ast.Load, ast.Store)):
            build(child, node)
    return node


def leaves(node):
    if not node.children:
        return [node]
    found = []
    for c in node.children:
        found += leaves(c)
    return found


def path(a, b):
    up, down = [], []
    while a is not b:
        if a.depth >= b.depth:
            up.append(a.kind)
            a = a.parent
        else:
            down.append(b.kind)
            b = b.parent
    return up + [a.kind] + down[::-1]


def contexts(root, rng, most=8):
    ends = [leaf for leaf in leaves(root) if leaf.token]
    pairs = [(a, b) for i, a in enumerate(ends) for b in ends[i + 1:]]
    rng.shuffle(pairs)
    return [(a.token, path(a, b), b.token) for a, b in pairs[:most]]


class Vocabulary:
    def __init__(self):
        self.words = {"<unk>": 0}

    def __call__(self, word):
        return self.words.setdefault(word, len(self.words))


class CodeVectors(nn.Module):
    def __init__(self, tokens, kinds, hidden=10):
        super().__init__()
        self.token, self.kind = nn.Embedding(tokens, hidden), nn.Embedding(kinds, hidden)
        self.steps = nn.GRUCell(hidden, hidden)
        self.mix = nn.Linear(3 * hidden, hidden)
        self.attention = nn.Parameter(torch.randn(hidden))
        self.out = nn.Linear(hidden, len(NAMES))

    def encode(self, context):
        start, kinds, end = context
        h = torch.zeros(1, self.mix.out_features)
        for k in kinds:
            h = self.steps(self.kind(torch.tensor([k])), h)
        parts = [self.token(torch.tensor(start)), h.squeeze(0), self.token(torch.tensor(end))]
        return torch.tanh(self.mix(torch.cat(parts)))

    def forward(self, found):
        vectors = torch.stack([self.encode(c) for c in found])
        weights = F.softmax(vectors @ self.attention, dim=0)
        return self.out(weights @ vectors), weights


def train_step(net, opt, function):
    name, found = function
    opt.zero_grad()
    scores, weights = net(found)
    loss = F.cross_entropy(scores.unsqueeze(0), torch.tensor([name]))
    loss.backward()
    opt.step()
    return loss.item(), scores.argmax().item() == name, weights.max().item()


def run_epoch(epoch, net, opt, data):
    total, right, sharpest = 0.0, 0, 0.0
    for function in data:
        loss, ok, sharp = train_step(net, opt, function)
        total += loss
        right += ok
        sharpest = max(sharpest, sharp)
    print(f"{epoch} loss {total / len(data):.4f} right {right}/{len(data)} sharpest {sharpest:.3f}")
    return total


def main(epochs):
    torch.manual_seed(6)
    rng, token, kind = random.Random(6), Vocabulary(), Vocabulary()
    data = []
    for name, text in SOURCES:
        found = contexts(build(ast.parse(text).body[0]), rng)
        data.append((NAMES.index(name), [(token(a), [kind(k) for k in p], token(b)) for a, p, b in found]))
    net = CodeVectors(len(token.words), len(kind.words))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    return [run_epoch(e, net, opt, data) for e in range(epochs)]


MODEL, STEP, EPOCH = "CodeVectors.forward", "train_step", "run_epoch"
