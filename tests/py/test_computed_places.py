# SPDX-License-Identifier: Apache-2.0
"""Places of a tensor that the graph computes, read and written: keys of numbers, bounds, constants, None, `...`, tensors and masks in any order,
in loops that are kept, negative and out of range."""
import itertools
import random

import pytest

import janus
from compared import close
from shares import LIGHT
from texts import names_of

ITEMS = ["i", "j", "-1", "0", ":", "1:", "i:", ":j", "i:j", "None", "...", "t", "mask", "True"]
USES = {
    "read": "    return x[{}] * 2",
    "filled": "    x = x.clone()\n    x[{}] = 7\n    return x",
    "written": "    y = x * 1\n    y[{}] = w\n    return y.sum(), y",
    "added": "    y = x * 1\n    y[{}] += 0.5\n    y[{}] *= w\n    return y",
    "rounds": "    y = x * 1\n    for i in range(n):\n        y[{}] = i\n    return y",
    "read in rounds": "    s = x.sum() * 0\n    for i in range(n):\n        s = s + (x[{}] * i).sum()\n    return s",
    "in the caller's": "    x.data[{}] = 3\n    return x * w",
}


def arguments(k):
    rng = random.Random(k)
    janus.manual_seed(k)
    i = rng.choice([0, 1, 2, -1, 1, 0, 3 if k % 5 == 4 else 2])
    return (janus.randn(3, 4, 2).requires_grad_(k % 2 == 0), janus.randn(()), i, rng.randint(0, 3), janus.tensor([1, 0]), janus.tensor([True, False, True]), rng.randint(0, 3))


def outcome(f, k):
    args = arguments(k)
    try:
        return f(*args), args[0]
    except Exception as e:
        return type(e), str(e), args[0]


@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_as_undecorated(use):
    keys = [(a,) for a in ITEMS] + list(itertools.product(ITEMS, ITEMS)) + list(itertools.product(ITEMS, repeat=3))[:: 41 if LIGHT else 9]
    graphs = plain = 0
    for at, items in enumerate(keys):
        if LIGHT and at % 3:
            continue
        key = ", ".join(items)
        f = names_of("def f(x, w, i, j, t, mask, n):\n" + USES[use].replace("{}", key) + "\n", janus=janus)["f"]
        g = janus.function(f, measure=False, verify="never", numerics=("fast", "exact")[at % 2])
        for k in range(14):
            want, got = outcome(f, k), outcome(g, k)
            assert close(want, got), (key, k, want, got)
        if set(items) <= {"i", "j", "-1", "0", ":", "None", "..."} and {"i", "j"} & set(items) and items.count("...") < 2 and len(set(items) & {"i", "j", "-1", "0", ":"}) < 4:
            plain += 1
            graphs += g.stats()["graph"] >= 4
    assert graphs > plain * 0.7 or use == "in the caller's", f"{graphs} of {plain}"  # leaves are refused


def test_one_hot_rows():
    """A table with a one in each row, filled place by place: one graph for all lengths."""
    index = {w: k for k, w in enumerate("abcdefgh")}

    def f(letters):
        x, y = janus.zeros(len(letters), 8), janus.zeros(len(letters), 1, 8)
        for k, letter in enumerate(letters):
            x[k, index[letter]] = 1
            y[k][0][index[letter]] = 1
        return x, y
    g = janus.function(f, measure=False, verify="never")
    rng = random.Random(1)
    for _ in range(40):
        letters = [rng.choice("abcdefgh") for _ in range(rng.randint(2, 9))]
        assert close(f(letters), g(letters))
    assert g.stats()["graph"] >= 34, str(janus.explain(g))
