# SPDX-License-Identifier: Apache-2.0
"""More programs over trees and graphs that were written without a look at what janus can do, after those of
test_unseen_trees.py ran: the share of ops in graphs that each has today is the least it may have."""
import pytest

import janus
import janus.nn.functional as F
from janus import nn
from test_unseen_trees import OPTIONS, Node, check_as_undecorated, trainer


def parameters(*modules):
    return [p for m in modules for p in m.parameters()]


def made(rng, depth, arity=3):
    """A tree with up to `arity` children a node."""
    return Node(rng.randrange(7), *[made(rng, depth - 1, arity) for _ in range(rng.randint(0, arity) if depth else 0)])


def of_json():
    """A Tree-LSTM over dicts, with a label for each node."""
    h_size = 6
    emb, w, u, out = nn.Embedding(9, h_size), nn.Linear(h_size, 24), nn.Linear(h_size, 24, bias=False), nn.Linear(h_size, 3)

    def cell(x, kids):
        h = sum([k[0] for k in kids], janus.zeros(h_size))
        i, f, o, g = (w(x) + u(h)).chunk(4)
        c = i.sigmoid() * g.tanh()
        for k in kids:
            c = c + f.sigmoid() * k[1]
        return o.sigmoid() * c.tanh(), c

    def walk(n, outs):
        kids = [walk(n[side], outs) for side in ("left", "right") if side in n]
        h, c = cell(emb.weight[n["word"]], kids)
        outs.append(out(h))
        return h, c

    def loss_of(t, y):
        outs = []
        walk(t, outs)
        return F.cross_entropy(janus.stack(outs), y)

    def make(rng, d):
        n = {"word": rng.randrange(9)}
        if d and rng.random() < 0.8:
            n["left"] = make(rng, d - 1)
            if rng.random() < 0.8:
                n["right"] = make(rng, d - 1)
        return n

    def size(n):
        return 1 + sum(size(n[side]) for side in ("left", "right") if side in n)

    def data(rng):
        t = make(rng, 3)
        return t, janus.tensor([rng.randrange(3) for _ in range(size(t))])

    params = parameters(emb, w, u, out)
    return trainer(loss_of, params), data, params


def by_type():
    """Expressions as tuples; the layer of a node is chosen by its name from a ModuleDict."""
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.by = nn.ModuleDict({k: nn.Linear(8, 4) for k in ("num", "add", "mul", "neg")})
            self.leaf = nn.Parameter(janus.randn(5, 4))

        def forward(self, n):
            if n[0] == "num":
                return janus.tanh(self.by["num"](janus.cat([self.leaf[n[1]], self.leaf[n[1]]])))
            kids = [self(k) for k in n[1:]]
            a = kids[0]
            b = kids[1] if len(kids) > 1 else a
            return janus.tanh(self.by[n[0]](janus.cat([a, b])))

    def make(rng, d):
        kind = rng.choice(["num", "add", "mul", "neg"]) if d else "num"
        if kind == "num":
            return "num", rng.randrange(5)
        return (kind, *[make(rng, d - 1) for _ in range(1 if kind == "neg" else 2)])

    net = Encoder()
    params = list(net.parameters())
    return trainer(lambda t: net(t).pow(2).sum(), params), lambda rng: (make(rng, 3),), params


def grower():
    """A tree that grows by what its nodes compute."""
    f, stop, w = nn.Linear(4, 8), nn.Linear(4, 1), nn.Parameter(janus.randn(4))

    def grow(h, depth):
        if depth == 0 or stop(h).sigmoid().item() > 0.6:
            return (h * w).sum()
        a, b = janus.tanh(f(h)).chunk(2)
        return grow(a, depth - 1) + grow(b, depth - 1)

    params = [*f.parameters(), w]
    return trainer(lambda x: (grow(x, 4).tanh() - 1) ** 2, params), lambda rng: (janus.randn(4),), params


class Linked:
    def __init__(self, v):
        self.v, self.child, self.next = v, None, None


def siblings():
    """First child and next sibling, in a loop over links."""
    f, word = nn.Linear(8, 4), nn.Embedding(7, 4)

    def encode(n):
        h = word(janus.tensor(n.v))
        child = n.child
        while child is not None:
            h = janus.tanh(f(janus.cat([h, encode(child)])))
            child = child.next
        return h

    def make(rng, d):
        n = Linked(rng.randrange(7))
        last = None
        for _ in range(rng.randint(0, 3) if d else 0):
            kid = make(rng, d - 1)
            if last is None:
                n.child = kid
            else:
                last.next = kid
            last = kid
        return n

    params = parameters(f, word)
    return trainer(lambda t: encode(t).pow(2).mean(), params), lambda rng: (make(rng, 3),), params


