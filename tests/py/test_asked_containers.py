# SPDX-License-Identifier: Apache-2.0
"""What was asked of a container is what a graph assumes: one item, its length, whether it has any; and what it has written there."""
import itertools

import pytest

import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

WRITES = {
    "none": "pass", "set": "d['a'] = 1", "set old": "d['x'] = 2", "setdefault": "d.setdefault('x', 1)", "setdefault new": "d.setdefault('b', 1)", "pop": "d.pop('x', None)",
    "put, taken": "d.pop('x', 0); d['y'] = 1; del d['y']", "clear": "d.clear()", "update": "d.update(z=1)", "get": "d.get('x')", "popitem": "if 'x' in d: d.popitem()",
    "append": "l.append(1)", "list's pop": "if l: l.pop()", "list's clear": "l.clear()", "first set": "if l: l[0] = 5", "last set": "if l: l[-1] = 5", "extend": "l.extend([1, 2])",
    "all deleted": "del l[:]", "insert": "l.insert(0, 3)", "slice": "l[:] = []",
}
ASKS = {
    "truth": "1 if h.d else 2", "length": "len(h.d)", "not": "not h.d", "bool": "bool(h.d)", "in": "'x' in h.d", "keys": "list(h.d)", "list's truth": "1 if h.l else 2",
    "list's length": "len(h.l)", "last": "h.l[-1] if h.l else 0", "first": "h.l[0] if h.l else 0", "own truth": "1 if d else 2", "own list": "1 if l else 2",
    "own last": "l[-1] if l else 0", "tuple": "(h.t[-1], h.t[0], len(h.t), bool(h.t))", "and": "h.d and 1", "each": "[k for k in h.d if h.d]", "second": "h.l[-2] if len(h.l) > 1 else 0",
}
DICTS = {}, {"x": 1}, {"x": 1, "q": 2}, {"q": 3}
LISTS = [], [7], [7, 8], [9, 8, 7]
ORDER = (0, 0), (0, 1), (1, 1), (1, 0), (2, 2), (2, 3), (3, 3), (0, 3), (1, 1), (2, 0), (3, 2), (1, 1)


@pytest.mark.parametrize("write", WRITES)
def test_what_was_written_is_asked(write):
    graphs = 0
    for ask in ASKS:
        text = f"""
class H:
    pass

h = H()

def f(x):
    d, l = h.d, h.l
    {WRITES[write]}
    r = {ASKS[ask]}
    {WRITES[write]}
    return r, {ASKS[ask]}, (x * 2).sum()
"""
        seen = []
        for decorate in (lambda f: f, lambda f: janus.function(f, verify="never", measure=False)):
            names, out = names_of(text, janus=janus, __name__="program"), []
            f, h = decorate(names["f"]), names["h"]
            for i, k in ORDER:
                h.d, h.l, h.t = dict(DICTS[i]), list(LISTS[k]), tuple(LISTS[max(k, 1)])
                r = f(janus.ones(2))
                out.append((r[:2], r[2].item(), list(h.d.items()), list(h.l)))
            seen.append(out)
        assert seen[0] == seen[1], ask
        graphs += f.stats()["graph"] > 0
    assert graphs > len(ASKS) // 2 or write == "put, taken"


ONE = {"last": "h.l[-1]", "first": "h.l[0]", "third last": "h.l[-3]", "length": "len(h.l)", "truth": "1 if h.l else 2", "dict's length": "len(h.d)", "dict's truth": "1 if h.d else 2",
       "of a tuple": "h.t[-1]", "tuple's truth": "not h.t", "tuple's length": "len(h.t)", "one key": "h.d[3]", "a key put": "h.d.__setitem__(-1, 1)"}


@pytest.mark.parametrize("one", ONE)
def test_nothing_else_is_assumed(one):
    names = names_of(f"class H:\n    pass\n\nh = H()\n\ndef f():\n    return {ONE[one]}\n", __name__="program")
    guards = []
    for n in 10, 200:
        f, h = janus.function(names["f"], verify="never", measure=False), names["h"]
        for _ in range(3):
            h.l, h.d = [[i] for i in range(n)], {i: [i] for i in range(n)}
            h.t = tuple(h.l)
            f()
        assert f.stats()["graph"] == 2
        guards.append(f.stats()["guards"])
    assert guards[0] == guards[1]


def test_other_lengths_take_the_same_graph():
    class Holder:
        pass
    f = janus.function(lambda h: (h.l[-1], h.t[-1], h.l[-2]), verify="never", measure=False)
    h = Holder()
    a, b = [1], [2]
    for n in range(2, 12):
        h.l, h.t = [*range(n - 2), b, a], (*range(n), b)
        assert [x is y for x, y in zip(f(h), (a, b, b))] == [True] * 3
    assert f.stats()["graph"] == 9 and f.stats()["conversions"] == 1
    h.l = [a]  # nothing is there
    for _ in itertools.repeat(None, 3):
        with pytest.raises(IndexError, match="list index out of range"):
            f(h)
