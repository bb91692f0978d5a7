# SPDX-License-Identifier: Apache-2.0
"""A tensor of the caller that a loop, an arm or a callee hands on is the caller's object, whatever else of the call has a history: generated programs."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

STORES = ("o.w = x * c", "o.w = c * 2", "o.w = (x * c).exp()", "o.w = x * 2", "o.w = x", "kept.append(x * c)", "o.w = y = x + c", "(x * c).sum().backward()", "pass")
WAYS = {"while": "while x.sum() > 3.0:\n    x = x * 0.5", "counted": "n = 0\nwhile n < 3 and x.sum() > 3.0:\n    n += 1\n    x = x * 0.5",
        "two": "y = x\nwhile y.sum() > 3.0:\n    y, x = x * 0.5, y", "break": "for i in range(4):\n    if x.sum() < 3.0: break\n    x = x * 0.5",
        "rounds": "for i in range(k):\n    if x.sum() > 3.0: x = x * 0.5", "if": "if x.sum() > 3.0: x = x * 0.5",
        "recursion": "x = halved(x)", "both": "x, z = either(x, z, k)", "turns": "x = turns(x, z, k)", "callee": "x = halved(z) if k else halved(x)",
        "else": "if x.sum() > 3.0: x, z = z, x\nelse: x = x * 0.5", "part": "v = x[:1]\nwhile v.sum() > 1.5: v = v * 0.5\nx = x if k else v",
        "swapped": "while x.sum() > 3.0: x, z = z * 0.5, x", "inner": "while x.sum() > 3.0:\n    while x.sum() > 2.0: x = x * 0.5",
        "try": "try:\n    while x.sum() > 3.0: x = x * 0.5\nfinally:\n    k += 1", "no_grad": "with janus.no_grad():\n    while x.sum() > 3.0: x = x * 0.5"}
ENDS = ("return x", "return x, z, x", "o.r = x\nreturn x", "return [x * c, x]", "o.r = x\nreturn x + 1")
CASES = list(itertools.product(STORES, WAYS, ENDS, ((), (1,), (0, 1))))

HEAD = """
class O: pass
o, kept = O(), []
c = janus.ones(2, requires_grad=True)
def halved(x): return halved(x * 0.5) if x.sum() > 3.0 else x
def either(x, z, n): return (x, z) if x.sum() < 3.0 or n < 1 else either(z, x * 0.5, n - 1)
def turns(x, z, n): return x if n < 1 else turns(z if x.sum() > 3.0 else x, x, n - 1)
"""


def text(store, way, end):
    return HEAD + "def f(x, z, k):\n" + "".join(f"    {line}\n" for line in "\n".join((store, WAYS[way], end)).split("\n"))


def seen(case, **options):
    """Of each call what the results and attributes are, and which of them are the arguments."""
    names = names_of("import janus\n" + text(*case[:3]))
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    out = []
    for i in range(10):
        high = (0.5, 1.0, 2.0, 1.0)[i % 4]
        x, z = (janus.tensor([high, high + 0.25 + n]).requires_grad_(n in case[3] and i % 3 == 0) for n in (0, 1))
        y = f(x, z, i % 3)
        parts = [*(y if isinstance(y, (list, tuple)) else (y,)), *(vars(names["o"]).values())]
        out.append([(v is x, v is z, [v is u for u in parts], v.requires_grad, v.is_leaf, v.tolist()) for v in parts])
        out.append((names["c"].grad is None or names["c"].grad.tolist(), len(names["kept"])))
    return out, f.stats()["graph"] if options else 0


@pytest.mark.parametrize("store", STORES)
def test_identity_of_what_is_handed_on(store):
    graphs = 0
    for case in share([case for case in CASES if case[0] == store][STORES.index(store) % 7::7]):
        want, _ = seen(case)
        for numerics in ("fast", "exact"):
            got, n = seen(case, verify="never", numerics=numerics)
            graphs += n
            for a, b in zip(want, got):
                assert a == b, (case, numerics, a, b)
    assert graphs > 0
