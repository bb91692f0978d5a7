# SPDX-License-Identifier: Apache-2.0
"""sum() adds an item before the next one is made: gradients in exact numerics, and what items and additions do to each other."""
import itertools

import pytest

import janus
from texts import names_of

FORMS = {"iterable": "sum(D(x, s), x)", "generator": "sum(g(x, s), x)", "comprehension": "sum((x * k * s for k in (1, 2, 3)), x)",
         "map": "sum(map(lambda k: x * k * s, (1, 2, 3)), x)", "no start": "sum(g(x, s))", "unknown": "sum((x * e for e in n.rows), x)",
         "list": "sum([x, x * s], x)", "chained": "sum((y * 2 for y in g(x, s)), x)"}
AFTER = {"once": "t", "twice": "t + t", "product": "t * x"}
TEXT = """
class D:
    def __init__(self, value, by):
        self.value, self.by = value, by

    def __iter__(self):
        yield self.value
        yield self.value * self.by
        yield self.value * 3

def g(value, by):
    yield value
    yield value * by
    yield value * 3

def visit(n, row):
    s = n.share
    x = n.vector + row
    t = {form}
    return {after}

def f(nodes, row):
    total = 0.0
    for n in nodes:
        total += (visit(n, row) * n.vector).sum()
    return total
"""


class Node:
    def __init__(self, i, j):
        self.vector, self.share, self.rows = janus.randn(3), 0.37 + 0.1 * i, [0.3 * k + 0.1 for k in range(1 + (i + j) % 3)]


@pytest.mark.parametrize("form,after", list(itertools.product(FORMS, AFTER)))
def test_gradients_to_the_bit(form, after):
    plain = names_of(TEXT.format(form=FORMS[form], after=AFTER[after]), janus=janus)["f"]
    f = janus.function(plain, verify="never", numerics="exact", measure=False)
    for seed in range(20):
        janus.manual_seed(seed)
        nodes, start, seen = [Node(i, seed) for i in range(2 + seed % 3)], janus.randn(3), []
        for h in (plain, f):
            row = start.clone().requires_grad_()
            loss = h(nodes, row)
            loss.backward()
            seen.append((loss.item(), row.grad.tolist()))
        assert seen[0] == seen[1], (form, after, seed)
    assert f.stats()["graph"], janus.explain(f)


EFFECTS = """
class Term:
    def __init__(self, v, o):
        self.v, self.o = v, o

    def __radd__(self, other):
        self.o.n += 1
        return other + self.v

def g(x, o):
    for k in range(3):
        yield {item}

def f(x, o):
    return sum(g(x, o), {start})
"""


class Count:
    def __init__(self):
        self.n = 1


@pytest.mark.parametrize("item,start,numerics", list(itertools.product(("Term(x * o.n, o)", "Term(x + k, o)", "x * o.n"), ("x", "0"), ("exact", "fast"))))
def test_additions_with_effects(item, start, numerics):
    plain = names_of(EFFECTS.format(item=item, start=start), janus=janus)["f"]
    f = janus.function(plain, verify="never", numerics=numerics, measure=False)
    for _ in range(4):
        seen = []
        for h in (plain, f):
            o = Count()
            seen.append((h(janus.tensor([1.0, 2.0]), o).tolist(), o.n))
        assert seen[0] == seen[1]
