# SPDX-License-Identifier: Apache-2.0
"""Of arguments that a function does not look at a graph assumes nothing; those that it looks at in a roundabout way are known."""
import pytest

import janus
from texts import names_of

VALUES = [1, 2, "a", "b", int, len, [1], [1, 2], {}, {"a": 1}, (1, 2), None, 3.5, lambda: 1, janus.ones(3), janus.ones(2, 2), janus.ones(2, requires_grad=True), True, b"x", object()]


def give(x, v, i):
    return {"by place": ((x, v), {}), "by name": ((x,), {"n": v}), "left out": ((x,), {"n": v} if i % 3 else {})}


PROGRAM = """
class Base:
    def named(self): return 'base'
class Thing(Base):
    def f(self, x):
        return x * 2 + 1
    def g(self, x):
        return x * 2, super().named()
def f(x, n=7):
    {}
"""
UNREAD = ["return x * 2 + 1", "if x.sum() > 3: return x * 2\n    return x", "return [x + k for k in range(3)]", "return (lambda m: m + x)(1)", "def go(k): return x if k == 0 else go(k - 1) * 2\n    return go(3)", "y = x\n    while y.sum() < 20: y = y * 2\n    return y", "print('at', x.sum().item())\n    return x + 1"]
READ = ["return x * 2, n", "n = x * 2\n    return n", "return (lambda: n)(), x + 1", "return [n for _ in range(2)], x + 1", "return sorted(locals()), x + 1", "return locals()['n'], x + 1", "del n\n    return x + 1", "return x + 1, type(n)", "def inner(n=n): return n\n    return inner(), x + 1",
        "return eval('n'), x + 1", "def inner():\n        nonlocal n\n        n = 5\n        return n\n    return inner(), x + 1", "return f'{n!r}'[:3], x + 1", "if x.sum() > 3: return n\n    return x", "return f(x - 1, 3) if x.sum() > 3 else x", "return f(x - 1, n) if x.sum() > 3 else x"]


def outcome(f, args, kwargs, capsys):
    try:
        r = f(*args, **kwargs)
    except Exception as e:
        r = type(e), str(e)
    return r, capsys.readouterr().out


def alike(p, q):
    if isinstance(p, janus.Tensor):
        return p is q or (type(p) is type(q) and p.tolist() == q.tolist() and p.requires_grad == q.requires_grad)
    if isinstance(p, (list, tuple)):
        return type(p) is type(q) and len(p) == len(q) and all(map(alike, p, q))
    return p is q or (type(p) is type(q) and p == q)


@pytest.mark.parametrize("way", ["by place", "by name", "left out"])
@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("body", UNREAD + READ)
def test_equal(body, verify, way, capsys):
    plain = names_of(PROGRAM.format(body), janus=janus)["f"]
    names = names_of(PROGRAM.format(body), janus=janus)
    f = names["f"] = janus.function(names["f"], measure=False, verify=verify)
    for i, v in enumerate(VALUES):
        args, kwargs = give(janus.ones(2) * (1 + i % 4), v, i)[way]
        want, got = outcome(plain, args, kwargs, capsys), outcome(f, args, kwargs, capsys)
        assert alike(want, got), (v, want, got)
    s = f.stats()
    assert s["disproved"] == 0
    if body in UNREAD and "print" not in body:
        assert s["conversions"] <= (2 if way == "left out" else 1) and s["graph"] >= len(VALUES) - 2, janus.explain(f)


def test_self_that_is_not_looked_at():
    names = names_of(PROGRAM.format("return x"))
    thing = names["Thing"]
    for name in "f", "g":
        setattr(thing, name, janus.function(getattr(thing, name), measure=False))
    for i in range(6):
        o = type("Sub", (thing,), {"named": lambda self: "sub"})() if i % 2 else thing()
        assert o.f(janus.ones(2)).tolist() == [3.0, 3.0] and o.g(janus.ones(2))[1] == "base"
    assert thing.f.stats()["conversions"] == 1 and thing.f.stats()["graph"] == 5


def test_who_gives_the_wrong_arguments_is_told():
    f = janus.function(names_of(PROGRAM.format("return x * 2"))["f"], measure=False)
    for _ in range(3):
        f(janus.ones(2), 1)
        for args, kwargs in [((), {}), ((1, 2, 3), {}), ((janus.ones(2), 1), {"n": 2}), ((janus.ones(2),), {"m": 1})]:
            with pytest.raises(TypeError):
                f(*args, **kwargs)


def test_what_is_exported_takes_them(tmp_path):
    f = janus.function(names_of(PROGRAM.format("return x * 2"))["f"])
    janus.export(f, str(tmp_path / "m"), janus.ones(2), janus.ones(3))
    g = janus.load_graph(str(tmp_path / "m"))
    assert g(janus.ones(2), janus.ones(3)).tolist() == [2.0, 2.0]
