# SPDX-License-Identifier: Apache-2.0
"""What a look-up gives that has a list or tuple of the program's as its default: `children.get(v, [])`, `node.kids or ()`."""
import itertools
import random

import pytest

import janus
from test_number_kinds import same
from test_unseen_trees import OPTIONS
from texts import names_of

DEFAULTS = ["[]", "()", "[0]", "(1, 2)", "K", "T"]
HOLD = {  # what the caller's dict holds for an inner node, whose children it names
    "lists": list, "tuples": tuple, "either": lambda kids: tuple(kids) if len(kids) % 2 else list(kids)}
USES = {
    "a loop": "y = x\n    for u in {got}:\n        y = y + go(u, d, x)\n    return y * 0.5",
    "enumerate": "y = x\n    for i, u in enumerate({got}):\n        y = y + go(u, d, x) * i\n    return y * 0.5",
    "sum": "return x + sum(go(u, d, x) for u in {got})",
    "a comprehension": "r = [go(u, d, x) for u in {got}]\n    return janus.tanh(x + sum(r) * len(r))",
    "length": "y = x * len({got})\n    for u in {got}:\n        y = y + go(u, d, x)\n    return y",
    "truth": "kids = {got}\n    y = x * 2 if kids else x\n    for u in kids:\n        y = y + go(u, d, x)\n    return y",
    "the last": "kids = {got}\n    return go(kids[-1], d, x) * 0.5 + x if len(kids) > 1 else x * len(kids)",
    "type": "kids = {got}\n    y = x * 2 if isinstance(kids, list) else x\n    for u in kids:\n        y = y + go(u, d, x)\n    return y",
}
LOOKED_UP = ["d.get(v, {default})", "(d[v] if v in d else {default})", "(d.get(v) or {default})"]
PLACES = {
    "a function": "def go(v, d, x):\n    if v >= 900:\n        return x\n    {use}\ndef f(d, x):\n    return go(-1, d, x)\n",
    "made by the function": """
def go(v, d, x):
    if v >= 900:
        return x
    {use}
def f(pairs, x):
    d = {{}}
    for v, u in pairs:
        d.setdefault(v, []).append(u)
    return go(-1, d, x)
""",
}


def tree(rng, hold):
    """A dict from inner nodes to their children."""
    d, n = {}, 0
    for v in [-1] + list(range(10, 10 + rng.randint(1, 6))):
        kids = [min(10 + n + i, 900 + i) if rng.random() < 0.7 else 900 + i for i in range(rng.randint(0, 3))]
        kids = [k for k in kids if k > v]
        n += len(kids)
        if rng.random() < 0.85:
            d[v] = hold(kids)
    return d


def compare(text, hold, pairs, options, least=0):
    f = names_of(text, janus=janus, K=[901], T=(902,))["f"]
    g = janus.function(f, **options)
    for i in range(14):
        rng = random.Random(i)
        janus.manual_seed(i)
        d, x = tree(rng, hold), janus.randn(3)
        given = [(v, u) for v in d for u in d[v]] if pairs else d
        want, got = f(given, x), g(given, x)
        assert same(want, got), (i, want, got, text)
    assert not g.stats()["disproved"] and g.stats()["graph"] >= least, (text, g.stats())


def programs():
    for (place, text), use, up, default in itertools.product(PLACES.items(), USES.values(), LOOKED_UP, DEFAULTS):
        if default in ("[0]", "(1, 2)") or "made" in place:
            default = default if default in ("[]", "()") else "K"  # what is 0, 1 or 2 has no children
        yield place, text.format(use=use.format(got=up.format(default=default)))


@pytest.mark.parametrize("hold", HOLD)
def test_as_undecorated(hold):
    rng = random.Random(hold)
    for place, text in rng.sample(list(programs()), 24):
        compare(text, HOLD[hold], "made" in place, OPTIONS["never verified"] if rng.random() < 0.8 else {"verify": "always"})


@pytest.mark.parametrize("default", ["[]", "()"])
@pytest.mark.parametrize("use", ["a loop", "enumerate", "sum", "length"])
def test_they_are_graphs(use, default):
    text = PLACES["a function"].format(use=USES[use].format(got=LOOKED_UP[0].format(default=default)))
    compare(text, list, False, OPTIONS["never verified"], 10)
