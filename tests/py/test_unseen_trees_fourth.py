# SPDX-License-Identifier: Apache-2.0
"""Recursive programs of yet other domains, written as people write them and without a look at what janus can do: the share of ops in
graphs that each has today is the least it may have."""
import collections
import dataclasses
import typing

import pytest

import janus
import janus.nn.functional as F
from janus import nn
from test_unseen_trees import OPTIONS, check_as_undecorated, trainer


def parameters(*modules):
    return [p for m in modules for p in m.parameters()]


def html():
    """A page as nested elements: a walker object keeps depth and counts, tags have embeddings, attributes are a dict."""
    @dataclasses.dataclass
    class Element:
        tag: str
        attrs: dict
        children: list

    tags = ["div", "p", "a", "ul", "li"]

    class Walker(nn.Module):
        def __init__(self):
            super().__init__()
            self.tag = nn.ModuleDict({t: nn.Linear(4, 4) for t in tags})
            self.leaf = nn.Parameter(janus.randn(4))
            self.link = nn.Parameter(janus.randn(4))
            self.depth = 0
            self.deepest = 0

        def forward(self, el):
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            h = self.leaf
            for child in el.children:
                h = h + self(child)
            if "href" in el.attrs:
                h = h + self.link
            self.depth -= 1
            return janus.tanh(self.tag[el.tag](h)) / self.depth if self.depth else janus.tanh(self.tag[el.tag](h))

    net = Walker()

    def make(rng, d):
        kids = [make(rng, d - 1) for _ in range(rng.randint(0, 3) if d else 0)]
        return Element(rng.choice(tags), {"href": "#"} if rng.random() < 0.3 else {}, kids)

    params = list(net.parameters())
    return trainer(lambda page: net(page).pow(2).sum(), params), lambda rng: (make(rng, 3),), params


def compiler():
    """Three-address code for expressions is emitted by a builder object, then run over registers."""
    consts = nn.Parameter(janus.randn(5))

    class Expr(typing.NamedTuple):
        op: str
        args: tuple

    class Builder:
        def __init__(self):
            self.code = []
            self.fresh = 0

        def emit(self, op, a, b):
            self.code.append((op, a, b))
            self.fresh += 1
            return self.fresh - 1

        def compile(self, e):
            if e.op == "const":
                return self.emit("const", e.args[0], 0)
            a = self.compile(e.args[0])
            b = self.compile(e.args[1])
            return self.emit(e.op, a, b)

    def run(code):
        regs = []
        for op, a, b in code:
            if op == "const":
                regs.append(consts[a])
            elif op == "add":
                regs.append(regs[a] + regs[b])
            else:
                regs.append(regs[a] * regs[b])
        return regs[-1]

    def loss_of(e):
        builder = Builder()
        builder.compile(e)
        return (run(builder.code).tanh() - 0.5) ** 2

    def make(rng, d):
        if d == 0 or rng.random() < 0.2:
            return Expr("const", (rng.randrange(5),))
        return Expr(rng.choice(["add", "mul"]), (make(rng, d - 1), make(rng, d - 1)))

    return trainer(loss_of, [consts]), lambda rng: (make(rng, 3),), [consts]


