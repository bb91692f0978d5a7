# SPDX-License-Identifier: Apache-2.0
"""`with` of what contextlib.contextmanager makes: decorated as undecorated, in values, effects, exceptions and what is left."""
import contextlib

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# The body of the manager m(o, x), a generator.
MANAGERS = {
    "restores": "was = o.scale\n    o.scale = 3.0\n    try:\n        yield was\n    finally:\n        o.scale = was",
    "no finally": "o.scale = o.scale + 1\n    yield o\n    o.scale = o.scale - 1",
    "a tensor": "y = x * 2\n    yield y\n    o.log.append('left')",
    "no gradients": "with janus.no_grad():\n        yield x",
    "swallows": "try:\n        yield x\n    except ValueError:\n        o.log.append('swallowed')",
    "else": "try:\n        yield\n    except ValueError:\n        o.log.append('raised')\n        raise\n    else:\n        o.log.append('fine')",
    "branch": "if x.sum() > 2:\n        o.scale = 2.0\n    yield x\n    o.scale = 1.0",
    "yields by path": "if x.sum() > 2:\n        yield x\n    else:\n        yield x * 2",
    "in a loop": "for k in range(1):\n        yield k",
    "another": "with inner(o) as q:\n        yield q",
    "twice": "yield x\n    yield x",
    "never": "if x is None:\n        yield x",
    "returns": "yield x\n    return",
    "a round": "o.log.append('in')\n    try:\n        yield x + 1\n    finally:\n        o.log.append(o.scale)",
}
BODIES = {
    "plain": "with m(o, x) as q:\n        y = x * o.scale\n    return y, o.scale",
    "uses it": "with m(o, x) as q:\n        y = x * (q if isinstance(q, (float, janus.Tensor)) else 2)\n    return y",
    "returns": "with m(o, x):\n        return x * o.scale\n    return x",
    "returns by path": "with m(o, x):\n        if x[0] > 1:\n            return x * o.scale\n        y = x + 1\n    return y * o.scale",
    "loop": "y = x\n    for k in range(3):\n        with m(o, x):\n            if k == 1:\n                continue\n            y = y * o.scale + k\n    return y",
    "break": "y = x\n    for k in range(3):\n        with m(o, x):\n            y = y + o.scale\n            if k == 1:\n                break\n    return y, k",
    "two": "with m(o, x), m(o, x + 1) as r:\n        y = x * o.scale\n    return y",
    "raises": "with m(o, x):\n        if n == 2:\n            raise ValueError(n)\n        y = x * o.scale\n    return n",
    "in an arm": "y = x\n    if x[0] > 1:\n        with m(o, x):\n            y = x * o.scale\n    return y",
    "stored": "c = m(o, x)\n    y = x + 1\n    with c:\n        y = y * o.scale\n    return y, hasattr(c, 'args')",
    "again": "c = m(o, x)\n    with c:\n        y = x * o.scale\n    with c:\n        y = y + 1\n    return y",
    "gradient": "w = x.clone().requires_grad_()\n    with m(o, x):\n        y = (w * w).sum()\n    return janus.autograd.grad(y, w)[0] if y.requires_grad else y",
    "method": "with o.managed(x) as q:\n        y = x * o.scale\n    return y",
}
TEXT = """
class O:
    def __init__(self):
        self.scale, self.log = 1.0, []

    @contextlib.contextmanager
    def managed(self, x):
        o = self
        {manager_}

@contextlib.contextmanager
def inner(o):
    o.log.append('inner')
    yield o.scale

@contextlib.contextmanager
def m(o, x):
    {manager}

def f(o, x, n):
    {body}
"""


def plain(v):
    if isinstance(v, janus.Tensor):
        return v.tolist(), v.requires_grad
    return [plain(x) for x in v] if isinstance(v, tuple) else v


def outcomes(f, names):
    o, out = names["O"](), []
    for k in range(6):
        try:
            out.append(plain(f(o, janus.tensor([k % 3 * 1.0, k * 0.5]), k % 3)))
        except (RuntimeError, ValueError, AttributeError, UnboundLocalError) as e:
            out.append((type(e).__name__, str(e)))
        out.append((o.scale, list(o.log)))
    return out


@pytest.mark.parametrize("body", BODIES)
def test_managers_as_undecorated(body):
    graphs = 0
    for manager in shares.share(MANAGERS):
        text = TEXT.format(manager=MANAGERS[manager], manager_=MANAGERS[manager].replace("\n", "\n    "), body=BODIES[body])
        names, plain_names = (names_of(text, janus=janus, contextlib=contextlib, __name__="program") for _ in range(2))
        f = janus.function(names["f"], verify="never", measure=False)
        assert outcomes(f, names) == outcomes(plain_names["f"], plain_names), manager
        graphs += f.stats()["graph"] > 2
    assert graphs or body in ("again", "raises", "returns by path")


def test_plain_managers_are_graphs():
    """Those that yield once, wherever that is."""
    for manager in ("restores", "no finally", "a tensor", "no gradients", "returns", "a round", "another", "in a loop"):
        for body in ("plain", "returns", "loop", "two", "stored", "method"):
            text = TEXT.format(manager=MANAGERS[manager], manager_=MANAGERS[manager].replace("\n", "\n    "), body=BODIES[body])
            names = names_of(text, janus=janus, contextlib=contextlib, __name__="program")
            f = janus.function(names["f"], verify="never", measure=False)
            outcomes(f, names)
            assert f.stats()["graph"] > 2, (manager, body)


def test_functions_tell_their_parts():
    def f(g, x):
        return x * 2, g.__doc__, g.__name__, g.__qualname__, g.__module__, getattr(g, "calls", 0), hasattr(g, "other")

    def one():
        "A text."

    class C:
        "Of a class."

        def method(self):
            "Of a method."

    d = janus.function(f, verify="never", measure=False)
    for g in (one, one, one, C().method, C.method, C().method):
        assert d(g, janus.ones(1))[1:] == f(g, janus.ones(1))[1:]
    one.__doc__, one.calls = "Another.", 3
    assert d(one, janus.ones(1))[1:] == f(one, janus.ones(1))[1:]
    del one.calls
    assert d(one, janus.ones(1))[5:] == (0, False)
    doc = janus.function(lambda x: (x * 2, C.__doc__, C.__module__, type(x).__name__), verify="never", measure=False)
    for text in ("Of a class.", "Of a class.", "Of a class.", "Other.", None):
        C.__doc__ = text
        assert doc(janus.ones(1))[1] == text
    assert doc.stats()["graph"]


@pytest.mark.parametrize("steps", ["del o.a", "del o.a\n    o.a = x * 3", "if x[0] > 1:\n        del o.a", "del o.b\n    del o.a\n    o.c = 1", "del o.a\n    del o.a",
                                   "for k in range(2):\n        o.k = k\n        del o.k", "del o.d"])
def test_attributes_of_new_objects_are_deleted(steps):
    text = f"""
class O:
    d = 4

def f(x):
    o = O()
    o.a, o.b = x * 2, 1
    {steps}
    return o, list(vars(o)), getattr(o, 'a', None)
"""
    names = names_of(text, janus=janus, __name__="program")
    f, g = names["f"], janus.function(names["f"], verify="never", measure=False)

    def outcome(f, k):
        try:
            o, keys, a = f(janus.ones(2) * k)
            return {n: plain(v) for n, v in vars(o).items()}, keys, plain(a)
        except AttributeError as e:
            return str(e)
    for k in range(6):
        assert outcome(g, k % 3) == outcome(f, k % 3)
