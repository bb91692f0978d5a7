# SPDX-License-Identifier: Apache-2.0
"""Trees as people write them, trained with weights of their own for each kind of node: every step is another tree."""

import random

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case


def fit(function, log, model, trees, optimizer, loss_of, rounds=3):
    """Three epochs over trees that were not seen together, the step decorated."""

    @function
    def step(tree, target):
        optimizer.zero_grad()
        loss = loss_of(model(tree), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(rounds):
        log([step(tree, janus.tensor([0.5 * i])) for i, tree in enumerate(trees)])
        log(model)


def squared(out, target):
    return ((out - target) ** 2).sum()


@case(graph=MUST)
def json_dicts(function, log):
    """Parsed JSON: dicts with a kind and a list of children, of any length."""
    rng = random.Random(1)

    def tree(depth):
        if depth == 0 or rng.random() < 0.2:
            return {"kind": "number", "value": round(rng.uniform(-1, 1), 2)}
        kind = rng.choice(["sum", "max", "neg"])
        n = 1 if kind == "neg" else rng.randint(2, 3)
        return {"kind": kind, "children": [tree(depth - 1) for _ in range(n)]}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.number = nn.Linear(1, 3)
            self.sum, self.max, self.neg = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

        def value(self, node):
            if node["kind"] == "number":
                return self.number(janus.tensor([node["value"]]))
            parts = [self.value(child) for child in node["children"]]
            if node["kind"] == "neg":
                return -self.neg(parts[0])
            if node["kind"] == "sum":
                return janus.tanh(self.sum(janus.stack(parts).sum(0)))
            return janus.tanh(self.max(janus.stack(parts).max(0).values))

        def forward(self, node):
            return self.value(node)

    net = Net()
    fit(function, log, net, [tree(3) for _ in range(8)], janus.optim.Adam(net.parameters(), lr=0.01), squared)


@case(graph=MUST)
def nary_by_comprehension(function, log):
    rng = random.Random(2)

    class Node:
        def __init__(self, word, children):
            self.word, self.children = word, children

    def tree(depth):
        return Node(rng.randrange(6), [tree(depth - 1) for _ in range(rng.randint(0, 3) if depth else 0)])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.up, self.leaf = nn.Embedding(6, 4), nn.Linear(4, 4), nn.Linear(4, 4)
            self.out = nn.Linear(4, 1)

        def encode(self, node):
            x = self.embed(janus.tensor([node.word]))
            if not node.children:
                return janus.tanh(self.leaf(x))
            return janus.tanh(x + self.up(sum(self.encode(c) for c in node.children)))

        def forward(self, node):
            return self.out(self.encode(node))

    net = Net()
    fit(function, log, net, [tree(3) for _ in range(8)],
        janus.optim.SGD(net.parameters(), lr=0.02, momentum=0.9), squared)


@case(graph=MUST)
def child_sum_zip(function, log):
    """A child-sum Tree-LSTM whose states are unzipped."""
    rng = random.Random(3)

    class Node:
        def __init__(self, word, children):
            self.word, self.children = word, children

    def tree(depth):
        return Node(rng.randrange(6), [tree(depth - 1) for _ in range(rng.randint(0, 3) if depth else 0)])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.x, self.h = nn.Embedding(6, 4), nn.Linear(4, 12), nn.Linear(4, 12)
            self.fx, self.fh, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

        def cell(self, node):
            x = self.embed(janus.tensor([node.word]))
            if node.children:
                hs, cs = zip(*[self.cell(c) for c in node.children])
                h, c = janus.cat(hs), janus.cat(cs)
            else:
                h = c = janus.zeros(1, 4)
            i, o, u = (self.x(x) + self.h(h.sum(0, keepdim=True))).chunk(3, 1)
            f = janus.sigmoid(self.fx(x) + self.fh(h))
            c = janus.sigmoid(i) * janus.tanh(u) + (f * c).sum(0, keepdim=True)
            return janus.sigmoid(o) * janus.tanh(c), c

        def forward(self, node):
            return self.out(self.cell(node)[0])

    net = Net()
    fit(function, log, net, [tree(3) for _ in range(8)], janus.optim.Adam(net.parameters(), lr=0.01), squared)


@case(graph=MUST)
def shift_reduce(function, log):
    rng = random.Random(4)

    def words(n):
        stack, actions = 0, []
        for left in range(n, 0, -1):
            actions.append(rng.randrange(5))
            stack += 1
            while stack > 1 and (rng.random() < 0.5 or left == 1):
                actions.append("reduce")
                stack -= 1
        return actions

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.merge, self.out = nn.Embedding(5, 4), nn.Linear(8, 4), nn.Linear(4, 1)

        def forward(self, actions):
            stack = []
            for a in actions:
                if a == "reduce":
                    right, left = stack.pop(), stack.pop()
                    stack.append(janus.tanh(self.merge(janus.cat([left, right], 1))))
                else:
                    stack.append(self.embed(janus.tensor([a])))
            return self.out(stack.pop())

    net = Net()
    fit(function, log, net, [words(rng.randint(1, 6)) for _ in range(8)],
        janus.optim.SGD(net.parameters(), lr=0.02), squared)


@case(graph=MUST)
def nested_tuples(function, log):
    rng = random.Random(5)

    def tree(depth):
        if depth == 0 or rng.random() < 0.25:
            return rng.randrange(6)
        return rng.choice(("and", "or")), tree(depth - 1), tree(depth - 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.both, self.either = nn.Embedding(6, 4), nn.Linear(8, 4), nn.Linear(8, 4)
            self.out = nn.Linear(4, 1)

        def encode(self, tree):
            if isinstance(tree, int):
                return self.embed(janus.tensor([tree]))
            op, left, right = tree
            x = janus.cat([self.encode(left), self.encode(right)], 1)
            return janus.tanh(self.both(x) if op == "and" else self.either(x))

        def forward(self, tree):
            return self.out(self.encode(tree))

    net = Net()
    fit(function, log, net, [tree(3) for _ in range(8)], janus.optim.Adam(net.parameters(), lr=0.01), squared)


@case(graph=MUST)
def closure(function, log):
    rng = random.Random(6)
    w = {k: nn.Parameter(janus.tensor([0.3, -0.2, 0.1]) * (i + 1)) for i, k in enumerate("xyz")}
    optimizer = janus.optim.SGD(list(w.values()), lr=0.05, momentum=0.5)

    class Leaf:
        def __init__(self, name):
            self.name = name

    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    def tree(depth):
        if depth == 0 or rng.random() < 0.3:
            return Leaf(rng.choice("xyz"))
        return Pair(tree(depth - 1), tree(depth - 1))

    @function
    def step(root):

        def value(node):
            if isinstance(node, Leaf):
                return w[node.name]
            return janus.tanh(value(node.left) * 1.5 - value(node.right))

        optimizer.zero_grad()
        loss = (value(root) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    trees = [tree(3) for _ in range(8)]
    for _ in range(3):
        log([step(x) for x in trees], list(w.values()))


@case(graph=MUST)
def decorated_method(function, log):
    """The recursive method itself is decorated; so is the step."""
    rng = random.Random(7)

    class Node:
        def __init__(self, kind, left=None, right=None):
            self.kind, self.left, self.right = kind, left, right

    def tree(depth):
        if depth == 0 or rng.random() < 0.25:
            return Node(rng.randrange(5))
        return Node(5, tree(depth - 1), tree(depth - 1) if rng.random() < 0.7 else None)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.both, self.one = nn.Embedding(5, 4), nn.Linear(8, 4), nn.Linear(4, 4)
            self.out = nn.Linear(4, 1)

        @function
        def encode(self, node):
            if node.left is None:
                return self.embed(janus.tensor([node.kind]))
            left = self.encode(node.left)
            if node.right is None:
                return F.relu(self.one(left))
            return janus.tanh(self.both(janus.cat([left, self.encode(node.right)], 1)))

        def forward(self, node):
            return self.out(self.encode(node))

    net = Net()
    fit(function, log, net, [tree(3) for _ in range(8)],
        janus.optim.RMSprop(net.parameters(), lr=0.01, momentum=0.5), squared)


@case
def absent_children(function, log):
    """The recursion returns None where there is no node."""
    rng = random.Random(8)

    class Node:
        def __init__(self, word, left=None, right=None):
            self.word, self.left, self.right = word, left, right

    def tree(depth):
        if depth == 0 or rng.random() < 0.2:
            return None
        return Node(rng.randrange(5), tree(depth - 1), tree(depth - 1))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.left, self.right = nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 4)
            self.out = nn.Linear(4, 1)

        def encode(self, node):
            if node is None:
                return None
            h = self.embed(janus.tensor([node.word]))
            left, right = self.encode(node.left), self.encode(node.right)
            if left is not None:
                h = h + self.left(left)
            if right is not None:
                h = h + self.right(right)
            return janus.tanh(h)

        def forward(self, node):
            return self.out(self.encode(node))

    net = Net()
    fit(function, log, net, [Node(i % 5, tree(2), tree(3)) for i in range(8)],
        janus.optim.Adam(net.parameters(), lr=0.01), squared)


def call_trees(rng, n):
    """Calls with one to four arguments, seldom of all lengths in one tree."""

    class Name:
        def __init__(self, name):
            self.name = name

    class Call:
        def __init__(self, fn, *args):
            self.fn, self.args = fn, args

    def tree(depth):
        if depth == 0 or rng.random() < 0.3:
            return Name(rng.choice("ab"))
        fn = rng.choice(["tanh", "sum", "first"])
        return Call(fn, *[tree(depth - 1) for _ in range(1 if fn == "tanh" else rng.randint(1, 4))])

    return Name, [tree(2) for _ in range(n)]


def call_step(function, log):
    w = {k: janus.tensor([0.3, -0.2, 0.1]).requires_grad_() for k in "ab"}
    Name, trees = call_trees(random.Random(9), 10)
    optimizer = janus.optim.SGD(list(w.values()), lr=0.05, momentum=0.5)

    def value(node):
        if isinstance(node, Name):
            return w[node.name]
        args = [value(a) for a in node.args]
        if node.fn == "tanh":
            return janus.tanh(args[0])
        if node.fn == "first":
            return args[0] * 2 - args[-1]
        return janus.stack(args).mean(0)

    @function
    def step(root):
        optimizer.zero_grad()
        loss = (value(root) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(4):
        log([step(x) for x in trees], list(w.values()))
    return step


@case(graph=FAST)
def arguments_of_calls(function, log):
    call_step(function, log)