def decision_tree():
    """A soft decision tree over a row, whose inner nodes are modules in a list; the path of most weight is kept in the tree."""
    class Inner(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.gate = nn.Linear(4, 1)
            self.left = Inner(depth - 1) if depth > 1 else None
            self.right = Inner(depth - 1) if depth > 1 else None
            self.leaves = nn.Parameter(janus.randn(2, 3)) if depth == 1 else None

        def forward(self, x):
            p = janus.sigmoid(self.gate(x))
            if self.leaves is not None:
                return p * self.leaves[0] + (1 - p) * self.leaves[1]
            if p.item() > 0.9:
                return self.left(x)
            if p.item() < 0.1:
                return self.right(x)
            return p * self.left(x) + (1 - p) * self.right(x)

    net = Inner(3)
    params = list(net.parameters())
    return (trainer(lambda x, y: F.cross_entropy(net(x * 3)[None], y), params),
            lambda rng: (janus.randn(4), janus.randint(0, 3, (1,))), params)


def ast_model():
    """Code as nested dicts with a list of children by field; variables have states in a scope that blocks copy."""
    emb, cell, mix = nn.Embedding(6, 4), nn.GRUCell(4, 4), nn.Linear(8, 4)
    kinds = {"name": 0, "num": 1, "call": 2, "assign": 3, "block": 4, "bin": 5}

    def encode(node, scope):
        kind = node["type"]
        x = emb(janus.tensor(kinds[kind]))
        if kind == "num":
            return x * node["value"]
        if kind == "name":
            return scope[node["id"]] if node["id"] in scope else x
        if kind == "assign":
            value = encode(node["value"], scope)
            scope[node["target"]] = value
            return value
        if kind == "block":
            inner = dict(scope)
            h = janus.zeros(1, 4)
            for stmt in node["body"]:
                h = cell(encode(stmt, inner)[None], h)
            return h[0]
        return janus.tanh(mix(janus.cat([encode(node["left"], scope), encode(node["right"], scope)])))

    def make(rng, d):
        kind = rng.choice(["block", "assign", "bin", "bin"]) if d else rng.choice(["name", "num"])
        if kind == "block":
            return {"type": kind, "body": [make(rng, d - 1) for _ in range(rng.randint(1, 3))]}
        if kind == "assign":
            return {"type": kind, "target": rng.choice("xyz"), "value": make(rng, d - 1)}
        if kind == "bin":
            return {"type": kind, "left": make(rng, d - 1), "right": make(rng, d - 1)}
        return {"type": kind, "id": rng.choice("xyz")} if kind == "name" else {"type": kind, "value": rng.uniform(-1, 1)}

    params = parameters(emb, cell, mix)
    return trainer(lambda t: encode(t, {}).pow(2).sum(), params), lambda rng: (make(rng, 3),), params


def inside_outside():
    """Probabilities of spans by recursion with a memo in a dict of tuples (a PCFG of one nonterminal)."""
    rule, word = nn.Parameter(janus.randn(2)), nn.Parameter(janus.randn(6))

    def loss_of(sentence):
        logs = F.log_softmax(rule, 0)
        emits = F.log_softmax(word, 0)
        memo = {}

        def inside(i, j):
            if (i, j) in memo:
                return memo[i, j]
            if j - i == 1:
                r = logs[0] + emits[sentence[i]]
            else:
                r = janus.logsumexp(janus.stack([logs[1] + inside(i, k) + inside(k, j) for k in range(i + 1, j)]), 0)
            memo[i, j] = r
            return r
        return -inside(0, len(sentence))

    params = [rule, word]
    return trainer(loss_of, params), lambda rng: ([rng.randrange(6) for _ in range(rng.randint(2, 5))],), params


def scene_graph():
    """Objects in a scene with a parent's frame; children add up, a visitor yields (depth, state) pairs."""
    w, out = nn.Linear(4, 4), nn.Linear(4, 1)

    class Thing:
        def __init__(self, pos, parts):
            self.pos, self.parts = janus.tensor(pos), parts

    def walk(thing, frame, depth=0):
        here = janus.tanh(w(frame + thing.pos))
        yield depth, here
        for part in thing.parts:
            yield from walk(part, here, depth + 1)

    def loss_of(scene):
        total = janus.zeros(1)
        count = 0
        for depth, h in walk(scene, janus.zeros(4)):
            total = total + out(h) / (depth + 1)
            count += 1
        return (total / count).tanh().sum()

    def make(rng, d):
        return Thing([rng.uniform(-1, 1) for _ in range(4)], [make(rng, d - 1) for _ in range(rng.randint(0, 2) if d else 0)])

    params = parameters(w, out)
    return trainer(loss_of, params), lambda rng: (make(rng, 3),), params


def tokens_to_tree():
    """A recursive descent parser with a cursor, whose rules give tensors at once."""
    emb, w = nn.Embedding(5, 4), nn.Linear(8, 4)

    class Parser:
        def __init__(self, tokens):
            self.tokens, self.pos = tokens, 0

        def peek(self):
            return self.tokens[self.pos] if self.pos < len(self.tokens) else None

        def take(self):
            t = self.tokens[self.pos]
            self.pos += 1
            return t

        def factor(self):
            t = self.take()
            if t == "(":
                h = self.expr()
                self.take()
                return h
            return emb.weight["abcde".index(t)]

        def term(self):
            h = self.factor()
            while self.peek() == "*":
                self.take()
                h = h * self.factor()
            return h

        def expr(self):
            h = self.term()
            while self.peek() == "+":
                self.take()
                h = janus.tanh(w(janus.cat([h, self.term()])))
            return h

    def make(rng, d):
        if d == 0:
            return [rng.choice("abcde")]
        kind = rng.randrange(3)
        if kind == 0:
            return ["(", *make(rng, d - 1), ")"]
        return [*make(rng, d - 1), "+*"[kind - 1], *make(rng, d - 1)]

    params = parameters(emb, w)
    return trainer(lambda tokens: Parser(tokens).expr().pow(2).sum(), params), lambda rng: (make(rng, 3),), params


def hierarchy():
    """Topics in a hierarchy as an adjacency dict; states go down, losses of documents come up, in two functions."""
    down, out, root_state = nn.Linear(4, 4), nn.Linear(4, 3), nn.Parameter(janus.randn(4))

    def loss_of(children, docs):
        states = {}

        def spread(v, h):
            states[v] = h
            for i, u in enumerate(children.get(v, ())):
                spread(u, janus.tanh(down(h) + i))

        def cost(v):
            here = [F.cross_entropy(out(states[v])[None], janus.tensor([y])) for y in docs.get(v, [])]
            return sum(here) + sum(cost(u) for u in children.get(v, ()))
        spread(0, root_state)
        return cost(0) / max(1, len(docs))

    def data(rng):
        n = rng.randint(2, 6)
        children = collections.defaultdict(list)
        for v in range(1, n):
            children[rng.randrange(v)].append(v)
        docs = {v: [rng.randrange(3) for _ in range(rng.randint(1, 2))] for v in range(n) if v == 0 or rng.random() < 0.6}
        return dict(children), docs

    params = [root_state, *parameters(down, out)]
    return trainer(loss_of, params), data, params


def chess():
    """Principal variation by negamax: (value, move) pairs, positions made by applying moves to a tuple."""
    value = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))

    def moves(board):
        return [i for i, x in enumerate(board) if x == 0]

    def play(board, i, side):
        return board[:i] + (side,) + board[i + 1:]

    def negamax(board, side, depth):
        options = moves(board)
        if depth == 0 or not options:
            return value(janus.tensor([float(x * side) for x in board]))[0], None
        best, move = None, None
        for i in options:
            v, _ = negamax(play(board, i, side), -side, depth - 1)
            if best is None or -v.item() > best.item():
                best, move = -v, i
        return best, move

    def data(rng):
        return tuple(rng.choice([0, 0, 1, -1]) for _ in range(4)), rng.uniform(-1, 1)

    params = parameters(value)
    return trainer(lambda b, y: (negamax(b, 1, 2)[0] - y) ** 2, params), data, params


