# SPDX-License-Identifier: Apache-2.0
"""Who takes items does something with each before the next is made, or taken, and stops where CPython does: what comparisons, truths and
additions of the program's classes write is seen by the items behind, and by nobody where they are not made."""
import functools
import itertools

import pytest

import janus
from texts import names_of

CLASSES = """
class N:
    def __init__(self, v, o):
        self.v, self.o = v, o

    def __lt__(self, other):
        self.o.n += 1
        return self.v < other.v

    def __gt__(self, other):
        self.o.n += 1
        return self.v > other.v

    def __bool__(self):
        self.o.n += 1
        return bool(self.v > 1.5)

    def __radd__(self, other):
        self.o.n += 1
        return other + self.v

    def __eq__(self, other):
        self.o.n += 1
        return bool(self.v > 2.5)

    def __hash__(self):
        self.o.n += 1
        return 7

class It:
    def __init__(self, o, f):
        self.o, self.f = o, f

    def __iter__(self):
        for k in range(4):
            yield self.f(k, self.o)

def gen(o, f):
    for k in range(4):
        yield f(k, o)

def key(v, o):
    o.n += 1
    return v.v if isinstance(v, N) else v

def bump(o, k):
    o.n += k
    if len(o.l) < 12:
        o.l.append(k)
    return o.n * 0.5
"""
ITEMS = {"an instance that reads": "N(k + o.n * 0.25, o)", "an instance": "N(k * 0.5 + s, o)", "a number": "s * k + o.n", "a tensor": "(x * k + o.n).sum()",
         "a constant": "k + o.n", "an effect": "bump(o, k)", "an object": "o.same[k]"}
SOURCES = {"expression": "(f(k, o) for k in range(4))", "condition": "(f(k, o) for k in range(4) if k + o.n > 1)", "generator": "gen(o, f)",
           "map": "map(lambda k: f(k, o), range(4))", "iterable": "It(o, f)", "list": "[f(k, o) for k in range(4)]", "list of o": "o.l",
           "tuple": "tuple([f(k, o) for k in range(4)])", "chain": "itertools.chain(gen(o, f), gen(o, f))", "values": "o.d.values()",
           "zip": "(a for a, b in zip(gen(o, f), range(3)))", "enumerate": "(a for i, a in enumerate(o.l))"}
TAKERS = {"min": "r = min(S)", "max": "r = max(S)", "any": "r = any(S)", "all": "r = all(S)", "any not": "r = any(not v for v in S)", "any behind": "r = any([s > 0, *S])",
          "sum": "r = sum(S, s)", "in": "r = want in S", "min by key": "r = min(S, key=lambda v: key(v, o))", "max by key": "r = max(S, key=lambda v: key(v, o))",
          "max of pairs": "r = max(enumerate(S), key=lambda p: key(p[1], o))[1]", "reduce": "r = functools.reduce(lambda a, b: a if a < b else b, S)",
          "equal": "r = list(S) == list(S)", "unequal tuples": "r = (s, *S) != (*S, s)", "count": "r = list(S).count(want)", "remove": "q = list(S)\n    q.remove(want)\n    r = len(q)",
          "extend": "q = [s]\n    q.extend(S)\n    r = q", "update": "q = {0: s}\n    q.update((len(q), v) for v in S)\n    r = list(q.values())", "next": "r = next(v for v in S if v)"}
PROGRAM = CLASSES + """
def g(x, o, s):
    f = lambda k, o: {item}
    want = N(s, o)
    {taker}
    return r, o.n, len(o.l)

def f(x, o):
    return g(x, o, x.sum().item())
"""


class Holder:
    pass


def shown(v):
    if isinstance(v, janus.Tensor):
        return "tensor", v.tolist()
    if isinstance(v, (list, tuple)):
        return [shown(x) for x in v]
    if isinstance(v, dict):
        return [(k, shown(x)) for k, x in v.items()]
    return ("N", shown(v.v)) if type(v).__name__ == "N" else v


def outcome(names, f, seed):
    o, new = Holder(), names["N"]
    o.n, o.same = 0, [new(float(i * (seed % 3)), o) for i in range(4)]
    o.l, o.d = [new(float(i), o) for i in range(3)], {0: new(1.0, o), 5: new(2.0, o)}
    try:
        r = shown(f(janus.tensor([0.3, 0.2 * seed, -0.1 * seed]), o))
    except (ValueError, StopIteration, TypeError) as e:
        r = type(e).__name__
    return repr((r, o.n, shown(o.l), shown(o.d)))


