# SPDX-License-Identifier: Apache-2.0
"""A variable that a `try` or `with` statement, or the `else` of a loop, binds on some of its paths holds behind it what CPython's holds, or nothing, whatever part of the
statement is a region, or runs as a function of its own while one is learnt."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

HEAD = """
import contextlib
class State: pass
S = State(); S.n = 0; S.l = [1]
log = []
class Ends:
    def __enter__(self): return 7
    def __exit__(self, kind, e, tb): return kind is not None
def gone(): S.l.pop(5)
def several(a, b): return a + b
def at(n):
    if S.n % 3 == n: raise ValueError(n)
    return n
"""
RAISES = {"callee": "x = x + at(1)", "arguments": "x = x + several(*S.l)", "key": "x = x + {0: 1.0, 2: 2.0}[S.n % 3]", "shape": "x = x + x.view(3, S.n % 3)[:, 0]",
          "nothing": "x = x + S.n % 3"}
GUARDS = {
    "passed": "try:\n    c = 1 + d\n    {r}\n    c = x * 2\nexcept Exception as e:\n    pass",
    "other": "try:\n    {r}\n    c = x * 2\nexcept Exception as e:\n    d = x + 1",
    "both": "try:\n    {r}\n    c = x * 2\nexcept Exception as e:\n    c = x + 1",
    "two": "try:\n    {r}\n    c = x * 2\nexcept ValueError:\n    c = 5\nexcept Exception:\n    d = x * 3",
    "else": "try:\n    {r}\nexcept Exception:\n    x = x * 2\nelse:\n    c = x + 2\n    d = c * x",
    "finally": "try:\n    try:\n        {r}\n        c = x * 2\n    finally:\n        log.append(c if known else d)\n        x = x + d\nexcept Exception as e:\n    pass",
    "goes on": "try:\n    {r}\n    c = x * 2\nexcept Exception:\n    return x * 7",
    "suppressed": "with contextlib.suppress(Exception):\n    {r}\n    c = x * 2",
    "ended": "with Ends() as d:\n    {r}\n    c = x * d",
    "no gradient": "with janus.no_grad():\n    x = x * 2\n    c = x + 1",
    "in a round": "for i in range(2):\n    try:\n        {r}\n        c = x * 2\n    except Exception:\n        continue\n    d = c + i",
}
LOOPS = {
    "else": "for i in range(2):\n    {r}\n    if S.n % 2: break\nelse:\n    c = x * 2",
    "loop in else": "for i in range(S.n % 2):\n    {r}\nelse:\n    for c, d in [(x * 2, x + 1)][:S.n % 3]:\n        x = x + c",
    "while": "i = 0\nwhile i < 2:\n    i += 1\n    {r}\n    if S.n % 2: break\nelse:\n    c = x + 2",
    "arm in else": "for i in range(2):\n    x = x * 0.5\n    if S.n % 3 == 1: break\nelse:\n    if S.n % 2:\n        c = x + 2\n    {r}",
}
AGAIN = {
    "loop": "for c in S.l[:S.n % 2]:\n    x = x + c\n    x = x * 2", "pairs": "for c, d in zip(S.l[:S.n % 2], [x, x]):\n    x = x + c\n    x = x * 2", "arm": "if S.n % 2:\n    c = x * 2 + 1\n    x = x + c",
    "set": "x = x * 2 + 1\nc = x * 3", "not": "x = x + 1",
}
BEFORE = {"bound": "c = 0\nknown = True", "on a path": "known = S.n % 2 == 0\nif known:\n    c = x * 3", "not": "known = False"}
PLACES = {"plain": "{g}", "arm": "if S.n % 3 == 1:\n    {g}\nelse:\n    {b}", "loop": "for k in range(1 + S.n % 2):\n    {g}\n    {b}", "behind": "{b}\n{g}",
          "before": "{g}\n{b}"}
BARRIERS = {"pops": "gone()" , "clock": "log.append(id(None) > 0)", "none": "x = x * 1.5"}
TAIL = "try:\n    got = c\nexcept UnboundLocalError as e:\n    got = str(e)\nreturn x, got, d"


def indented(text, by=4):
    return text.replace("\n", "\n" + " " * by)


def programs():
    for (g, guard), (_, r), before, (p, place), barrier in itertools.product(GUARDS.items(), RAISES.items(), BEFORE, PLACES.items(), BARRIERS):
        b = BARRIERS[barrier]
        if barrier == "pops":
            b = "if S.n == 0:\n    gone()"
        inner = place.format(g=indented(guard.replace("{r}", r)) if p in ("arm", "loop") else guard.replace("{r}", r), b=indented(b) if p in ("arm", "loop") else b)
        body = "\n".join(("d = 2.0", BEFORE[before], inner, TAIL))
        yield (g, r, before, p, barrier), HEAD + "def f(x):\n    " + indented(body) + "\n"


def loops():
    for (g, loop), (_, r), before, again, place, barrier in itertools.product(LOOPS.items(), RAISES.items(), BEFORE, AGAIN, ("plain", "loop"), BARRIERS):
        b = "if S.n == 0:\n    gone()" if barrier == "pops" else BARRIERS[barrier]
        inside = f"{loop.replace('{r}', r)}\n{b}\n{AGAIN[again]}"
        inner = f"for k in range(1 + S.n % 2):\n    {indented(inside)}" if place == "loop" else inside
        body = "\n".join(("d = 2.0", BEFORE[before], inner, TAIL))
        yield (g, r, before, again, place, barrier), HEAD + "def f(x):\n    " + indented(body) + "\n"


def shown(v):
    return v.tolist() if isinstance(v, janus.Tensor) else [shown(i) for i in v] if isinstance(v, tuple) else v


def outcomes(text, options):
    names = names_of(text, janus=janus)
    f = janus.function(names["f"], **options) if options else names["f"]
    seen = []
    for i in range(12):
        names["S"].n = 0 if i < 5 else i % 4 + 1
        x = janus.ones(3, requires_grad=i % 3 == 1) * (i + 1)
        try:
            got = shown(f(x))
        except Exception as e:
            got = f"{type(e).__name__}: {e}"
        seen.append((got, shown(tuple(names["log"]))))
        names["log"].clear()
    return seen


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_as_undecorated(options):
    wrong = []
    for name, text in share([*list(programs())[::7], *list(loops())[::11]]):
        want, got = outcomes(text, None), outcomes(text, {**options, "measure": False})
        wrong += [(name, i, a, b) for i, (a, b) in enumerate(zip(want, got)) if a != b][:1]
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
