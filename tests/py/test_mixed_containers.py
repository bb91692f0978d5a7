# SPDX-License-Identifier: Apache-2.0
"""Items of what nodes hold, which is a list in some and anything else in others, of which a read raises or not: CPython's, and no crash of a conversion."""
import itertools

import pytest

import janus
from shares import share
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

KINDS = {
    "list": "[1.0, 2.0]", "tuple": "(3.0, 4.0)", "text": "'ab'", "bytes": "b'ab'", "range": "range(2)", "set": "{5.0, 6.0}", "frozenset": "frozenset([1.0, 2.0])",
    "dict": "{0: 1.0, 1: 2.0}", "deque": "deque([1.0, 2.0])", "None": "None", "int": "3", "tensor": "janus.ones(2)", "array": "bytearray(b'ab')", "view": "{1.0: 2}.keys()",
}
READS = {
    "item": "h = h * v[0] + v[1]", "last": "h = h - v[-1]", "star": "h = h + first(*v)", "names": "a, b = v\n        h = h * a + b", "rounds": "for q in v: h = h * 0.5 + q",
    "sum": "h = h + sum(v)", "list": "h = h + list(v)[0]", "length": "h = h * len(v)", "slice": "h = h + v[1:][0]", "zip": "for a, b in zip(v, v): h = h + a - b * 2",
    "in": "h = h + (1.0 in v)", "starred": "a, *rest = v\n        h = h + a * len(rest)", "sorted": "h = h + sorted(v)[0]", "max": "h = h * max(v)",
}


def text(read):
    return f"""from collections import deque
def first(a, *more): return a * (1 + len(more))
class N:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
def f(n, x):
    h, v = x, n.v
    try:
        {READS[read]}
    except (TypeError, KeyError, ValueError, IndexError) as e:
        h = h - len(type(e).__name__)
    for k in n.kids: h = h + f(k, x)
    return h
def g(nodes, x):
    h = x
    for n in nodes:
        v = n.v
        {READS[read]}
    return h
"""


def outcomes(program, name, kinds, **options):
    names = names_of(program, janus=janus)
    made = lambda kind: names["N"](eval(KINDS[kind], names))  # pylint: disable=unnecessary-lambda-assignment
    f = janus.function(names[name], measure=False, **options) if options else names[name]
    out = []
    for n in (2, 3, 4, 3, 2, 5, 4):
        row = [made(kinds[0]), made(kinds[0]), *(made(kinds[(k + n) % len(kinds)]) for k in range(n - 2))]
        data = row if name == "g" else names["N"](eval(KINDS[kinds[n % 2]], names), *row)
        try:
            out.append(f(data, janus.tensor([1.0, 2.0])).tolist())
        except Exception as e:  # pylint: disable=broad-except
            out.append(type(e).__name__)
    return out


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", ["f", "g"])
def test_items_of_anything(read, name):
    pairs = list(itertools.permutations(KINDS, 2))
    program = text(read)
    for kinds in share(pairs[list(READS).index(read)::14]):
        assert outcomes(program, name, kinds, verify="never") == outcomes(program, name, kinds), (program, kinds)


LATER = """
class N:
    def __init__(self, v): self.v = v
def take(a, *b): pass
def f(nodes, x):
    for n in nodes:
        v = n.v
        x = take(*v)
        e = dict.fromkeys(v)
"""


def test_samples_that_are_no_sequences():
    """Calls that end early have asked nothing of later nodes, of which one holds a range: a conversion looks at all."""
    names = names_of(LATER, janus=janus)
    node, none = names["N"], janus.tensor([])
    g = janus.function(names["f"], measure=False, verify="never")
    last = [node(()), node([2]), node(range(3))]
    for args in (([node((4,))], none), (), ((), none), ([], none), ([node(())], none), (last, none * none[:1]), ([node(()), node(b"ab")], none)):
        results = []
        for call in (names["f"], g):
            try:
                results.append(call(*args))
            except TypeError as e:
                results.append(str(e))
        assert results[0] == results[1]
