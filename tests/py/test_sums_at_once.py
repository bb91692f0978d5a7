# SPDX-License-Identifier: Apache-2.0
"""Gradients that backward() adds to a sum without making them have the bits that adding them apart gives; what sums need of memory."""
import os
import random
import subprocess
import sys

import pytest

import janus
import janus.nn.functional as F

ROWS, SIZE = 7, 3


def bits(t):
    return bytes(memoryview(t.detach().contiguous()))


def apart(terms, leaf):
    """The sum of what each term gives alone, the last one first, as a backward() of all adds it."""
    total = None
    for term in reversed(terms):
        grad, = janus.autograd.grad(term, [leaf], retain_graph=True, allow_unused=True)
        if grad is not None:
            total = grad.clone() if total is None else total + grad
    return total


def numbers(rng, *shape, zeros=(0.0, -0.0)):
    n = 1
    for dim in shape:
        n *= dim
    values = [rng.choice([*zeros, 1e-3, 1 + rng.random(), -1 - rng.random()]) for _ in range(n)]
    return janus.tensor(values).reshape(*shape)


def read(rng, table):
    """Rows of the table, read in one of the ways there are; some of them twice."""
    n = rng.choice([1, 1, 1, 2, 3, 40])
    index = [rng.randrange(ROWS) for _ in range(n)]
    dtype = rng.choice([janus.int64, janus.int32])
    kind = rng.randrange(7)
    if kind <= 1:
        return F.embedding(janus.tensor(index, dtype=dtype), table)
    if kind == 2:
        return F.embedding(janus.tensor([index], dtype=dtype), table, padding_idx=rng.randrange(ROWS))
    if kind == 3:
        return janus.index_select(table, 0, janus.tensor(index))
    if kind == 4:
        return janus.index_select(table, 1, janus.tensor([i % SIZE for i in index]))
    if kind == 5:
        return table[janus.tensor([i - rng.choice([0, ROWS]) for i in index])]
    return table * rng.choice([1.0, -1.0])  # of all of it, where there may be -0


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_a_table(seed):
    rng = random.Random(seed)
    table = numbers(rng, ROWS, SIZE)
    if seed % 4 == 3:
        table = table.double()
    table.requires_grad_()
    terms = []
    for _ in range(rng.randrange(2, 9)):
        y = read(rng, table)
        terms.append((y * numbers(rng, *y.shape).to(y.dtype)).sum())
    wanted = bits(apart(terms, table))
    loss = terms[0]
    for term in terms[1:]:
        loss = loss + term
    loss.backward(retain_graph=True)
    assert bits(table.grad) == wanted
    if seed % 3 == 0:  # and added to what is there
        more = table.grad + apart(terms, table)
        loss.backward()
        assert bits(table.grad) == bits(more)


def test_a_table_of_which_there_is_a_view():
    base = janus.ones(ROWS * SIZE, requires_grad=True)
    table = base.view(ROWS, SIZE)
    y = [F.embedding(janus.tensor([i % 3]), table) * (i + 1) for i in range(5)]
    sum(t.sum() for t in y).backward()
    rows = base.grad.view(ROWS, SIZE)
    assert rows[:, 0].tolist() == [5.0, 7.0, 3.0, 0, 0, 0, 0] and rows[:, 2].tolist() == rows[:, 0].tolist()


def test_an_index_that_was_written_since():
    table = janus.ones(ROWS, SIZE, requires_grad=True)
    words = [janus.tensor([i]) for i in range(3)]
    loss = sum(F.embedding(w, table).sum() for w in words)
    words[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_twice():
    table = janus.ones(ROWS, SIZE, requires_grad=True)
    loss = sum(F.embedding(janus.tensor([i]), table).sum() for i in range(3))
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


COLS, OUT = 61, 17500  # more than 4 MB of float32


@pytest.mark.parametrize("linear", [False, True])
def test_products_of_one_row(linear):
    rng = random.Random(linear)
    weight = numbers(rng, 1000, 1, zeros=()).repeat(OUT * COLS // 1000, 1).reshape(-1)
    weight = janus.cat([weight, janus.ones(OUT * COLS - weight.numel())])
    weight = (weight.reshape(OUT, COLS) if linear else weight.reshape(COLS, OUT)).requires_grad_()
    terms = []
    for rows in [1, 1, 2, 1, 1]:
        x = numbers(rng, rows, COLS, zeros=())  # which zero a product of zeros is may be the kernel's
        y = F.linear(x, weight) if linear else x @ weight
        terms.append((y * numbers(rng, 1, 100, zeros=()).repeat(rows, OUT // 100)).sum())
    wanted = apart(terms, weight)
    sum(terms).backward()
    assert bits(weight.grad) == bits(wanted)


PROGRAM = """
import janus
import janus.nn.functional as F

def field(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) << 10

SIZE = 4 << 20
table = janus.zeros(SIZE // 64, 64, requires_grad=True)
weight = janus.zeros(64, SIZE // 64, requires_grad=True)
loss = janus.zeros(())
for i in range(12):
    x = F.embedding(janus.tensor([i]), table)
    loss = loss + (x @ weight).sum()
before = field("VmRSS")
loss.backward()
print((field("VmHWM") - before) / (4 * SIZE))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="nothing says how large the process was")
@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps what is freed, or notes of it")
def test_a_gradient_that_is_added_is_not_in_memory_beside_the_sum(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=200,
                          env=dict(os.environ, JANUS_NUM_THREADS="1"))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.7, "gradients of two tensors; with one more that is added they are three"


class Node:
    def __init__(self, below):
        self.below = below


@pytest.mark.parametrize("shared", [False, True])
def test_rows_of_products_that_are_put_off(shared):
    """The rows of a weight's gradient are multiplied when they are as much as the weight is; where a small one's has rows in common, too."""
    inner, outer = 16, 1 << 17
    weight = (janus.rand(inner, outer) * 0.1).requires_grad_()
    small = (janus.rand(inner, inner) * 0.1).requires_grad_()

    def deep(node):
        if node is None:
            return janus.ones(1, inner)
        below = deep(node.below)
        wide = (below @ weight).view(-1, inner).mean(0, keepdim=True)
        return janus.tanh(wide + below @ small if shared else wide)

    def step(nodes):
        loss = janus.zeros(())
        for node in nodes:
            loss = loss + deep(node).sum()
        loss.backward()
        return loss.detach()

    nodes = []
    for depth in (15, 20, 25, 30):
        node = None
        for _ in range(depth):
            node = Node(node)
        nodes.append(node)
    f = janus.function(step, measure=False, regions=False)
    step(nodes)
    wanted, weight.grad = weight.grad, None
    for _ in range(5):
        weight.grad = None
        f(nodes)
    stats = f.stats()
    assert stats["graph"] and not stats["disproved"], stats
    assert (weight.grad - wanted).abs().max().item() < 1e-3 * wanted.abs().max().item()
    assert stats["peak_bytes"] < 6 * 4 * weight.numel(), "90 rows as long as 16 of the weight"
