# SPDX-License-Identifier: Apache-2.0
"""Partials of the program: called by graphs, and changed between calls."""
import functools

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

MAKES = {
    "keyword": "functools.partial(scale, by=3.0)", "position": "functools.partial(scale, janus.ones(2) * 4)", "nested": "functools.partial(functools.partial(scale, by=2.0), more=1.0)",
    "op": "functools.partial(janus.clamp, min=1.0)", "method": "functools.partial(Thing().scale, by=2.0)", "module": "functools.partial(janus.nn.Identity())", "class": "functools.partial(Thing, 3)",
    "number": "functools.partial(scale, by=n)", "text": "functools.partial(named, 'a')", "star": "functools.partial(all_of, 1, 2, k=3)", "empty": "functools.partial(scale)",
    "operator": "functools.partial(operator.mul, 2)", "own class": "Mine(scale, by=2.0)", "lambda": "functools.partial(lambda x, by: x - by, by=2)",
}
CHANGES = {"nothing": "pass", "another": "p = functools.partial(scale, by=7.0)", "keywords": "p.keywords['by'] = 5.0", "state": "p.__setstate__((scale, (), {'by': 9.0}, None))",
           "attribute": "p.note = 1", "more keywords": "p.keywords['more'] = 2.0"}
USES = {"called": "y = p(x)", "in a loop": "y = x\n    for i in range(3):\n        y = y + look(p(x))", "handed on": "y = apply(p, x)", "mapped": "y = sum(map(look, map(p, [x, x * 2])))",
        "with more": "y = p(x, **more)", "of an object": "box.p = p\n    y = box.p(x)"}
TEXT = """
import functools, operator
class Mine(functools.partial): pass
class Thing:
    def __init__(self, a=0, b=0): self.a, self.b = a, b
    def scale(self, x, by=1.0): return x * by + self.a
class Box: pass
def scale(x, by=1.0, more=0.0): return x * by + more
def named(name, x): return x * len(name)
def all_of(*args, **keywords): return args[-1] * len(args) + keywords['k']
def look(v): return v.b if isinstance(v, Thing) else v
def apply(f, *args): return f(*args)
n, more, box = 3, {}, Box()
p = {make}
def change():
    global p
    {change}
def f(x):
    {use}
    return look(y)
"""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", MAKES)
def test_what_is_called_is_what_it_is_now(make, change):
    graphs = 0
    for use in USES:
        seen = []
        for options in (None, {"verify": "never", "measure": False}, {"measure": False}):
            names = names_of(TEXT.replace("{make}", MAKES[make]).replace("{change}", CHANGES[change]).replace("{use}", USES[use]), janus=janus)
            f = janus.function(names["f"], **options) if options else names["f"]
            out = []
            for k in range(8):
                if k == 5:
                    names["change"]()
                try:
                    out.append(f(janus.ones(2) * k).tolist())
                except (TypeError, AttributeError) as e:
                    out.append((type(e).__name__, str(e)))
            seen.append(out)
            graphs += bool(options) and f.stats()["graph"]
        assert seen[0] == seen[1] == seen[2], use
    assert graphs or make in ("own class", "class")


def test_a_partial_decorated():
    part = functools.partial(lambda x, by: x * by, by=2.0)
    f = janus.function(lambda x: part(x) + 1, measure=False)
    assert [f(janus.ones(1) * k).item() for k in range(4)] == [1.0, 3.0, 5.0, 7.0] and f.stats()["graph"]
