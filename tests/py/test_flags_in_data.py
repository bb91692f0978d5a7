# SPDX-License-Identifier: Apache-2.0
"""True and False in lists and tuples of the caller (which steps ended an episode, what is masked): one graph serves all patterns, and does
with them what CPython does.  Those of objects and models (`training`) stay part of what a graph is for."""
import math
import random

import pytest

import janus
import janus.nn.functional as F
from shares import share
from texts import names_of

USES = {"tensor": "1.0 - janus.tensor(flags, dtype=janus.float32)", "tensor of bools": "janus.tensor(flags)", "as_tensor": "janus.as_tensor([a, b])",
        "if": "x * 2 if a else x + 1", "not": "(not a, x)", "and": "a and b", "or": "(a or b, a or x)", "is": "(a is True, a is b, a is not False, a is None)",
        "==": "(a == b, a == 1, a != 0, a == 'a')", "number": "(a + 1, b * 2.5, -a, +a, a - b)", "inverted": "~b if a else 0", "int": "(int(a), float(b), bool(a), abs(a))",
        "bits": "(a & b, a | b, a ^ b, a | 2, a << 3, b & 1)", "any": "(any(flags), all(flags), sum(flags), min(flags), max(flags))",
        "text": "(str(a), f'{a} {b!r} {a:d}', '%s %d' % (a, b), repr(flags))", "item": "['no', 'yes'][a], (x, x * 2)[b]", "key": "{True: 't', False: 'f'}[a]",
        "where": "[i for i, q in enumerate(flags) if q]", "count": "(flags.count(True), True in flags, flags.index(b))", "type": "(type(a), isinstance(a, int), isinstance(b, bool))",
        "scaled": "(x * a, b * x, x + a, x - b)", "indexed": "x[a]", "mask": "x[janus.tensor(list(flags))]", "keepdim": "x.sum(0, keepdim=a)",
        "dropout": "F.dropout(x, 0.5, training=a)", "filtered": "janus.stack([x * i for i, q in enumerate(flags) if not q] + [x])", "order": "(a < b, a >= b, sorted(flags))",
        "math": "(math.sqrt(a), round(b), divmod(a, 2), pow(2, a), a ** 2, a / 2, a // 1, a % 2)", "given back": "(a, list(flags), flags[-1])",
        "unpacked": "[q for q, r in zip(flags, flags[1:]) if q != r]", "assigned": "janus.where(janus.tensor(a), x, x * 3)", "full": "janus.full((2,), a)",
        "loop": "sum(0.5 ** i * (not q) for i, q in enumerate(flags))", "compared": "x > a", "filled": "x.masked_fill(x > 0, b)", "power": "x ** a"}
PLACES = {"tuple": "flags = data", "list": "flags = list(data)", "dicts": "flags = tuple(s['done'] for s in box.steps)", "items": "flags = tuple(s[1] for s in box.pairs)",
          "list of the caller": "flags = box.flags"}
TEXT = """
def f(data, box, x):
    {place}
    a, b = flags[0], flags[1]
    v = {use}
    return v, x * 2
"""


class Box:
    pass


def shown(v):
    if isinstance(v, janus.Tensor):
        return (str(v.dtype), v.tolist())
    if type(v) in (tuple, list):
        return [type(v).__name__, *map(shown, v)]
    return (type(v).__name__, repr(v))


def outcome(use, place, decorated, seed):
    names = names_of(TEXT.format(use=USES[use], place=PLACES[place]), janus=janus, F=F, math=math, __name__="program")
    f = janus.function(names["f"], verify="never", measure=False) if decorated else names["f"]
    r, log = random.Random(seed), []
    janus.manual_seed(seed)
    for i in range(14):
        data, box = tuple(r.random() < 0.5 for _ in range(6)), Box()
        box.steps, box.pairs, box.flags = [{"done": q, "i": 3} for q in data], [(i, q) for q in data], list(data)
        if i == 11:
            box.flags[1] = box.steps[1]["done"] = 1  # what equals a bool and is none
            data = (data[0], 0, *data[2:])
        try:
            log.append(shown(f(data, box, janus.arange(6.0) - 1.5)))
        except Exception as error:
            log.append(f"{type(error).__name__}: {error}")
    return log, f.stats() if decorated else {}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("use", USES)
def test_as_undecorated(use, place):
    for seed in share(range(3)):
        assert outcome(use, place, False, seed)[0] == outcome(use, place, True, seed)[0]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("use", ["tensor", "tensor of bools", "if", "scaled", "and", "number", "any", "loop"])
def test_one_graph_for_all_patterns(use, place):
    stats = outcome(use, place, True, 5)[1]
    assert stats["graph"] >= 10 and stats["conversions"] <= 4, stats


def test_modes_of_models_are_no_data():
    layers = [janus.nn.Dropout(0.5), janus.nn.BatchNorm1d(3)]

    @janus.function(verify="never", measure=False)
    def f(x):
        for layer in layers:
            x = layer(x)
        return x

    x = janus.randn(4, 3)
    for i in range(12):
        for layer in layers:
            layer.train(i % 2 == 0)
        f(x)
    assert f.stats()["conversions"] == 2 and f.stats()["graph"] >= 10
