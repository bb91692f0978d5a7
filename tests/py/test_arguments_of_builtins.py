# SPDX-License-Identifier: Apache-2.0
"""Builtins called with arguments that they do not take: in a branch that the first calls leave out, so that graphs are made before one raises."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

GOOD = {
    "len": "[1]", "sum": "[x, x]", "min": "[2, 1]", "max": "[2, 1]", "any": "[0, 1]", "all": "[0, 1]", "isinstance": "n, int", "issubclass": "int, object", "callable": "n", "vars": "node",
    "getattr": "node, 'v'", "hasattr": "node, 'v'", "setattr": "node, 'v', 1", "abs": "x", "hash": "n", "repr": "n", "format": "n", "iter": "[1]", "next": "iter([1])", "sorted": "[2, 1]", "round": "2.5",
    "list": "[1]", "tuple": "[1]", "range": "3", "enumerate": "[1]", "zip": "[1], [2]", "map": "abs, [1]", "reversed": "[1]", "type": "n", "int": "2.5", "float": "2", "bool": "2", "str": "n",
    "functools.reduce": "operator.add, [x, x]", "filter": "None, [0, 1]", "itertools.starmap": "operator.mul, [(x, 2)]", "itertools.repeat": "x, 2", "itertools.takewhile": "bool, [1, 0]",
    "itertools.accumulate": "[1, 2]", "itertools.pairwise": "[1, 2]", "itertools.islice": "[1, 2], 1", "itertools.chain.from_iterable": "[[1]]", "itertools.cycle": "[1]", "itertools.count": "1",
    "operator.itemgetter": "0", "operator.attrgetter": "'v'", "operator.methodcaller": "'v'", "bisect.bisect": "[1], 1", "heapq.heappush": "[1], 1", "heapq.nlargest": "1, [1]", "math.isclose": "1, 1",
    "copy.copy": "[1]", "copy.deepcopy": "[1]",
}
WRONG = ["{good}, foo=1", "{good}, 1", "{good}, 1, 2", "{good}, 1, 2, 3", "", "*[{good}][1:]", "{good}, key=None", "{good}, default=3", "{good}, start=1", "{good}, strict=True", "{good}, base=10", "{good}, iterable=[1]",
         "{good}, obj=1", "{good}, item=1", "{good}, function=None", "{good}, items=[1]", "{good}, initial=None", "{good}, reverse=True", "{good}, object=1", "{good}, number=1", "{good}, x=1"]
TEXT = """
import bisect, copy, functools, heapq, itertools, math, operator
class Node:
    def __init__(self): self.v = 3
def arguments(k):
    return janus.ones(2) * k, k, Node()
def f(x, n, node):
    r = 0
    if n > 2:
        r = {call}
        r = list(itertools.islice(r, 3)) if hasattr(r, '__next__') else len(r) if isinstance(r, range) else 0 if hasattr(r, '__code__') else r
    return x + n, r
"""


@pytest.mark.parametrize("name", GOOD)
def test_what_raises_raises(name):
    for wrong in shares.share(WRONG):
        alike(TEXT.replace("{call}", f"{name}({wrong.replace('{good}', GOOD[name])})"))


@pytest.mark.parametrize("name", [n for n in GOOD if n not in ("vars", "setattr", "hash", "repr")])
def test_what_is_right_is_a_graph(name):
    text = TEXT[:TEXT.index("    r = 0")] + f"    r = {name}({GOOD[name]})\n    return x + n\n"
    assert alike(text)[0]


STARTS = """
def arguments(k):
    return janus.ones(2), (0, 0.5, 1, 0.5, 2.0, 0, 2.0, True, 0.5)[k]
def f(x, n):
    r = []
    try:
        {use}
    except TypeError as e:
        r.append(str(e))
    return x + 1, r
"""


@pytest.mark.parametrize("use", ["r.append(list(enumerate([1, 2], n)))", "r += [i for i, _ in enumerate(x, start=n)]", "for i, v in enumerate([n, 2], n):\n            r.append(i)",
                                 "r.append(dict(enumerate('ab', n * x.shape[0])))", "r.append(list(enumerate([1, 2], n + x.sum().item())))", "r.append(next(enumerate([n], n)))"])
def test_what_enumerate_begins_with(use):
    alike(STARTS.replace("{use}", use), calls=9)
