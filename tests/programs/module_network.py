# SPDX-License-Identifier: Apache-2.0
"""Questions about a grid of coloured shapes, parsed to layouts that put small modules together: find, and, or, relocate, count, exists, compare."""
import random
import re
from collections import Counter

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

COLORS, KINDS, SIZE = ["red", "green", "blue"], ["square", "circle"], 3
WORDS = COLORS + KINDS
TOKEN = re.compile(r"[()]|[a-z]+")


class Layout:
    def __init__(self, op, args=(), word=None):
        self.op, self.args, self.word = op, list(args), word

    def __repr__(self):
        return f"{self.op}[{self.word}]" if self.word else f"{self.op}({', '.join(map(repr, self.args))})"


def parse(text):
    tokens = TOKEN.findall(text)

    def expression(i):
        if tokens[i] != "(":
            return Layout("find", word=tokens[i]), i + 1
        op, i, args = tokens[i + 1], i + 2, []
        while tokens[i] != ")":
            arg, i = expression(i)
            args.append(arg)
        return Layout(op, args), i + 1

    layout, end = expression(0)
    assert end == len(tokens), text
    return layout


def truth(layout, grid):
    if layout.op == "find":
        return {at for at, thing in grid.items() if layout.word in thing}
    args = [truth(a, grid) for a in layout.args]
    if layout.op == "and":
        return set.intersection(*args)
    if layout.op == "or":
        return set.union(*args)
    if layout.op == "left":
        return {(r, c - 1) for r, c in args[0] if c > 0}
    if layout.op == "count":
        return min(len(args[0]), 3)
    if layout.op == "exists":
        return int(bool(args[0]))
    return int(args[0] > args[1])  # more


class ModuleNetwork(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), 8)
        self.look = nn.Linear(features, 8)
        self.shift = nn.Linear(SIZE * SIZE, SIZE * SIZE)
        self.measure = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
        self.both = nn.Bilinear(4, 4, 4)
        self.used = Counter()

    def attend(self, layout, image):
        self.used[layout.op] += 1
        if layout.op == "find":
            word = self.words(torch.tensor(WORDS.index(layout.word)))
            return torch.sigmoid(self.look(image) @ word)
        maps = [self.attend(a, image) for a in layout.args]
        if layout.op == "left":
            return torch.sigmoid(self.shift(maps[0]))
        if layout.op == "and":
            result = maps[0]
            for m in maps[1:]:
                result = torch.minimum(result, m)
            return result
        return torch.stack(maps).max(0).values

    def forward(self, layout, image):
        self.used[layout.op] += 1
        if layout.op in ("count", "exists"):
            a = self.attend(layout.args[0], image)
            return self.measure(torch.stack([a.sum(), a.max()]))
        return self.both(*[self.forward(a, image) for a in layout.args])


def scene(rng):
    cells = [(r, c) for r in range(SIZE) for c in range(SIZE)]
    grid = {at: (rng.choice(COLORS), rng.choice(KINDS)) for at in rng.sample(cells, rng.randint(2, 6))}
    rows = [[1.0 if at in grid and w in grid[at] else 0.0 for w in WORDS] for at in cells]
    return grid, torch.tensor(rows)


def question(rng, depth=2):
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(WORDS)
    op = rng.choice(["and", "or", "left"])
    inside = " ".join(question(rng, depth - 1) for _ in range(1 if op == "left" else rng.randint(2, 3)))
    return f"({op} {inside})"


def train_batch(net, opt, batch):
    losses, hits = [], 0
    for layout, image, answer in batch:
        scores = net(layout, image)
        losses.append(F.cross_entropy(scores[None], torch.tensor([answer])))
        hits += int(scores.argmax().item() == answer)
    loss = torch.stack(losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), hits


def run_epoch(net, opt, examples, epoch):
    loss = hits = 0
    for i in range(0, len(examples), 5):
        got, ok = train_batch(net, opt, examples[i:i + 5])
        loss, hits = loss + got, hits + ok
    print(f"{epoch:2d} loss {loss:.4f} right {hits}/{len(examples)} most used {net.used.most_common(1)[0][0]}")
    return loss


def main(epochs):
    torch.manual_seed(11)
    rng, examples = random.Random(11), []
    for i in range(20):
        grid, image = scene(rng)
        text = f"({'count' if i % 3 else 'exists'} {question(rng)})" if i % 4 else f"(more (count {question(rng, 1)}) (count {question(rng, 1)}))"
        layout = parse(text)
        examples.append((layout, image, truth(layout, grid)))
    net = ModuleNetwork(len(WORDS))
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    return [run_epoch(net, opt, examples, e) for e in range(epochs)], dict(net.used), [repr(l) for l, _, _ in examples]


MODEL, STEP, EPOCH = "ModuleNetwork.forward", "train_batch", "run_epoch"
