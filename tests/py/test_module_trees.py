# SPDX-License-Identifier: Apache-2.0
"""Trees that a module has made and keeps: where a recursion over one can be no SubGraph it is unrolled, a graph a tree."""
import pytest

import janus
from janus import nn


class Node:
    def __init__(self, index, *kids):
        self.index, self.kids = index, list(kids)


def tree(shape):
    count = [0]

    def make(s):
        node = Node(count[0])
        count[0] += 1
        node.kids = [make(k) for k in s]
        return node

    return make(shape), count


SHAPES = [((), ()), (((), ()), ()), ((), ((), (), ())), ((((),),),)]


class Held(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tree, count = tree(shape)
        self.weights = nn.ParameterList([nn.Parameter(janus.randn(3) * 0.5) for _ in range(count[0])])
        for i in range(count[0]):
            self.register_parameter(f"w{i}", nn.Parameter(janus.randn(3)))


class ByIndex(Held):
    def value(self, node, x):
        h = (x * self.weights[node.index]).tanh()
        for kid in node.kids:
            h = h + self.value(kid, x) * 0.5
        return h

    def forward(self, x):
        return self.value(self.tree, x).sum()


class ByName(Held):
    def value(self, node, x):
        own = getattr(self, f"w{node.index}") * x
        return own if not node.kids else own * sum(self.value(k, x) for k in node.kids)

    def forward(self, x):
        return self.value(self.tree, x).pow(2).mean()


class Lists(Held):
    def leaves(self, node, so_far):
        so_far = so_far + self.weights[node.index].sum()
        if not node.kids:
            return [so_far]
        out = []
        for kid in node.kids:
            out += self.leaves(kid, so_far)
        return out

    def forward(self, x):
        return (janus.stack(self.leaves(self.tree, x.sum())) * 0.1).exp().sum()


class Dicts(Held):
    def table(self, node, depth):
        got = {node.index: self.weights[node.index] * depth}
        for kid in node.kids:
            got.update(self.table(kid, depth + 1))
        return got

    def forward(self, x):
        got = self.table(self.tree, 1)
        return sum((got[k] * x).sum() for k in sorted(got))


MODELS = [ByIndex, ByName, Lists, Dicts]


def step(model, opt, x):
    opt.zero_grad()
    loss = model(x)
    loss.backward()
    opt.step()
    return loss.item()


def run(kind, how, place, change):
    janus.manual_seed(5)
    models = [kind(s) for s in SHAPES]
    opts = [janus.optim.SGD(m.parameters(), lr=0.05) for m in models]
    f = how(step if place == "step" else lambda m, x: m(x))
    out = []
    for i in range(40):
        m, x = models[i % len(models)], janus.randn(3)
        if i == 24 and change == "a kid":
            for model in models:
                model.tree.kids.append(Node(0))
        if i == 24 and change == "an index":
            for model in models:
                model.tree.kids[0].index = 0
        if i == 24 and change == "another tree":
            models[0].tree, models[1].tree = models[0].tree.kids[1], models[1].tree.kids[0]
        if place == "step":
            out.append(f(m, opts[i % len(models)], x))
        else:
            y = f(m, x)
            y.backward()
            out.append(y.item())
    numbers = [v for m in models for p in m.parameters() for t in (p, p.grad) if t is not None for v in t.tolist()]
    return out, numbers, f


@pytest.mark.parametrize("change", ["nothing", "a kid", "an index", "another tree"])
@pytest.mark.parametrize("place", ["step", "model"])
@pytest.mark.parametrize("kind", MODELS, ids=lambda k: k.__name__)
def test_trees_of_modules(kind, place, change):
    want, numbers, _ = run(kind, lambda f: f, place, change)
    got, after, f = run(kind, lambda g: janus.function(g, measure=False, verify="never"), place, change)
    for a, b in zip(want + numbers, got + after, strict=True):
        assert abs(a - b) <= 1e-4 * (1 + abs(a)), (want, got)
    stats = f.stats()
    assert stats["conversions"] <= 24, janus.explain(f)
    if change == "nothing":
        assert stats["graph"] >= 20, janus.explain(f)


def test_numbers_that_change_between_two_modes():
    """What a call misses is learnt of a graph for calls in its mode: a temperature, in training and without gradients."""
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.temperature = nn.Linear(3, 3), 1.0

        def forward(self, x, noise=0.0):
            return ((self.w(x) + noise) / self.temperature).softmax(-1)

    results = []
    for how in (lambda f: f, lambda f: janus.function(f, measure=False, verify="never")):
        janus.manual_seed(1)
        model, x = Scaled(), janus.ones(2, 3)
        f, got = how(lambda *a, **k: model(*a, **k)), []
        for i in range(12):
            got.append(f(x, noise=0.1).sum(0).tolist())
            with janus.no_grad():
                got.append(f(x).sum(0).tolist())
            model.temperature *= 0.9
        results.append(got)
    for a, b in zip(*results):
        assert all(abs(p - q) < 1e-5 for p, q in zip(a, b))
    assert f.stats()["conversions"] <= 6 and f.stats()["graph"] >= 16, janus.explain(f)
