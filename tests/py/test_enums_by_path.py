# SPDX-License-Identifier: Apache-2.0
"""Members of enums as variables that differ by path: what they are, and what is asked of them, is CPython's, in generated programs."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

# How k becomes one member or another, as the run decides.
WAYS = {
    "arm": "    k = {0}\n    if x.sum() > 0: k = {1}",
    "both arms": "    if x.sum() > 0: k = {1}\n    else: k = {0}",
    "expression": "    k = {0} if x.sum() > 0 else {1}",
    "break": "    k = {0}\n    for n in range(3):\n        if x[n] > 0.5:\n            k = {1}\n            break",
    "rounds": "    k = {0}\n    for n in range(3):\n        if x[n] > 0: k = {1}\n        elif k is {1}: k = {0}",
    "while": "    k, n = {0}, 0\n    while x[n] > -0.5 and n < 2:\n        n += 1\n        k = {1} if n == 2 else {0}",
    "callee": "    k = choose(x)",
    "three": "    k = {0} if x[0] > 0 else {1} if x[1] > 0 else {2}",
    "number": "    k = {0} if x[0] > 0 else 1",
    "none": "    k = None if x[0] > 0 else {1}",
}
USES = {
    "returned": "return x * 2, k",
    "is": "return x * 2 if k is {1} else x + 1",
    "equal": "return x * 2 if k == {0} else x + 1",
    "not": "return x * 2 if k not in ({0}, {2}) else x + 1",
    "value": "return x * (k.value if isinstance(k, {E}) else 3)",
    "name": "return x, k.name if isinstance(k, {E}) else k",
    "method": "return k.on(x) if isinstance(k, {E}) else x",
    "key": "return x * {{{0}: 2, {1}: 3, {2}: 4}}.get(k, 5)",
    "stored": "box.k = k\n    return x + 1, box.k",
    "in a tuple": "t = (k, x)\n    return t",
    "match": "match k:\n        case {0}: return x * 2\n        case {1}: return x * 3\n    return x",
    "unused": "return x * 2",
}
KINDS = {
    "E": "class E(Enum):\n    A = 1\n    B = 2\n    C = 5\n    def on(self, x): return x * self.value",
    "F": "class F(Flag):\n    A = 1\n    B = 2\n    C = 4\n    def on(self, x): return x + self.value",
    "I": "class I(IntEnum):\n    A = 1\n    B = 2\n    C = 5\n    def on(self, x): return x - self",
    "P": "class P(Enum):\n    A = 'a'\n    B = 'b'\n    C = 'c'\n    @property\n    def value(self): return len(self.name) + 1\n    def on(self, x): return x if self is P.A else -x",
}


def text(kind, way, use):
    names = dict(zip("012", (f"{kind}.A", f"{kind}.B", f"{kind}.C")), E=kind)

    def put(s):
        return s.format(*(names[i] for i in "012"), E=kind)

    return f"""from enum import Enum, Flag, IntEnum
{KINDS[kind]}
class Box: k = None
box = Box()
def choose(x):
    if x[1] > 0: return {names["0"]}
    return {names["1"]}
def f(x):
{put(WAYS[way])}
    {put(USES[use])}
"""


def flat(names, v):
    if isinstance(v, tuple):
        return [w for item in v for w in flat(names, item)]
    return [round(w, 4) for w in v.tolist()] if isinstance(v, janus.Tensor) else [(type(v).__name__, str(v), v is next((m for m in names["all"] if m is v), None))]


def seen(program, kind, **options):
    names = names_of(program, janus=janus)
    names["all"] = list(names[kind])
    f = janus.function(names["f"], measure=False, **options) if options else names["f"]
    inputs = itertools.product((-1.0, 0.25, 1.0), (-0.75, 0.6), (0.75, -0.25))
    return [flat(names, f(janus.tensor(list(x)))) for x in inputs], f.stats()["graph"] if options else 0


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_cpythons(kind):
    graphs = total = 0
    for way, use in share(list(itertools.product(WAYS, USES))[list(KINDS).index(kind) % 2::2]):
        program = text(kind, way, use)
        want, _ = seen(program, kind)
        got, n = seen(program, kind, verify="never")
        assert got == want, program
        graphs += n > 6
        total += 1
    assert graphs > total // 4, (graphs, total)


@pytest.mark.parametrize("use", [use for use in USES if use != "key"])  # docs/roadmap.md
def test_members_of_arms_are_graphs(use):
    """Of an Enum all of these have one graph for both."""
    for way in ("arm", "expression", "break"):
        _, graphs = seen(text("E", way, use), "E", verify="never")
        assert graphs >= 8, (way, graphs)
