# SPDX-License-Identifier: Apache-2.0
"""What is sorted, and which of two tuples comes first, nan among them."""
import pytest

import janus
import shares
from alike import alike

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import math, operator
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
SORTS = ["return sorted({of}), x + 1",
         "return sorted({of}, reverse=True), x + 1",
         "l = {of}\n    l.sort()\n    return l, x + 1",
         "return [i for i, _ in sorted(enumerate({of}), key=lambda p: p[1])], x + 1",
         "return min({of}), max({of}), x + 1",
         "l = {of}\n    return [a < b for a in l for b in l], [a >= b for a in l for b in l], x + 1"]


@pytest.mark.parametrize("of", NUMBERS)
def test_orders(of):
    graphs = 0
    for body in shares.share(SORTS):
        graphs += alike(TEXT.replace("{body}", body).replace("{of}", NUMBERS[of]), watched=["Item"])[0]
    assert graphs or of in ("wrong", "tensors compared", "pairs with nan", "one computed is nan", "instances", "instances in pairs")
