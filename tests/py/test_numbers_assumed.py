# SPDX-License-Identifier: Apache-2.0
"""Of numbers that change, a graph assumes those alone without which there is none: others are inputs as before."""
import itertools
import random

import pytest
from texts import names_of

import janus

USES = {  # of a number that has to be known: k, which is 2 or 3
    "topk": "x.topk(k)[0].sum()",
    "chunk": "x[:k].chunk(2)[0].sum()",
    "split": "x[:k].split(1)[1].sum()",
    "reversed": "sum(list(reversed(list(x[:k]))))",
    "step": "x[::k].sum()",
    "str": "len(str(k)) * x.sum()",
    "format": "len(f'{k:>{k}}') * x.sum()",
    "item": "(x, x, x * 2, x * 3)[k].sum()",
    "getattr": "getattr(janus, ['sin', 'cos', 'exp', 'tanh'][k])(x).sum()",
    "repeat": "x.reshape(2, 2).repeat(k, 1)[0].sum()",
    "pool": "janus.nn.functional.max_pool1d(x.view(1, 1, 4), k).sum()",
    "cat": "janus.cat([x] * k).sum()",
    "eye": "janus.eye(k).sum() * x.sum()",
    "int": "int('1' * k) * x.sum()",
    "clamp": "x[:k].clamp(max=k).sum()",
}
OTHERS = ["a * 0.5", "x.mean() * b", "c + 1"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("order", list(itertools.permutations("kabc"))[::11])
def test_others_stay_inputs(use, order):
    text = f"def f(x, {', '.join(order)}):\n    return ({USES[use]} + {' + '.join(OTHERS)}) * x\n"
    f = names_of(text, janus=janus)["f"]
    g = janus.function(f, measure=False, verify="never", regions=False)
    rng, x = random.Random(3), janus.tensor([0.5, 1.5, -1.0, 2.0])
    for n in range(40):
        given = {"k": 2 + n % 2, "a": n + 2, "b": rng.random(), "c": 7 * n - 100}
        args = [given[name] for name in order]
        assert g(x, *args).tolist() == pytest.approx(f(x, *args).tolist(), rel=1e-5, abs=1e-5)
    s = g.stats()
    assert s["graph"] >= 32 and s["conversions"] <= 6, janus.explain(g)


@pytest.mark.parametrize("known", ["a", "b", "ab", "c", "abc"])
def test_all_that_must_be_known_are(known):
    """Several of them, of which each has few values."""
    text = f"def f(x, a, b, c):\n    return x * {' * '.join(f'len(str({n}))' for n in known)} + {' + '.join(set('abc') - set(known)) or '0'}\n"
    f = names_of(text)["f"]
    g = janus.function(f, measure=False, verify="never", regions=False)
    x = janus.tensor([0.5, 1.5])
    for n in range(60):
        args = [10 ** (n // i % 2) if name in known else n + 2 for i, name in zip((1, 2, 4), "abc")]
        assert g(x, *args).tolist() == f(x, *args).tolist()
    s = g.stats()
    assert s["graph"] >= 60 - 2 * 2 ** len(known) - 4, janus.explain(g)