def differences(text, calls=4):
    names = names_of(text, janus=janus, itertools=itertools, functools=functools)
    f = janus.function(names["f"], verify="never", measure=False)
    seen = [(outcome(names, names["f"], seed), outcome(names, f, seed)) for seed in range(calls)]
    return [pair for pair in seen if pair[0] != pair[1]], f.stats()["graph"] > 0


@pytest.mark.parametrize("taker", TAKERS)
def test_effects_between_items(taker):
    wrong, graphs = [], 0
    for (i, item), (s, source) in itertools.product(ITEMS.items(), SOURCES.items()):
        if taker == "extend" and i == "an effect" and s == "enumerate":
            continue  # it has no end
        differ, graph = differences(PROGRAM.format(item=item, taker=TAKERS[taker].replace("S", source)))
        graphs += graph
        wrong += [(i, s, d) for d in differ[:1]]
    assert not wrong, f"{len(wrong)}: {wrong[:2]}"
    assert graphs or taker in ("count", "remove", "max of pairs", "min by key", "max by key"), taker


OWN = {"x * len(q)": "a length", "at(q) * 2": "an item", "sum(values(q)) * 0.5": "a sum", "grown(q, x)": "written"}
MADE = {"list": ("[x]", "q.extend({})"), "operator": ("[x]", "q += {}"), "dict": ("{0: x}", "q.update((k + 1, v) for k, v in enumerate({}))"),
        "dict operator": ("{0: x}", "q |= ((k + 1, v) for k, v in enumerate({}))"), "list of o": ("o.l", "q.extend({})"), "slice": ("[x]", "q[1:] = {}")}
FEEDS = {"expression": "({} for k in range(3))", "map": "map(lambda k: {}, range(3))", "condition": "({} for k in range(5) if len(q) + k != 2)",
         "items of it": "({} for k in list(q) * 2)", "list": "[{} for k in range(3)]"}
OWN_PROGRAM = """
class N:
    def __init__(self, v, o):
        self.v = v

def at(q):
    return q[len(q) - 1 if isinstance(q, list) else 0]

def values(q):
    return list(q) if isinstance(q, list) else list(q.values())

def grown(q, x):
    if isinstance(q, list):
        q.append(x + 1)
    else:
        q["more"] = x + len(q)
    return x * 3

def f(x, o):
    o.l = [x * 0.5]
    q = {start}
    {put}
    return values(q), len(q), list(q) if isinstance(q, dict) else None
"""


@pytest.mark.parametrize("made", MADE)
def test_items_read_what_they_are_put_in(made):
    start, put = MADE[made]
    wrong, graphs = [], 0
    for item, feed in itertools.product(OWN, FEEDS):
        text = OWN_PROGRAM.format(start=start, put=put.format(FEEDS[feed].format(item)))
        differ, graph = differences(text)
        graphs += graph
        wrong += [(OWN[item], feed, d) for d in differ[:1]]
    assert not wrong, f"{len(wrong)}: {wrong[:2]}"
    assert graphs, made


TRUTHS = ("True", "False", "1", "0", "'yes'", "''", "[]", "[0]", "None", "NotImplemented", "x", "0.0")


@pytest.mark.parametrize("truth", TRUTHS)
def test_equal_is_what_is_true(truth):
    """What `__eq__` gives is asked for its truth where items are compared, after whether they are one; tuples are compared before their lengths."""
    text = f"""
class N:
    def __init__(self, v, o):
        self.v, self.o = v, o

    def __eq__(self, other):
        self.o.n += 1
        return {truth if truth != "x" else "self.v"}

def f(x, o):
    a, b, nan = N(x.sum(), o), N(1.0, o), float("nan")
    r = [[a] == [b], [a] != [b], (a,) == (b,), [a] == [a], (a, b) == (a,), [a, b] == [a], a in [b], b in (a, b), [nan] == [nan], (nan,) == (float("nan"),)]
    return r + [[1, 2, 3].count(a), [1, 2].index(a) if [1] == [a] else 0, x.sum().item()]
"""
    differ, graph = differences(text)
    assert not differ, differ
