# SPDX-License-Identifier: Apache-2.0
"""`itertools` and iterators that never end: what they give, what they take of others and when, alone and in each other."""
import pytest

import janus
import shares
from alike import alike
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import itertools, operator
class Node:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def scale(self, x, by=1.0): return x * by * self.v
class Odd:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 2
        return self.n
class Ends(Odd):
    def __next__(self):
        if self.n > 2: raise StopIteration
        return super().__next__()
tree = Node(1, Node(2), Node(3, Node(4), Node(5)))
log = []
def told(v):
    log.append(v)
    return v
def flat(v):
    return [flat(w) for w in v] if isinstance(v, (list, tuple)) else v
def arguments(k):
    return janus.ones(2) * k, 2 + k % 3, [janus.ones(2) * (j + k) for j in range(3)]
def f(x, n, xs):
    s = x
    {body}
"""
# What is gone through, and whether it ends.
MADE = {
    "count": ("itertools.count()", False), "count from": ("itertools.count(n, 2)", False), "floats": ("itertools.count(0.5, 0.25)", False), "cycle": ("itertools.cycle([1, 2, 3])", False), "of tensors": ("itertools.cycle(xs)", False),
    "of an iterator": ("itertools.cycle(iter([1, n]))", False), "repeat": ("itertools.repeat(x)", False), "repeated": ("itertools.repeat(2, n)", True), "own": ("Odd()", False), "own that ends": ("Ends()", True),
    "takewhile": ("itertools.takewhile(lambda v: v < 4, itertools.count())", True), "dropwhile": ("itertools.dropwhile(lambda v: v < 3, [1, 2, 3, n, 1])", True), "compress": ("itertools.compress(xs, itertools.cycle([1, 0]))", True),
    "longest": ("itertools.zip_longest(xs, [1, 2, 3, 4], iter([n]), fillvalue=0)", True), "groups": ("((k, list(g)) for k, g in itertools.groupby([1, 1, n, 2, 1]))", True), "islice": ("itertools.islice(itertools.count(), 1, 9, n)", True),
    "zip": ("zip(xs, itertools.count())", True), "zip before": ("zip(itertools.count(), xs)", True), "map": ("map(operator.mul, xs, itertools.repeat(3))", True), "enumerate": ("enumerate(itertools.cycle('ab'), 5)", False), "chained": ("itertools.chain([0, n], itertools.count())", False),
    "starmap": ("itertools.starmap(pow, zip(range(3), itertools.repeat(2)))", True), "accumulate": ("itertools.accumulate([1, n, 3], initial=5)", True), "generator": ("(v * 2 for v in itertools.count(1))", False), "pairwise": ("itertools.pairwise(itertools.takewhile(lambda v: v < n + 2, itertools.count()))", True),
}
WAYS = ["it = {made}\n    return [next(it), next(it)], s", "r = []\n    for v in {made}:\n        r.append(v)\n        if len(r) == 3: break\n    return r, s", "it = {made}\n    a = list(itertools.islice(it, 2))\n    return a, next(it, None), s", "return list(zip([1, 2], {made})), s",
        "it = {made}\n    return list(zip([1, 2], it)), next(it, None), s", "it = {made}\n    return list(zip(it, [1, 2])), next(it, None), s", "return [told(v) for v, _ in zip({made}, 'abc')], s", "return list(itertools.zip_longest({made}, [1], fillvalue=x)) if {ends} else s",
        "return list({made}) if {ends} else s", "it = {made}\n    for v in zip(it, it):\n        break\n    return v, next(it, None), s", "r = 0\n    for v in {made}:\n        s = s * 2 + 1\n        r += 1\n        if s.sum().item() > 50: break\n    return s, r",
        "it = iter({made})\n    return it is iter(it), next(it, None), s", "def go(t, it):\n        return [next(it, None), *[go(k, it) for k in t.kids]]\n    return go(tree, {made}), s"]


@pytest.mark.parametrize("name", MADE)
def test_what_is_given_and_taken(name):
    made, ends = MADE[name]
    graphs = 0
    for way in shares.share(WAYS):
        graphs += alike(TEXT.replace("{body}", way).replace("{made}", made).replace("{ends}", str(ends)), watched=["log"])[0]
    assert graphs or shares.LIGHT or name in ("own that ends", "groups", "pairwise")  # the graph knows n


PLAIN = [
    "for i, v in zip(itertools.count(), xs): s = s + v * i\n    return s", "for i in itertools.count(1):\n        if i > 4: break\n        s = s + i\n    return s", "c = itertools.count()\n    a = next(c); b = next(c)\n    return x * a + b, next(c)", "ids = itertools.count(10)\n    return [(next(ids), v * 2) for v in xs]",
    "for v, i in zip(xs, itertools.count(n, 2)): s = s + v * i\n    return s", "for i in itertools.count():\n        s = s * 2 + 1\n        if s.sum().item() > 100: break\n    return s, i", "counter = itertools.count()\n    def go(t):\n        number = next(counter)\n        return sum([go(k) for k in t.kids], x * number)\n    return go(tree)",
    "for v, w in zip(xs, itertools.cycle([1.0, 2.0])): s = s + v * w\n    return s", "c = itertools.cycle(['a', 'b'])\n    for i in range(5): s = s * (2 if next(c) == 'a' else 3)\n    return s", "return [v * w for v, w in zip(xs, itertools.cycle((x, -x)))]", "return sum(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])) * x",
    "for v in itertools.takewhile(lambda v: v is not None, [x, x * 2, None, x]): s = s + v\n    return s", "it = iter([1, 2, 5, 3, 4])\n    a = list(itertools.takewhile(lambda v: v < 4, it))\n    return a, list(it), x + 1", "return [v * x for v in itertools.dropwhile(lambda k: k < n, range(5))]",
    "for a, b in itertools.zip_longest([1, 2, 3], [4, 5], fillvalue=0): s = s + a * b\n    return s", "return [a if b is None else a + b for a, b in itertools.zip_longest(xs, xs[:1])]", "return [list(p) for p in itertools.zip_longest(*[iter([x, x * 2, x * 3])] * 2)]", "return [(k, sum(g) * x) for k, g in itertools.groupby([1, 1, 2, 2, 1])]",
    "r = {}\n    for k, g in itertools.groupby(sorted(['aa', 'b', 'cc', 'd'], key=len), key=len): r[k] = [x * len(w) for w in g]\n    return r", "return {k: sum(v for _, v in g) for k, g in itertools.groupby([('a', x), ('a', x * 2), ('b', x)], key=operator.itemgetter(0))}",
    "for v, w in zip(xs, itertools.repeat(2.0)): s = s + v * w\n    return s", "return list(map(operator.mul, xs, itertools.repeat(3)))", "for _ in itertools.repeat(None):\n        s = s + 1\n        if s.sum().item() > 20: break\n    return s", "return list(itertools.compress(xs, [1, 0, 1, 1]))",
    "return list(itertools.accumulate(xs, lambda a, b: a * 0.9 + b, initial=x))", "return operator.methodcaller('sum')(x)", "return list(map(operator.methodcaller('mul', 2.0), xs))", "f = operator.methodcaller('scale', x, by=2.0)\n    return [f(t) for t in tree.kids]",
    "a, b = operator.attrgetter('v', 'kids')(tree)\n    return x * a", "return operator.attrgetter('kids.__class__')(tree) is tuple, x + 1", "for v, i in zip(Odd(), xs): s = s + v * i\n    return s",
]


@pytest.mark.parametrize("at", range(len(PLAIN)))
def test_plain_uses_are_graphs(at):
    assert alike(TEXT.replace("{body}", PLAIN[at]), calls=8)[0]


KEYS = {"none": "None", "called": "told", "attribute": "operator.attrgetter('v')", "always": "lambda v: 0", "never": "lambda v: object", "tensor": "lambda v: v.shape"}
GROUPED = {"numbers": "[1, 1, n, 2, 2, 1]", "objects": "[*tree.kids, tree, tree]", "tensors": "[xs[0], xs[0], xs[1], janus.ones(3)]", "nothing": "[]", "nan": "[float('nan')] * 3"}
GROUPS = ["return [(k, list(g)) for k, g in it], x", "return [(k, g) for k, g in it] and [list(g) for _, g in itertools.groupby([1, 2])], x", "gs = [g for _, g in it]\n    return [list(g) for g in gs], x", "r = []\n    for k, g in it:\n        r.append(next(g, None))\n    return r, x",
          "r = []\n    for k, g in it:\n        for v in g:\n            r.append(v)\n            break\n    return r, x", "a = next(it, None)\n    b = next(it, None)\n    return [list(p[1]) for p in (a, b) if p], list(k for k, _ in it), x", "source = iter([1, 1, 2, 2, 3])\n    it = itertools.groupby(source)\n    k, g = next(it)\n    return next(source), list(g), list(source), x"]


@pytest.mark.parametrize("of", GROUPED)
@pytest.mark.parametrize("key", KEYS)
def test_groups(key, of):
    for way in shares.share(GROUPS):
        alike(TEXT.replace("{body}", f"it = itertools.groupby({GROUPED[of]}, {KEYS[key]})\n    " + way), watched=["log"], options=({"verify": "never", "measure": False},))


WRONG = ["itertools.cycle([])", "itertools.count('a')", "itertools.count(1, 'a')", "itertools.count(True)", "itertools.count(x)", "itertools.repeat(x, 'a')", "itertools.repeat(x, -1)", "itertools.repeat(object=x, times=1)", "itertools.takewhile(None, [1])", "itertools.takewhile(bool, 1)", "itertools.groupby(1)",
         "itertools.zip_longest([1], 2)", "itertools.zip_longest()", "itertools.zip_longest([1], fill=0)", "itertools.compress([1], 2)", "itertools.compress(data=[1, 2], selectors=[0, 1])", "itertools.accumulate(iterable=[1, 2], func=max)", "itertools.accumulate([])", "itertools.accumulate([], initial=3)",
         "itertools.starmap(pow, [1])", "zip(itertools.count(), 3)", "zip(itertools.count(), [1], strict=True)", "map(None, itertools.count())", "enumerate(itertools.count(), 'a')", "enumerate(iterable=itertools.count(), start=2)", "itertools.groupby([1, 2], key=3)", "itertools.dropwhile(bool)", "Ends()"]


@pytest.mark.parametrize("made", WRONG)
def test_odd_arguments(made):
    alike(TEXT.replace("{body}", f"r = list(itertools.islice({made}, 3)) if n > 3 else 0\n    return r, x + 1"))


CLASSES = ["itertools.takewhile(bool, [1])", "itertools.count()", "itertools.cycle([1])", "itertools.chain([1])", "itertools.repeat(1, 2)", "itertools.repeat(1)", "itertools.product([1])", "filter(None, [1])", "operator.itemgetter(0)", "operator.attrgetter('v')", "operator.methodcaller('v')", "zip([1], itertools.count())",
           "map(abs, itertools.count())", "enumerate(itertools.count())", "itertools.groupby([1])", "itertools.islice([1], 1)", "(v for v in [1])", "lambda: 1", "itertools.chain.from_iterable([[1]])"]


@pytest.mark.parametrize("made", CLASSES)
def test_what_they_are(made):
    alike(TEXT.replace("{body}", f"it = {made}\n    return type(it).__name__, x, [it] if n > 9 else 0"))
    text = TEXT.replace("{body}", f"it = {made}\n    s = x + 1\n    return it")
    f = janus.function(names_of(text, janus=janus)["f"], verify="never", measure=False)
    wanted = names_of(text, janus=janus)["f"](janus.ones(1), 2, [])
    assert {type(f(janus.ones(1), 2, [])) for _ in range(4)} == {type(wanted)}
    names = ["itertools.takewhile", "itertools.count", "itertools.chain", "itertools.cycle", "operator.itemgetter", "type(told)", "type(v for v in [1])", "zip", "enumerate", "filter", "itertools.islice", "itertools.groupby"]
    alike(TEXT.replace("{body}", f"it = {made}\n    return [isinstance(it, t) for t in ({', '.join(names)})], x + 1"))
    assert alike(TEXT.replace("{body}", f"it = {made}\n    return isinstance(it, {made.split('(')[0] if not made.startswith(('(', 'l')) and 'from' not in made else 'int'}), x + 1"))[0]
