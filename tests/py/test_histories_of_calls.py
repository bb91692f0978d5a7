# SPDX-License-Identifier: Apache-2.0
"""Each call of a function that is one SubGraph has a history of its own: backward() through one uses up no other."""
import random

import janus
import pytest
from janus import nn
from texts import names_of


class Tree:
    def __init__(self, rng, depth):
        self.x = janus.tensor([[rng.uniform(-1, 1) for _ in range(3)]])
        self.children = [Tree(rng, depth - 1) for _ in range(2 if depth else 0)]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(3, 3), nn.Linear(3, 1)

    def visit(self, tree):
        h = self.inner(tree.x)
        for child in tree.children:
            h = h + janus.tanh(self.inner(self.visit(child)))
        return h

    def loss(self, tree):
        return self.out(self.visit(tree)).sum()


STATEMENTS = [
    "a.backward()", "b.backward()", "(a * b).backward()", "c.backward()", "a.backward(retain_graph=True)",
    "b.backward(retain_graph=True)", "a = model.loss(trees[1])", "b = model.loss(trees[0])", "c = a * 2 + b",
    "optimizer.step()", "optimizer.zero_grad()", "seen.append(janus.autograd.grad(b, [model.out.weight])[0])",
    "seen.append(a.detach())",
]
LINES = ["def step(model, optimizer, trees):", "    seen = []", "    a, b = model.loss(trees[0]), model.loss(trees[0])",
         "    c = a + model.loss(trees[1])"]


def program(seed):
    rng = random.Random(seed)
    chosen = [rng.choice(STATEMENTS) for _ in range(rng.randint(2, 6))]
    returned = rng.choice(["seen", "seen, a.detach(), b.detach()", "seen, a, b", "seen, c"])
    text = "\n".join(LINES + ["    " + line for line in chosen] + ["    return " + returned])
    return names_of(text, janus=janus)["step"], text


def values(x):
    if isinstance(x, (list, tuple)):
        return [values(y) for y in x]
    return x.tolist(), x.requires_grad


def backward(x):
    """What the histories of results still give, or how they fail."""
    if isinstance(x, (list, tuple)):
        return [backward(y) for y in x]
    if not x.requires_grad:
        return None
    try:
        x.sum().backward()
    except RuntimeError as error:
        return str(error)[:40]
    return "walked"


def run(step, calls):
    janus.manual_seed(5)
    model, rng, found = Model(), random.Random(7), []
    optimizer = janus.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(calls):
        trees = [Tree(rng, 2), Tree(rng, 1)]
        try:
            result = step(model, optimizer, trees)
            found.append((values(result), backward(result)))
        except RuntimeError as error:
            found.append(str(error)[:40])
        found.append([(p.tolist(), None if p.grad is None else p.grad.tolist()) for p in model.parameters()])
        model.zero_grad()
    return found


@pytest.mark.parametrize("part", range(4))
def test_calls_have_histories_of_their_own(part):
    graphs = 0
    for seed in range(part * 40, part * 40 + 40):
        step, text = program(seed)
        decorated = janus.function(step, measure=False, verify="never", numerics="exact")
        got, want = run(decorated, 4), run(step, 4)
        assert repr(got) == repr(want), text
        stats = decorated.stats()
        graphs += stats["graph"] > 0 or stats.get("region_hits", 0) > 0
    assert graphs >= 12, "hardly any of the programs is a graph"


def test_two_losses_of_one_recursion_are_a_graph():
    def step(model, optimizer, trees):
        first, second = model.loss(trees[0]), model.loss(trees[1])
        first.backward()
        second.backward()
        optimizer.step()
        return first.detach(), second.detach()

    decorated = janus.function(step, measure=False, verify="never", numerics="exact")
    assert repr(run(decorated, 5)) == repr(run(step, 5))
    assert decorated.stats()["graph"] >= 3
