# SPDX-License-Identifier: Apache-2.0
"""Tuples and lists of a length that only the graph knows: what they are made of x what is done with them and their slices, which are tuples
of tuples, and the tuple itself where they take all of it."""
import pytest

import janus
from alike import alike
from shares import share

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TEXT = """
import copy

class Pair:
    def __init__(self, a, b): self.a, self.b = a, b

def two(v):
    match v:
        case [a, b]: return a, b
        case [a, *rest]: return rest

def given(*args): return args

def f(x, n, k, numbers, tensors, pairs, whole):
    s = {kind}({made})
    r = {use}
    return r, type(r).__name__, x + 1

def arguments(k):
    n = (2, 3, 4, 3, 2, 5, 1, 3, 4)[k]
    tensors = [janus.tensor([1.0 * j, 2.0]) for j in range(n)]
    return janus.ones(2), n, k % 3, [3, 1, 2, 5, 4, 7][:n + 1], tensors, {{j: j + 1 for j in range(n)}}, tuple(range(n))
"""
MADE = ["range(n)", "[i * 2 for i in range(n)]", "sorted(numbers)", "reversed(range(n))", "(i + 1 for i in range(n))", "numbers", "numbers[1:]",
        "map(abs, numbers)", "[v for v in numbers if v > 1]", "zip(range(n), numbers)", "[x * i for i in range(n)]", "[(i, n) for i in range(n)]",
        "tensors", "[t.sum().item() for t in tensors]", "sorted(tensors, key=lambda t: t.sum().item())", "pairs.values()", "whole", "whole[1:]"]
# What they are, and which of them are one.
KINDS = ["s", "s[:2]", "s[1:]", "s[::-1]", "s[:k]", "s[k:]", "s[:]", "s[1:][:1]", "s[:2][:1]", "s[:2] + s[:1]", "s[:2] * 2", "(s, s[:2])", "{1: s[:2]}",
         "isinstance(s[:2], tuple)", "s[:2].__class__.__name__", "given(*s[:2])", "f'{s[:2]}'", "two(s[:2])", "two(s)", "copy.copy(s)[:2]", "tuple(s[:2])",
         "list(s[:2])[:1]", "s + (1,)", "[1] + s", "s == list(s)", "s.append(1)", "s[:1] == [1]", "s[1:][1:]", "s[k:][:1]", "s[k:][k:]"]
ONES = ["s[:] is s", "s[k:] is s", "s[0:] is s", "s[:9] is s", "s[:k + 2] is s", "s[:2] is s", "s[:3] is s", "s[1:] is s", "tuple(s) is s"]
ONES += [f"Pair({a}, {b})" for a, b in (("s", "s[:]"), ("s", "s[:2]"), ("s", "s[:3]"), ("s", "s[k:]"), ("s", "s[:k + 3]"), ("s", "tuple(s)"), ("s", "copy.copy(s)"),
                                        ("s", "s + ()"), ("s", "s * 1"), ("s[1:]", "s[1:][:]"), ("s[:2]", "s[:2][:2]"), ("s", "s[-9:]"), ("s", "s[::1]"))]


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("kind", ["tuple", "list"])
@pytest.mark.parametrize("made", MADE)
def test_as_cpython_does(made, kind):
    graphs = 0
    for use in share(KINDS + ONES):
        graphs += sum(alike(TEXT.format(kind=kind, made=made, use=use), calls=9))
    assert graphs
