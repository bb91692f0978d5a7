# SPDX-License-Identifier: Apache-2.0
"""Verified speculation: graphs are compared with CPython before they are used."""
import collections
import gc
import warnings

import pytest

import janus
from texts import names_of

pytestmark = pytest.mark.filterwarnings("error::janus.SpeculationWarning")


def counts(f):
    s = f.stats()
    return {k: s[k] for k in ("calls", "graph", "imperative", "verified", "disproved")}


def test_the_first_hit_is_compared_and_counts():
    @janus.function(verify="rarely")
    def f(x):
        return x * 2

    for i in range(5):
        assert f(janus.ones(3) * i).tolist() == [2.0 * i] * 3
    assert counts(f) == {"calls": 5, "graph": 4, "imperative": 1, "verified": 1, "disproved": 0}


@pytest.mark.parametrize("verify, n", [("always", 4), ("rarely", 1), ("never", 0)])
def test_how_often(verify, n, monkeypatch):
    def f(x):
        return x + 1

    by_option = janus.function(f, verify=verify)
    monkeypatch.setenv("JANUS_VERIFY", verify)
    by_environment = janus.function(f)
    for g in by_option, by_environment:
        for _ in range(5):
            g(janus.ones(2))
        assert g.stats()["verified"] == n and g.stats()["graph"] == 4


def test_options_that_are_wrong():
    with pytest.raises(ValueError, match='verify is "rarely", "always" or "never", got "often"'):
        janus.function(lambda x: x, verify="often")


def test_every_effect_happens_once():
    class Box:
        pass

    @janus.function(verify="always")
    def f(x, box, items, table):
        x.add_(1)
        box.n = box.n + 1
        items.append(x.sum())
        table["k"] = items
        print("called", box.n)
        return items

    x, box, items, table = janus.zeros(2), Box(), [], {}
    box.n = 0
    for i in range(1, 6):
        assert f(x, box, items, table) is items
        assert x.tolist() == [i, i] and box.n == i and len(items) == i and table == {"k": items}


def test_random_numbers_are_drawn_once():
    def f(x):
        return x + janus.rand(3)

    janus.manual_seed(3)
    want = [f(janus.zeros(3)).tolist() for _ in range(5)]
    janus.manual_seed(3)
    g = janus.function(f, verify="always")
    assert [g(janus.zeros(3)).tolist() for _ in range(5)] == want
    assert g.stats()["verified"] == 4


def test_decorated_callees_run_plain_in_a_shadow():
    @janus.function(verify="always")
    def inner(x):
        return x * 3

    @janus.function(verify="always")
    def outer(x):
        return inner(x) + 1

    for _ in range(4):
        outer(janus.ones(2))
    assert outer.stats()["verified"] == 3 and inner.stats()["calls"] <= 1


def test_collection_is_on_again():
    assert gc.isenabled()
    f = janus.function(lambda x: x * 2, verify="always")
    for _ in range(3):
        f(janus.ones(1))
    assert gc.isenabled()
    gc.disable()
    try:
        f(janus.ones(1))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_memory_of_the_program_is_not_written_twice():
    """A parameter, its gradient and the state of an optimizer step as they do undecorated."""
    def train(function):
        janus.manual_seed(0)
        m = janus.nn.Linear(3, 2)
        o = janus.optim.Adam(m.parameters(), lr=0.1)

        @function
        def step(x):
            o.zero_grad()
            loss = m(x).square().sum()
            loss.backward()
            o.step()
            return loss

        losses = [float(step(janus.ones(4, 3))) for _ in range(6)]
        return losses, [p.tolist() for p in m.parameters()], [p.grad.tolist() for p in m.parameters()]

    want = train(lambda f: f)
    for verify in "always", "rarely", "never":
        got = train(lambda f, verify=verify: janus.function(f, verify=verify, numerics="exact"))
        assert got == want


def test_deep_recursions_are_decided_by_a_shallow_one():
    """CPython's limit is what a call that is compared meets, as undecorated; it says nothing of the graph."""
    def down(x, n):
        return x if n == 0 else down(x + 1, n - 1)

    f = janus.function(down, verify="rarely")
    x = janus.zeros(1)
    f(x, 5), f(x, 6)
    with pytest.raises(RecursionError):
        f(x, 100000)
    assert f(x, 7).tolist() == [7.0]
    assert f(x, 100000).tolist() == [100000.0]
    assert f.stats()["disproved"] == 0


