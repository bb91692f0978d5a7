# SPDX-License-Identifier: Apache-2.0
"""Mistakes made in graphs on purpose (CPPFLAGS=-DJANUS_MUTATIONS): each is found, and none commits.

Every program runs under every mistake.  What it observes must be what the undecorated program observes, whether it
shows the mistake or not; and each mistake must be disproved in one of them.
"""
import ast
import io
import pathlib
import sys
import time
import types
import warnings
from collections import namedtuple

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff import harness  # noqa: E402
from diff.harness import t  # noqa: E402

if not hasattr(janus._C, "_mutations"):
    pytest.skip("built without -DJANUS_MUTATIONS", allow_module_level=True)

NAMES = janus._C._mutations()[0]
EARLY = [n for n, name in enumerate(NAMES) if not name.startswith("values: ")]
Pair = namedtuple("Pair", "first second")


class Thing:
    def __init__(self, n=0):
        self.n = n
        self.first = "first"


def attributes(function, log):
    @function
    def f(x, o):
        o.n = o.n + 1
        o.last = x * 2
        return x - 1

    o = Thing()
    for i in range(8):
        log(f(t(3, seed=i), o), o)


def deletions(function, log):
    @function
    def f(x, o):
        if hasattr(o, "gone"):
            del o.gone
        return x * 2

    for i in range(8):
        o = Thing()
        o.gone = 1
        log(f(t(3, seed=i), o), o)


def lists(function, log):
    @function
    def f(x, items):
        items.append(x * 3)
        items[0] = 7
        return [items, x + 1], [x + 2, 5]

    for i in range(8):
        items = [0, 1]
        log(f(t(2, seed=i), items), items)


def dicts(function, log):
    @function
    def f(x, table, other):
        table["b"] = x + 1
        table["a"] = x - 1
        other.pop("k")
        return {"y": x, "z": x * 2, "n": 3}

    for i in range(8):
        table, other = {}, {"k": 1, "l": 2}
        log(f(t(2, seed=i), table, other), table, other)


def identities(function, log):
    @function
    def f(x, o):
        new, apart = [x * 2], [x * 2]
        return new, new, [apart, Thing(4)], o, (Pair(x + 1, x + 2),)

    def both(x, o):
        return [x], [x]

    g = function(both)
    o = Thing()
    for i in range(8):
        log(f(t(2, seed=i), o), o)
        log(g(t(2, seed=i), o))


def tensors(function, log):
    @function
    def f(x, w):
        y = x + 1
        v = y[1:]
        x.mul_(2)
        return y, v, (w * x).sum()

    for i in range(8):
        x, w = t(3, seed=i) + 0, t(3, seed=9, grad=True)
        out = f(x, w)
        log(out, x)
        out[1].fill_(4.0)
        log(out, janus.autograd.grad(out[2], w)[0])


def moved(function, log):
    """A tensor whose data is set gets other memory; what else is in the old memory stays what it was."""
    @function
    def f(p, q):
        p.data = p.data * 0.5 + q.data
        return (p * 2).detach()

    p, q = t(3, seed=3, grad=True), t(3, seed=4)
    for _ in range(8):
        old = p.detach()
        log(f(p, q), p, old)


def histories(function, log):
    """Gradients that are asked for outside, of both results, and of the first alone."""
    @function
    def f(x, u, w):
        h = (u - w * x).exp()
        return h * w - u * u, -(h - w).tanh()

    for i in range(8):
        x, u, w = t(3, seed=i), t(3, seed=i + 1, grad=True), t(3, seed=i + 2, grad=True)
        y, z = f(x, u, w)
        if i % 3:
            log(y, z, janus.autograd.grad(y.sum(), (u, w)))
        else:
            log(y, z, janus.autograd.grad((y * z).sum(), (u, w)))


def training(function, log):
    w = t(3, seed=2, grad=True)

    @function
    def step(x):
        w.grad = None
        loss = (w * x - 1).square().mean()
        loss.backward()
        return loss.detach()

    for i in range(8):
        log(step(t(3, seed=i)), w.grad)


total = 0


def variables(function, log):
    global total
    total = 0

    @function
    def f(x, n):
        global total
        total = total + n
        return x * n

    for n in (2, 3, 2, 4, 5, 6, 7):
        log(f(t(2), n), total)


