# SPDX-License-Identifier: Apache-2.0
"""What is sorted, and what is kept in order: sorted() with nan, tuples compared, `bisect`, `heapq`, Counter.most_common()."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import bisect, collections, heapq, math, operator
class Item:
    compared = 0
    def __init__(self, v): self.v = v
    def __lt__(self, other):
        Item.compared += 1
        return self.v < other.v
nan = math.nan
L = [1, 3, 5]
def arguments(k):
    return janus.ones(2) * k, k % 3, [janus.ones(1) * v for v in (k % 4, 1, 2, k % 2)]
def f(x, n, xs):
    s = xs[0].sum().item()
    {body}
"""
NUMBERS = {"constants": "[2.0, 1.0, 3.0, nan, 0.0]", "computed": "[2.0, 1.0, 3.0, nan, s]", "one computed is nan": "[2.0, 1.0, 3.0, s * nan, 0.0]", "two": "[nan, 2.0, nan, 1.0, 0.5]", "mixed": "[3, 2.5, True, n]", "all computed": "[v.item() for v in xs]",
           "pairs": "[(2, 'b'), (1, 'z'), (2, 'a')]", "pairs with nan": "[(2.0, nan), (nan, 1), (1.0, n), (0.5, 2)]", "texts": "['b', 'a', 'C']", "none": "[]", "wrong": "[1, 'a']", "tuples of tensors": "[(2, 'a', x), (1, 'b', x * 2), (n, 'c', x)]",
           "tensors compared": "[(1, x), (1, x * 2)]", "computed pairs": "[(v.item(), i) for i, v in enumerate(xs)]", "lists": "[[2, 1], [2], [1, 5], []]", "instances": "[Item(3), Item(1), Item(n)]", "instances in pairs": "[(1, Item(2)), (0, Item(3)), (1, Item(n))]"}
SORTS = ["return sorted({of}), x + 1", "return sorted({of}, reverse=True), x + 1", "l = {of}\n    l.sort()\n    return l, x + 1", "return [i for i, _ in sorted(enumerate({of}), key=lambda p: p[1])], x + 1", "return min({of}), max({of}), x + 1",
         "l = {of}\n    return [a < b for a in l for b in l], [a >= b for a in l for b in l], x + 1", "return heapq.nsmallest(2, {of}), heapq.nlargest(3, {of}), x + 1", "return heapq.nlargest(1, {of}), heapq.nsmallest(9, {of}), x + 1",
         "l = {of}\n    heapq.heapify(l)\n    return l, x + 1", "h = []\n    for v in {of}:\n        heapq.heappush(h, v)\n    return [heapq.heappop(h) for _ in range(len(h))], x + 1", "l = sorted({of})\n    return [bisect.bisect(l, v) for v in {of}], [bisect.bisect_left(l, v) for v in {of}], x + 1",
         "l = []\n    for v in {of}:\n        bisect.insort(l, v)\n    return l, x + 1", "l = {of}\n    heapq.heapify(l)\n    return heapq.heappushpop(l, l[-1] if l else 1), heapq.heapreplace(l, l[-1]), l, x + 1"]


@pytest.mark.parametrize("of", NUMBERS)
def test_orders(of):
    graphs = 0
    for body in shares.share(SORTS):
        graphs += alike(TEXT.replace("{body}", body).replace("{of}", NUMBERS[of]), watched=["Item"])[0]
    assert graphs or shares.LIGHT or of in ("wrong", "tensors compared", "pairs with nan", "one computed is nan", "instances", "instances in pairs")


PLAIN = [
    "return x * bisect.bisect([1, 2, 4], n)", "return x * bisect.bisect_left([1, 2, 4], 2) + bisect.bisect_right([1, 2, 4], 2)", "l = [1, 5]\n    bisect.insort(l, n)\n    return l, x * l[1]", "return x * bisect.bisect([(1, 'a'), (2, 'b')], 1, key=lambda p: p[0])",
    "l = [(1, x)]\n    bisect.insort(l, (n, x * 2), key=lambda p: p[0])\n    return l", "return x * bisect.bisect([0.1, 0.5, 1.0], s / 10)", "return x * bisect.bisect_left(L, n)", "bisect.insort_left(L, n)\n    return x * len(L)",
    "return x * bisect.bisect([1, 2, 2, 3], 2, 1, 3) + bisect.bisect([1, 2], 5, lo=1, hi=2)", "h = [(3, 'a'), (1, 'b'), (2, 'c')]\n    heapq.heapify(h)\n    return x * heapq.heappop(h)[0], h", "h = []\n    for v in (3, 1, 2): heapq.heappush(h, (v, x * v))\n    return heapq.heappop(h)[1]",
    "return [p[1] for p in heapq.nsmallest(2, [(3, x), (1, x * 2), (2, x * 3)], key=lambda p: p[0])]", "h = [1, 2, 3]\n    a = heapq.heappushpop(h, n)\n    b = heapq.heapreplace(h, 0)\n    return x * a + b, h", "heapq.heappush(L, n)\n    return x * heapq.heappop(L)",
    "c = collections.Counter([1, 1, 2])\n    return x * c.most_common(1)[0][0], c.most_common()", "c = collections.Counter('abca')\n    return [x * k for _, k in c.most_common(2)]", "c = collections.Counter()\n    for k in 'abca': c[k] += 1\n    return x * c.most_common(1)[0][1]",
    "return [x * v for _, v in sorted({'b': 1, 'a': 2}.items())]", "return sorted([(2, 'a', x), (1, 'b', x * 2)])[0][2]", "return max([(1, 0, x), (2, 1, x * 2)])[2]",
    "q, seen = [(0, 0)], {}\n    G = {0: [(1, 2), (2, 5)], 1: [(2, 1)], 2: []}\n    while q:\n        d, u = heapq.heappop(q)\n        if u in seen: continue\n        seen[u] = x * d\n        for v, w in G[u]: heapq.heappush(q, (d + w, v))\n    return seen",
]


@pytest.mark.parametrize("at", range(len(PLAIN)))
def test_plain_uses_are_graphs(at):
    assert alike(TEXT.replace("{body}", PLAIN[at]), calls=8, watched=["L"])[0]


WRONG = ["bisect.bisect([1], 1, -1)", "bisect.bisect([1], 1, 0, -1)", "bisect.bisect([1, 2], 1, 0, 5)", "bisect.bisect((1, 2), 2)", "bisect.insort((1, 2), 2)", "heapq.heappush((1, 2), 2)", "heapq.heappop([])", "heapq.heapreplace([], 1)", "heapq.heappushpop([], 1)",
         "heapq.nlargest(0, [1])", "heapq.nlargest(-1, [1, 2])", "heapq.nlargest(1, [])", "heapq.nlargest(1.5, [1, 2])", "heapq.nsmallest(2, (v for v in (3, 1, 2)))", "heapq.nsmallest(2, {3: 1, 1: 2, 2: 0})", "bisect.bisect([1, 'a'], 'b')", "heapq.heapify([2, 'a'])", "bisect.bisect([3, 1], None)",
         "collections.Counter('aab').most_common(0)", "collections.Counter('aab').most_common(-1)", "heapq.nlargest(True, [1, 2])", "bisect.bisect(L, 2.5)", "bisect.bisect([1, 2, 3], True)"]


@pytest.mark.parametrize("call", WRONG)
def test_odd_arguments(call):
    alike(TEXT.replace("{body}", f"return ({call} if n > 1 else 0), x + 1"), watched=["L"])