def test_no_warning_where_nothing_differs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = janus.function(lambda x: (x, [x], {"a": x[1:]}), verify="always")
        for _ in range(3):
            f(janus.ones(3))


def test_arms_and_rounds_are_compared_when_they_are_first_entered():
    @janus.function(verify="rarely", measure=False)
    def f(x, n):
        if x.sum() > 3:
            x = x * 2
        i = 0
        while i < n:
            x = x + 1
            i = i + 1
        return x

    def seen(v, n):
        before = f.stats()["verified"]
        f(janus.ones(3) * v, n)
        return f.stats()["verified"] - before

    f(janus.ones(3), 3), f(janus.ones(3), 4)  # converted, and again for any n
    assert [seen(1, 5), seen(1, 6)] == [1, 0]
    assert [seen(2, 5), seen(2, 7), seen(1, 4)] == [1, 0, 0]  # the arm
    assert [seen(2, 1), seen(1, 1)] == [1, 0]  # one round
    assert [seen(1, 0), seen(2, 0)] == [1, 0]  # none
    assert f.stats()["disproved"] == 0 and f.stats()["imperative"] == 2


def test_callees_are_compared_when_they_are_first_entered():
    class Node:
        def __init__(self, value, *children):
            self.value, self.children = value, children

    @janus.function(verify="rarely", measure=False)
    def f(node, x):
        if not node.children:
            return x * node.value
        total = x
        for c in node.children:
            total = total + f(c, x)
        return total

    x = janus.ones(2)
    trees = [Node(1.0, Node(2.0), Node(3.0)), Node(4.0), Node(1.0, Node(5.0), Node(1.0, Node(2.0), Node(4.0)))]
    for _ in range(3):
        for tree in trees:
            f(tree, x)
    s = f.stats()
    assert s["verified"] >= 1 and s["disproved"] == 0 and s["graph"] > s["verified"]


@pytest.mark.parametrize("get", [
    lambda x: x.add, lambda x: x.__add__, lambda x: (x * 2).sum, lambda x: (x * 2).__mul__, lambda x: [x].append,
    lambda x: "text".upper, lambda x: (3).__add__], ids=str)
def test_methods_that_are_returned(get):
    """Bound to what they were read from: that of this call, made by it or not."""
    for verify in "always", "never":
        f = janus.function(get, verify=verify)
        for i in range(5):
            x = janus.ones(2) * i
            got, want = f(x), get(x)
            assert type(got) is type(want) and got.__name__ == want.__name__
            assert got.__self__ is x or not isinstance(got.__self__, janus.Tensor) or got.__self__.tolist() == [2 * i] * 2


def test_methods_of_arguments_are_compared_by_what_they_are_bound_to():
    f = janus.function(lambda m, x: (m, x * 2), verify="always")
    x = janus.ones(2)
    for _ in range(4):
        assert f(x.__add__, x)[0] == x.__add__ and f([1].append, x)[0].__self__ == [1]
    assert f.stats()["disproved"] == 0


class Key:
    def __init__(self, name):
        self.name = name


KEYS = {"tuple": "(a, b)", "nested": "(a, (b, 1.5))", "float": "n / 4", "nan": "n * float('nan')", "int": "n * 2 ** 40", "text": "a + b", "object": "Key(a)", "tuple of one": "(Key(a),)",
        "none": "(None, n)", "given": "a"}
PUTS = {"item": "d[k] = n", "twice": "d[k] = n\n    d[n] = k", "setdefault": "d.setdefault(k, x)", "update": "d.update({k: 1})", "kept": "d[k] = n\n    box.key = k", "list": "d[k] = [k]",
        "in a dict": "d['in'] = {k: n}", "in a set": "box.all = {k}"}


@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize("key", KEYS)
def test_keys_that_are_made_inside(key, put):
    """Both runs make such a key anew: that is no difference."""
    f = names_of(f"def f(d, box, a, b, n, x):\n    k = {KEYS[key]}\n    {PUTS[put]}\n    return x + 1\n", Key=Key)["f"]
    g = janus.function(f, verify="always", measure=False)
    for n in range(8):
        d, box = {}, Key("")
        g(d, box, "left" + str(n % 2), "right", n % 3, janus.ones(2))
        kept = next(iter(d), None)
        assert put not in ("kept", "twice") or kept is (box.key if put == "kept" else d[n % 3])
    assert not g.stats()["disproved"], str(janus.explain(g))