def arms(function, log, calls=10):
    @function
    def f(x):
        y, mode = x, 1
        if x.sum() > 0.5:
            y = janus.maximum(x * 2, x + 0.25)
            mode = 2
        return y - x, mode * 3 + 1

    for i in range(calls):
        log(f(t(3, seed=i)))


def masked(function, log):
    """In some calls of the arm its maximum hides what is wrong: also in the first of the graph that rounds as CPython does."""
    arms(function, log, 40)


def rounds(function, log):
    @function
    def f(x, n):
        i, total = 0, 1
        while i < n:
            x = x + 0.5
            total = total * 2 + i
            i = i + 1
        return x, total

    for n in (3, 4, 5, 0, 1, 6, 7, 8, 9):
        log(f(t(2), n))


def items(function, log):
    @function
    def f(things, x):
        for o in things:
            x = x * 0.5 + o.n
        return x

    for n in (3, 4, 5, 6, 7, 8, 9):
        log(f([Thing(i) for i in range(n)], t(2)))


class Node:
    def __init__(self, *children):
        self.children, self.n = list(children), 0


def recursion(function, log):
    def visit(node, x):
        for c in node.children:
            x = visit(c, x) + 1
        node.n = node.n + 1
        return x * 0.5

    f = function(lambda node, x: visit(node, x))
    for i in range(5):
        tree = Node(Node(), Node(Node(), Node()), *[Node() for _ in range(i)])
        log(f(tree, t(2, seed=i)), tree)


def guarded(function, log):
    """What a guard would have told apart: the second call is already another one."""
    f = function(lambda x, n, items: (x * n, len(items)))
    for n, items in ((2, [1]), (3, [1]), (3, [1, 2]), (4, [1, 2, 3]), (4, [1, 2, 3]), (3, [1, 2])):
        log(f(t(2), n, items))


def functions(function, log):
    f = function(lambda x, g: g(x))
    one, two = lambda x: x + 1, lambda x: x * 2
    for g in (one, two, one, two, one, two):
        log(f(t(2), g))


def same_or_not(function, log):
    @function
    def f(a, b):
        return 1 if a is b else 2

    one, two = [1], [1]
    for a, b in ((one, two), (one, one), (two, two), (two, one), (one, one), (two, one)):
        log(f(a, b))


def late(function, log):
    """An arm that is first taken when the graph was hit 500 times."""
    @function
    def f(x, w, n):
        y, k = x, n
        if x.sum() > 50:
            y = (janus.maximum(x * w, x + w) / 100).tanh() - w.exp()
            k = (n + 7) * n - 5
            print("far", n)
        return y, k

    w = t(3, seed=5) * 1.5  # some more than 1, some less: either operand of the maximum shows
    for i in range(520):
        far = i > 505 and i % 2
        y, k = f(t(3, seed=i % 7) + (100.0 if far else 0.0), w, i + 3)
        if i < 5 or i > 500:
            log(y, k)


def prints(function, log):
    @function
    def f(x, n):
        print("n:", n, end=", ")
        print("twice:", n * 2)
        if x.sum() > 0:
            print("positive", end="; ")
        return x

    for i in range(9):
        log(f(t(3, seed=i) + (5 if i % 2 else -5), i))


def prints_to_files(function, log):
    first, second = io.StringIO(), io.StringIO()

    @function
    def f(x, n):
        print("a", n, file=first)
        print(n)
        print("b", n, file=second)
        print(n, end="|", file=first)
        return x + 1

    for i in range(8):
        log(f(t(2), i), first.getvalue(), second.getvalue())


PROGRAMS = [attributes, deletions, lists, dicts, identities, tensors, moved, histories, training, variables, arms, masked, rounds,
            items, recursion, guarded, functions, same_or_not, late, prints, prints_to_files]
# A guard that is missing shows when its value changes; where that is after the first hit has agreed, nothing compares.
LATER = {"values are not guarded": {"attributes", "variables"}, "lengths are not guarded": {"lists", "same_or_not"}}


@pytest.mark.parametrize("prog", PROGRAMS, ids=lambda p: p.__name__)
def test_without_a_mistake(prog, monkeypatch):
    monkeypatch.delenv("JANUS_MUTATE", raising=False)
    recorder = harness.Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("error", janus.SpeculationWarning)
        harness.compare(prog.__name__, harness.run(prog, lambda f: f), harness.run(prog, recorder), False)
    assert recorder.total("graph"), "\n".join(janus.explain(f) for f in recorder.made)