def folders():
    """A tree of folders with sizes; models of kinds, sums kept on the nodes by properties and methods."""
    class Entry:
        def __init__(self, name):
            self.name = name

    class File(Entry):
        kind = 0

        def __init__(self, name, size):
            super().__init__(name)
            self._size = size

        @property
        def size(self):
            return self._size

        def encode(self, net):
            return net.file(janus.tensor([float(self.size), float(len(self.name))]))

    class Folder(Entry):
        kind = 1

        def __init__(self, name, entries):
            super().__init__(name)
            self.entries = entries

        @property
        def size(self):
            return sum(e.size for e in self.entries)

        def encode(self, net):
            parts = [e.encode(net) for e in self.entries]
            if not parts:
                return net.empty
            h = janus.stack(parts).max(dim=0).values
            return janus.tanh(net.folder(h)) * (self.size / 10.0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.file, self.folder = nn.Linear(2, 4), nn.Linear(4, 4)
            self.empty = nn.Parameter(janus.randn(4))

        def forward(self, entry):
            return entry.encode(self)

    net = Net()

    def make(rng, d):
        if d == 0 or rng.random() < 0.3:
            return File("f" * rng.randint(1, 4), rng.randint(1, 9))
        return Folder("d", [make(rng, d - 1) for _ in range(rng.randint(0, 3))])

    params = list(net.parameters())
    return trainer(lambda t: net(t).pow(2).sum(), params), lambda rng: (Folder("root", [make(rng, 2) for _ in range(2)]),), params


PROGRAMS = {html: 0.85, compiler: 0.25, decision_tree: 0.85, ast_model: 0.0, inside_outside: 0.6, scene_graph: 0.6, tokens_to_tree: 0.0,
            hierarchy: 0.2, chess: 0.0, folders: 0.0}


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_undecorated(program, options):
    if program is folders:  # its training diverges, so a rounding grows
        options = {**options, "numerics": "exact"}
    check_as_undecorated(program, options, PROGRAMS[program])