def copied(items, out):
    for i, item in enumerate(items):
        out[i] = {k: v for k, v in item.items()}


def stored(items, out):
    for i, item in enumerate(items):
        out[i] = new = {}
        for k in item:
            new[k] = item[k]


def listed(items, out):
    for i, item in enumerate(items):
        out[i] = [(k, v) for k, v in item.items()]


@pytest.mark.parametrize("program", [copied, stored, listed])
@pytest.mark.parametrize("make", [lambda: tuple(["a", 1]), lambda: (("a",), tuple([2.5, None])), lambda: "".join("ab"),
                                  lambda: 10 ** 30, lambda: frozenset([1, 2]), lambda: (-0.0, True, b"x")])
def test_equal_values_are_no_difference(program, make):
    """Keys that are one object when the graph is made, and equal ones of each dict's own later."""
    f = janus.function(program, verify="always", measure=False)
    one = make()
    for own in (False, False, False, True, True, True):
        items, out, want = [{make() if own else one: n} for n in (1, 2, 3)], {}, {}
        f(items, out)
        program(items, want)
        assert repr(out) == repr(want)
    assert f.stats()["disproved"] == 0 and f.stats()["graph"] >= 4, janus.explain(f)


DICTS = """
import collections
class Listed(dict):
    asked = []
    def __iter__(self):
        self.asked.append("iter")
        return iter(sorted(super().__iter__(), reverse=True))
    def keys(self):
        self.asked.append("keys")
        return sorted(super().keys(), reverse=True)
    def __getitem__(self, key):
        self.asked.append(key)
        return super().__getitem__(key)
made = {make}
if moved: made.move_to_end("a")
def f(x):
    {put}
    return x * 2 + 1, made
"""


@pytest.mark.parametrize("put", ["pass", "made['c'] = x", "got = made.get('b')", "made.last = x"])
@pytest.mark.parametrize("make, moved", [("collections.OrderedDict(a=1, b=2)", True), ("collections.OrderedDict(a=1, b=2)", False), ("Listed(a=1, b=2)", False)])
def test_dicts_that_go_through_their_items_otherwise(make, moved, put):
    seen = []
    for options in (None, {"verify": "always", "measure": False}, {"measure": False}):
        names = names_of(DICTS.format(make=make, put=put), moved=moved)
        f = janus.function(names["f"], **options) if options else names["f"]
        for i in range(4):
            f(janus.ones(2) * i)
        asked = list(names["Listed"].asked)  # by f alone
        seen.append((asked, [(k, str(v)) for k, v in dict.items(names["made"])], list(names["made"])))
        assert not options or not f.stats()["disproved"]
    assert seen[0] == seen[1] == seen[2]


class Counted(collections.defaultdict):
    pass


WRITES = ["o.default_factory = v", "o.default_factory = 3\n    o.default_factory = v", "r = o.default_factory", "o.default_factory = v\n    r = o.default_factory is v, o['a']",
          "o.default_factory = None", "del o.default_factory", "o.name = v\n    o.default_factory = v", "o['b'] = x\n    o.default_factory = v"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("made", ["collections.defaultdict", "collections.defaultdict, int", "Counted", "Counted, int"])
def test_places_that_a_type_of_c_has(made, write):
    make, *factory = made.split(", ")
    program = names_of(f"def f(o, v, x):\n    r = 0\n    x = x + 1\n    {write}\n    return r, x\n")
    f = janus.function(program["f"], verify="always", measure=False)
    outcomes = []
    for way in program["f"], f:
        seen = []
        for _ in range(5):
            o = {"Counted": Counted}.get(make, collections.defaultdict)(*(int for _ in factory))
            try:
                r, x = way(o, list, janus.ones(2))
                seen.append((r, x.tolist()))
            except Exception as e:
                seen.append((type(e), str(e)))
            seen.append((repr(o), o.default_factory, vars(o) if make == "Counted" else None))
        outcomes.append(repr(seen))
    assert outcomes[0] == outcomes[1]
    assert f.stats()["disproved"] == 0
    assert f.stats()["graph"] > 0 or "del" in write or "None" in write or "name" in write
