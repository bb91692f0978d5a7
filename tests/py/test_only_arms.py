# SPDX-License-Identifier: Apache-2.0
"""An `if` of which one arm leads to a backward(), a hook or a leaf, which no SubGraph has: the way of most calls is a graph."""
import random

import pytest

import janus
from janus import nn

CALLS = 24
PATTERNS = {"always": lambda i: True, "never": lambda i: False, "seldom not": lambda i: i % 10 != 4,
            "late": lambda i: i >= 6, "by turns": lambda i: i % 2 == 0, "often not": lambda i: i % 5 == 0}


def by_result(model, opt, x, go):
    def loss_of(y):
        return y.pow(2).mean() if go.any() else None
    loss = loss_of(model(x))
    if loss is None:
        return None
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def by_value(model, opt, x, go):
    loss = model(x).pow(2).mean()
    if go.item() == 0:
        return -1.0
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def other_way_round(model, opt, x, go):
    loss = model(x).abs().sum()
    if go.any():
        opt.zero_grad()
        loss.backward()
        opt.step()
    else:
        loss = loss * 2
    return loss.item()


def twice(model, opt, x, go):
    opt.zero_grad()
    loss = model(x).pow(2).sum()
    if go.item() < 0:
        return 0.0
    loss.backward()
    again = model(x + 1).pow(2).sum()
    if go.item() == 0:
        return again.item()
    again.backward()
    opt.step()
    return loss.item() + again.item()


def nested(model, opt, x, go):
    loss = model(x).pow(2).mean()
    if x.sum() > -1000:
        if go.any():
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.item()
    return 0.5


def called(model, opt, x, go):
    def learn():
        loss = model(x).pow(2).mean()
        if not go.any():
            return 0
        opt.zero_grad()
        loss.backward()
        opt.step()
        return 1
    return learn() + model(x).sum().item()


def other_is_cpython(model, opt, x, go):
    loss = model(x).pow(2).mean()
    if not go.any():
        return random.random()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def hooked(model, opt, x, go):
    y = model(x)
    if go.any():
        y.register_hook(lambda g: g * 2)
    opt.zero_grad()
    y.pow(2).mean().backward()
    opt.step()
    return y.sum().item()


def in_turn(model, opt, x, go):
    total = 0.0
    for k in range(3):
        loss = model(x * (k + 1)).pow(2).mean()
        if k == 1 and go.item() == 0:
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total


# of these the other way is no graph, and what came to it twice is left to regions
USUAL = {other_is_cpython: ("always", "seldom not"), in_turn: ("always", "seldom not")}
FORMS = [by_result, by_value, other_way_round, twice, nested, called, other_is_cpython, hooked, in_turn]


def run(form, pattern, rows, how):
    janus.manual_seed(3)
    random.seed(3)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    opt = janus.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    f, got = how(form), []
    for i in range(CALLS):
        got.append(f(model, opt, janus.randn(rows(i), 4), janus.tensor([int(PATTERNS[pattern](i))])))
    numbers = [x for p in model.parameters() for t in (p, p.grad) if t is not None for x in t.flatten().tolist()]
    return got, numbers, (random.random(), janus.rand(2).tolist()), f


def close(a, b):
    return a == b if a is None or b is None else abs(a - b) <= 1e-4 * (1 + abs(a))


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("sizes", ["one size", "sizes"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_only_arms(form, pattern, sizes, verify):
    if verify == "always" and sizes == "sizes":
        pytest.skip("a sample is enough")
    rows = (lambda i: 3) if sizes == "one size" else (lambda i: (3, 5, 4, 6)[i % 4])
    want, numbers, state, _ = run(form, pattern, rows, lambda f: f)
    got, after, left, f = run(form, pattern, rows, lambda f: janus.function(f, measure=False, verify=verify))
    assert len(want) == len(got) and all(close(a, b) for a, b in zip(want, got)), (want, got)
    assert len(numbers) == len(after) and all(close(a, b) for a, b in zip(numbers, after))
    assert state == left
    stats = f.stats()
    assert stats["disproved"] == 0 and stats["conversions"] <= 16, janus.explain(f)
    if verify == "never" and sizes == "one size" and pattern in USUAL.get(form, ("always", "seldom not", "late")):
        assert stats["graph"] >= CALLS // 2, janus.explain(f)


@pytest.mark.parametrize("n", [2, 5])
def test_what_a_path_is_for_a_size(n):
    """Calls of one size go the other way: a graph each, also of a list as long as the batch."""
    def step(model, opt, x, labels):
        y = model(x).sum(1)
        want = janus.tensor(labels, dtype=janus.float32)
        loss = None if want.sum().item() == 0 else (y - want).pow(2).mean()
        if loss is None:
            return None
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    runs = []
    for how in (lambda f: f, lambda f: janus.function(f, measure=False, verify="never")):
        janus.manual_seed(0)
        model = nn.Linear(3, 2)
        opt = janus.optim.Adam(model.parameters(), lr=0.1)
        batches = [(janus.randn(k + 3, 3), [0 if k == 1 else (k + j) % 3 + 1 for j in range(k + 3)]) for k in range(n)]
        f = how(step)
        runs.append([f(model, opt, *batches[i % n]) for i in range(40)])
    assert all(close(a, b) for a, b in zip(*runs)), runs
    assert f.stats()["graph"] >= 20 and f.stats()["fallbacks"] <= 6, janus.explain(f)
