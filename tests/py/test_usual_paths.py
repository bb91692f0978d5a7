# SPDX-License-Identifier: Apache-2.0
"""A branch on a tensor with a path that no graph can be made of: where it is the usual one, the rest of the function runs
as regions; where it is rare, the function stays a graph."""
import random

import pytest

import janus

CALLS = 24


def masked(x):
    return x[x > 0].sum()


def listed(x):
    return janus.tensor(sum(x.flatten().tolist()))


def drawn(x):
    return x.sum() * random.random()


REFUSED = [masked, listed, drawn]


def then_arm(hard):
    def f(x, go):
        y = (x * 2 + 1).sum()
        if go.any():
            y = y + hard(x)
        return y * 3
    return f


def else_arm(hard):
    def f(x, go):
        y = (x * 2 + 1).sum()
        if (go == 0).all():
            y = y - 1
        else:
            y = y + hard(x)
        return y * 3
    return f


def nested(hard):
    def f(x, go):
        y = (x * 2 + 1).sum()
        if x.sum() > -1000:
            if go.sum() > 0:
                y = y + hard(x)
        return y * 3
    return f


def called(hard):
    def inner(x, go):
        z = x.exp().mean()
        if go.any():
            z = z + hard(x)
        return z

    def f(x, go):
        y = (x * 2 + 1).sum()
        y = y + inner(x, go)
        return y * 3
    return f


FORMS = [then_arm, else_arm, nested, called]
PATTERNS = {"always": lambda i: True, "never": lambda i: False, "rarely": lambda i: i % 12 == 11,
            "often": lambda i: i % 3 != 0}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("hard", REFUSED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_usual_paths(form, hard, pattern, verify):
    runs = []
    for how in (lambda f: f, lambda f: janus.function(f, measure=False, verify=verify)):
        janus.manual_seed(0)
        random.seed(0)
        function = how(form(hard))
        got = [function(janus.randn(3, 4), janus.tensor([0, int(PATTERNS[pattern](i))])).item() for i in range(CALLS)]
        runs.append((got, random.random(), janus.rand(1).item()))
    (want, *state), (got, *after) = runs
    assert state == after
    assert all(abs(a - b) <= 1e-4 * (1 + abs(a)) for a, b in zip(want, got)), (want, got)
    stats = function.stats()
    assert stats["disproved"] == 0
    if verify == "never" and pattern in ("never", "rarely"):
        assert stats["graph"] >= CALLS // 2, janus.explain(function)
    if verify == "never" and pattern == "always":
        assert stats["fallbacks"] <= 8 and stats["op_share"] > 0.1, janus.explain(function)