def test_late_is_late(monkeypatch):
    """The arm is in the graph that answered 500 calls before."""
    monkeypatch.delenv("JANUS_MUTATE", raising=False)
    recorder, hits = harness.Recorder(), []
    late(recorder, lambda *_: hits.append((recorder.total("graph"), recorder.total("conversions"))))
    assert hits[5][0] >= 490 and hits[5][1] == hits[-1][1] and hits[-1][0] > 505, hits


def test_there_are_many():
    assert len(NAMES) >= 54 and sum(name.startswith("late: ") for name in NAMES) >= 10


@pytest.mark.parametrize("n", EARLY, ids=lambda n: NAMES[n])
@pytest.mark.filterwarnings("ignore::janus.SpeculationWarning")
def test_is_found_and_never_used(n, monkeypatch):
    monkeypatch.setenv("JANUS_VERIFY", "rarely")
    found, made = [], []
    for prog in PROGRAMS:
        want = harness.run(prog, lambda f: f)
        before = janus._C._mutations()[1]
        monkeypatch.setenv("JANUS_MUTATE", str(n))
        recorder = harness.Recorder()
        got = harness.run(prog, recorder)
        monkeypatch.delenv("JANUS_MUTATE")
        if janus._C._mutations()[1] > before:
            made.append(prog.__name__)
        if recorder.total("disproved"):
            found.append(prog.__name__)
        if prog.__name__ not in LATER.get(NAMES[n], ()):
            harness.compare(f"{NAMES[n]}: {prog.__name__}", want, got, False)
    assert found, f"{NAMES[n]}: made in {made}, shown by none"


# ---- mistakes that show for some values only: what is wrong was compared, found right, and used 500 times

def with_flag(x, o):
    o.flag = 1
    return x + 1


def set_flag(o, value):
    o.flag = value
    return o


def by_rounds(x, n):
    return x * 2 if n < 600 else x * 3


def at_least(x):
    return x + 1 if x.sum() >= 6 else x - 1


TWO, ONE, THING = t(2, seed=1) + 2, t(2, seed=1) + 1, Thing()
SHOW_LATER = {  # mistake: (function, arguments of call i, arguments of later ones)
    "a maximum is the first": (lambda x, y: janus.maximum(x, y) + 1, lambda i: (TWO, ONE), lambda i: (ONE, TWO)),
    "a minimum is the first": (lambda x, y: janus.minimum(x, y) + 1, lambda i: (ONE, TWO), lambda i: (TWO, ONE)),
    "less is not more": (by_rounds, lambda i: (TWO, i + 3 if i % 2 else 700 + i), lambda i: (TWO, 600)),
    "at least is more": (at_least, lambda i: (janus.ones(3) * (1 + i % 2 * 4),), lambda i: (janus.ones(3) * 2,)),
    "an attribute stays": (with_flag, lambda i: (TWO, set_flag(THING, 1)), lambda i: (TWO, set_flag(THING, 0))),
    "they are not guarded": (lambda x, n: (x + 1, n * 2), lambda i: (TWO, 2), lambda i: (TWO, 3)),
    "lengths are not guarded": (lambda x, items: (x + 1, len(items)), lambda i: (TWO, [1]), lambda i: (TWO, [1, 2])),
}


def test_each_that_shows_later_has_a_program():
    assert {f"values: {name}" for name in SHOW_LATER} == {NAMES[n] for n in range(len(NAMES)) if n not in EARLY}


@pytest.mark.parametrize("name", SHOW_LATER)
@pytest.mark.filterwarnings("ignore::janus.SpeculationWarning")
def test_what_shows_later_is_found(name, monkeypatch):
    """Such a graph is used until a shadow is due, which is before it has run twice as often as it was right, or when
    there has been time for one; it is never used after that."""
    f, early, after = SHOW_LATER[name]

    def seen(function, args):
        got = function(*args)
        x, *more = got if isinstance(got, tuple) else (got,)
        return x.tolist(), more, THING.flag

    def wrong(args):
        return seen(g, args) != seen(f, args)

    THING.flag = 1
    monkeypatch.setenv("JANUS_MUTATE", str(NAMES.index(f"values: {name}")))
    g = janus.function(f, verify="rarely", measure=False)
    assert not any(wrong(early(i)) for i in range(520))
    assert g.stats()["graph"] > 500 and not g.stats()["disproved"]
    used = 0
    for i in range(4000000):  # a shadow that was interrupted counts as a dear one, and the next is due late
        used += wrong(after(i))
        if g.stats()["disproved"]:
            break
    stats = g.stats()
    assert stats["disproved"] == 1 and used, (used, stats)
    assert not any(wrong(after(i)) for i in range(50))