def attention():
    """A node attends to its children."""
    q, k, v, word = nn.Linear(4, 4), nn.Linear(4, 4, bias=False), nn.Linear(4, 4), nn.Embedding(7, 4)

    def encode(n):
        x = word.weight[n.v]
        if not n.kids:
            return x
        hs = janus.stack([encode(c) for c in n.kids])
        a = F.softmax(k(hs) @ q(x) / 2.0, dim=0)
        return janus.tanh(x + a @ v(hs))

    params = parameters(q, k, v, word)
    return trainer(lambda t: encode(t).sum(), params), lambda rng: (made(rng, 3),), params


def memo_by_identity():
    """A DAG whose values are remembered by the identity of its nodes."""
    f, word = nn.Linear(8, 4), nn.Embedding(7, 4)

    def value(n, memo):
        if id(n) in memo:
            return memo[id(n)]
        if n.kids:
            r = janus.relu(f(janus.cat((value(n.kids[0], memo), value(n.kids[1], memo)))))
        else:
            r = word.weight[n.v]
        memo[id(n)] = r
        return r

    def data(rng):
        nodes = [Node(rng.randrange(7)) for _ in range(3)]
        for _ in range(rng.randint(2, 6)):
            nodes.append(Node(0, rng.choice(nodes), rng.choice(nodes)))
        return (nodes[-1],)

    params = parameters(f, word)
    return trainer(lambda n: value(n, {}).pow(2).sum(), params), data, params


def rounds():
    """Messages along the edges of a graph that is a dict, in rounds."""
    message, update, emb = nn.Linear(4, 4), nn.GRUCell(4, 4), nn.Embedding(6, 4)

    def loss_of(labels, edges):
        h = {v: emb.weight[label] for v, label in labels.items()}
        for _ in range(2):
            new = {}
            for v in h:
                m = [message(h[u]) for u in edges[v]]
                m = janus.stack(m).sum(0) if m else janus.zeros(4)
                new[v] = update(m[None], h[v][None])[0]
            h = new
        return janus.stack(list(h.values())).mean(0).pow(2).sum()

    def data(rng):
        n = rng.randint(2, 5)
        return {i: rng.randrange(6) for i in range(n)}, {i: [j for j in range(n) if rng.random() < 0.4] for i in range(n)}

    params = parameters(message, update, emb)
    return trainer(loss_of, params), data, params


def postfix():
    """Trees as programs of a stack machine, run by a loop."""
    w, word = nn.Linear(8, 4), nn.Embedding(8, 4)

    def run(tokens):
        stack = []
        for t in tokens:
            if t < 0:
                b, a = stack.pop(), stack.pop()
                stack.append(janus.tanh(w(janus.cat([a, b]))))
            else:
                stack.append(word(janus.tensor(t)))
        if len(stack) != 1:  # no assert, of which pytest makes other code
            raise ValueError("no expression")
        return stack[0]

    def make(rng, d):
        if d == 0 or rng.random() < 0.2:
            return [rng.randrange(8)]
        return make(rng, d - 1) + make(rng, d - 1) + [-1]

    params = parameters(w, word)
    return trainer(lambda tokens: run(tokens).sum(), params), lambda rng: (make(rng, 3),), params


def batch_of_lists():
    """Several trees a step, as nested lists; a tree may be one number."""
    w, out, word = nn.Linear(8, 4), nn.Linear(4, 2), nn.Embedding(8, 4)

    def encode(t):
        if isinstance(t, int):
            return word.weight[t]
        return janus.tanh(w(janus.cat([encode(t[0]), encode(t[1])])))

    def make(rng, d):
        return rng.randrange(8) if d == 0 or rng.random() < 0.2 else [make(rng, d - 1), make(rng, d - 1)]

    def data(rng):
        n = rng.randint(2, 4)
        return [make(rng, 3) for _ in range(n)], janus.tensor([rng.randrange(2) for _ in range(n)])

    params = parameters(w, out, word)
    return trainer(lambda ts, y: F.cross_entropy(out(janus.stack([encode(t) for t in ts])), y), params), data, params


PROGRAMS = {of_json: 0.8, by_type: 0.8, grower: 0.9, siblings: 0.8, attention: 0.8, memo_by_identity: 0.9, rounds: 0.0,
            postfix: 0.8, batch_of_lists: 0.7}


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_undecorated(program, options):
    check_as_undecorated(program, options, PROGRAMS[program])
