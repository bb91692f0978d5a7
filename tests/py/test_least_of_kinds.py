# SPDX-License-Identifier: Apache-2.0
"""min() and max() of numbers of two kinds that only the graph knows: `min(step / 10, 1)` is a float or the int, as a schedule has it."""
import itertools
import random

import pytest

import janus
from shares import EACH, share
from texts import names_of

NUMBERS = ("i", "i / 10", "1", "0.5", "True", "i > 3", "-i", "2", "v", "v * 2", "int(v)", "-0.0", "0")
USES = ("m", "x * m", "x + m * 2", "1 - m", "m + 0.5", "[m, x]", "x.sum() if m > 0.5 else x")


def cases():
    r = random.Random(0)
    every = [list(p) for n in (2, 3) for p in itertools.product(NUMBERS, repeat=n)]
    return [(f, r.choice(["{}", "[{}]", "{}"]).format(", ".join(a)), u) for f in ("min", "max") for a in r.sample(every, 50) for u in r.sample(USES, 2)]


def shown(v):
    return [shown(x) for x in v] if isinstance(v, list) else [round(e, 5) for e in v.flatten().tolist()] if isinstance(v, janus.Tensor) else repr(v)


@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
@pytest.mark.parametrize("part", range(4))
def test_as_undecorated(part):
    graphs = calls = 0
    for function, numbers, use in share(cases()[part::4]):
        text = f"def f(x, i):\n    v = x.sum().item() + i * 0.5\n    m = {function}({numbers})\n    return {use}\n"
        plain = names_of(text)["f"]
        for options in ({}, {"verify": "never"}, {"numerics": "exact"}):
            f = janus.function(names_of(text)["f"], measure=False, **options)
            for i in (0, 1, 2, 5, 9, 10, 11, 20, 3, 4, 12, -3):
                x = janus.tensor([0.25, 0.5, 1.0])
                assert shown(f(x, i)) == shown(plain(x, i)), (text, i, options)
            graphs, calls = graphs + f.stats()["graph"], calls + f.stats()["calls"]
    assert graphs > calls * 0.4 or EACH > 1, (graphs, calls)  # a share may have fewer


def test_a_schedule_is_one_graph():
    def f(x, step):
        return (x * min(step / 10, 1)).sum().item(), max(0, 1 - step * 0.05)

    g = janus.function(f, measure=False)
    for i in range(40):
        assert g(janus.ones(3), i) == f(janus.ones(3), i)
    assert g.stats()["graph"] >= 36 and g.stats()["conversions"] <= 3