@pytest.mark.filterwarnings("ignore::janus.SpeculationWarning")
def test_a_disproved_graph_is_not_made_again(monkeypatch):
    """Nor another one of the same code; a function that is given other code gets graphs again."""
    monkeypatch.setenv("JANUS_MUTATE", str(NAMES.index("add subtracts")))
    f = janus.function(lambda x: x + 1, verify="rarely")

    def calls(k):
        for i in range(k):
            assert f(janus.ones(2) * i).tolist() == [i + 1.0] * 2

    calls(3000)
    for n in range(1, 40):
        f(janus.ones(n))
    stats = f.stats()
    assert (stats["disproved"], stats["conversions"], stats["graph"]) == (1, 2, 0), stats  # the second is exact
    monkeypatch.delenv("JANUS_MUTATE")
    f.__wrapped__.__code__ = (lambda x: 1 + x).__code__
    calls(10)
    assert f.stats()["graph"] > 0


# A region's first hit comes a call later, with other values: a graph that begins at 1 makes no round for 0, nor for 1.
# As LATER, in a region of a loop's body: code of which a graph was disproved before (one mistake after another is put into the same
# functions) gets regions in its statements, whose body is made a graph of in the one round of the call with n = 1 and is compared in the
# first round of the next call (n = 6).  Both are the first of their loops, so i and total are the same and nothing differs; the guards
# that lack them let the second round in.  No part of that graph ran before it was compared.
LATER_IN_REGIONS = {"an int is one more": {"rounds"}, "values are not guarded": {"rounds"}}

# ---- regions of statements: a clock is read before the first statement of each decorated function


class Clocks(ast.NodeTransformer):
    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if any(isinstance(d, ast.Name) and d.id == "function" for d in node.decorator_list):
            at = sum(isinstance(s, (ast.Global, ast.Nonlocal)) for s in node.body)
            clock = ast.parse("_clock()").body[0]
            node.body.insert(at, ast.fix_missing_locations(ast.copy_location(clock, node.body[0])))
        return node


def with_clocks(folder):
    file = folder / "programs_with_clocks.py"
    file.write_text(ast.unparse(Clocks().visit(ast.parse(pathlib.Path(__file__).read_text()))))
    module = types.ModuleType("test_mutations_with_clocks")
    module.__dict__.update(__file__=__file__, _clock=time.perf_counter)
    sys.modules[module.__name__] = module
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    # the first call of an arm that a region compares is one in which the mistake of `masked` is hidden
    return [(getattr(module, p.__name__), p) for p in PROGRAMS if p is not masked]


@pytest.mark.filterwarnings("ignore::janus.SpeculationWarning")
def test_of_regions_none_is_used(tmp_path, monkeypatch):
    programs, found = with_clocks(tmp_path), set()
    hits, differs = 0, []
    for n in [None, *EARLY]:
        for prog, source in programs:
            want = harness.run(prog, lambda f: f)
            if n is not None:
                monkeypatch.setenv("JANUS_MUTATE", str(n))
            recorder = harness.Recorder(regions=True, verify="rarely")
            got = harness.run(prog, recorder)
            monkeypatch.delenv("JANUS_MUTATE", raising=False)
            hits += recorder.total("region_hits")
            if n is None:
                assert not recorder.total("disproved"), source.__name__
            elif recorder.total("disproved"):
                found.add(n)
            if n is None or source.__name__ not in LATER.get(NAMES[n], set()) | LATER_IN_REGIONS.get(NAMES[n], set()):
                shown = (None if n is None else NAMES[n], source.__name__)
                try:
                    harness.compare("", want, got, False)
                except AssertionError:
                    differs.append(shown)
    assert not differs
    assert hits and len(found) >= len(EARLY) - 6, [NAMES[n] for n in EARLY if n not in found]
