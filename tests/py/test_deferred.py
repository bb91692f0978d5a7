# SPDX-License-Identifier: Apache-2.0
"""janus.deferred(): what is recorded, when it runs, and that nobody can tell from the values."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import janus


def operands():
    return janus.arange(12.0).reshape(3, 4), janus.arange(4.0) + 1


def add(a, b):
    return a + b


def product(a, b):
    return (a * b).tanh() @ b


def chain(a, b):
    return janus.exp(a * 0.125 - b.sum()) + a


def strided(a, b):
    return a.t() * 2.0 + b.view(4, 1)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("use", [add, product, chain, strided])
def test_recorded_and_computed(use, numerics):
    a, b = operands()
    want = use(a, b)
    with janus.deferred(numerics=numerics) as d:
        got = [use(a, b) for _ in range(5)]
        assert d.stats()["recorded"] >= 5 and d.stats()["flushes"] == 0
    assert d.stats()["flushes"] == 1
    for x in got:
        assert x.tolist() == want.tolist()


def test_equal_calls_of_one_depth_are_one_group():
    rows = [janus.full((1, 4), float(i)) for i in range(20)]
    weight = janus.arange(16.0).reshape(4, 4)
    want = [janus.tanh(r @ weight).tolist() for r in rows]
    with janus.deferred() as d:
        got = [janus.tanh(r @ weight) for r in rows]
    assert d.stats()["groups"] == 2 and d.stats()["grouped"] == 40
    for w, g in zip(want, got):
        assert janus.allclose(janus.tensor(w), g)
    with janus.deferred(numerics="exact") as d:
        got = [janus.tanh(r @ weight) for r in rows]
    assert d.stats()["groups"] == 0
    assert [g.tolist() for g in got] == want


READS = {
    "item": lambda x: x[0, 0].item(),
    "tolist": lambda x: x.tolist(),
    "float": lambda x: float(x.sum()),
    "bool": lambda x: bool((x > -1).all()),
    "repr": repr,
    "format": lambda x: f"{x.max():.2f}",
    "iteration": lambda x: [r.tolist() for r in x],
    "contains": lambda x: 3.0 in x,
    "memoryview": lambda x: bytes(memoryview(x)),
    "clone": lambda x: x.clone().tolist(),
    "equal": lambda x: janus.equal(x, x + 0),
    "deepcopy": lambda x: __import__("copy").deepcopy(x).tolist(),
    "pickle": lambda x: __import__("pickle").loads(__import__("pickle").dumps(x)).tolist(),
    "index": lambda x: x[janus.tensor([2, 0])].tolist(),
    "mask": lambda x: x[x > 3].tolist(),
    "sort": lambda x: x.reshape(-1).sort().values.tolist(),
    "nonzero": lambda x: x.nonzero().tolist(),
    "dlpack": lambda x: janus.from_dlpack(x).tolist(),
    "gather": lambda x: x.gather(1, janus.tensor([[0], [1], [2]])).tolist(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_every_read_is_served(read):
    a, b = operands()
    want = read(a + b)
    with janus.deferred() as d:
        x = a + b
        assert d.stats()["recorded"] == 1 and d.stats()["flushes"] == 0
        assert read(x) == want
        y = a + b
        z = read(y)
    assert z == want


def written_by_copy(x):
    x.copy_(janus.zeros_like(x))


def written_by_index(x):
    x[0] = 7


def written_by_view(x):
    x.view(-1)[1:3].zero_()


def written_by_slice(x):
    x[:, 1] += 5


def written_by_out(x):
    x.add_(1).mul_(x)


def written_by_data(x):
    x.data.fill_(2)


def written_by_random(x):
    janus.manual_seed(1)
    x.uniform_()


def written_by_memory(x):
    memoryview(x).cast("B").cast("f")[3] = 9.0


@pytest.mark.parametrize("write", [
    written_by_copy, written_by_index, written_by_view, written_by_slice, written_by_out, written_by_data,
    written_by_random, written_by_memory
])
@pytest.mark.parametrize("target", ["operand", "result"])
def test_writes_keep_their_place(write, target):
    """A write comes after the reads recorded before it, and before those recorded after it."""

    def program():
        a, b = operands()
        first = a + b
        write(a if target == "operand" else first)
        second = a + b
        third = first * 1.5
        return [t.tolist() for t in (a, b, first, second, third)]

    want = program()
    for limit in (0, 1, 2):
        with janus.deferred(max_ops=limit):
            assert program() == want


def test_memory_that_others_write():
    a, b = operands()
    view = memoryview(a).cast("B").cast("f")
    with janus.deferred() as d:
        x = a + b
        view[0] = 50.0
        y = a + b
        assert d.stats()["recorded"] == 0
    assert x[0, 0].item() == 1 and y[0, 0].item() == 51


def test_errors_come_at_the_call():
    a, b = operands()
    c = janus.zeros(5)
    with janus.deferred():
        x = a + b
        with pytest.raises(Exception) as deferred_error:
            x + c
        with pytest.raises(IndexError):
            janus.embedding(x, janus.tensor([9]))
        with pytest.raises((ZeroDivisionError, RuntimeError)):
            janus.tensor([1]) // janus.tensor([0])
        assert x.tolist() == (a + b).tolist()
    with pytest.raises(type(deferred_error.value)) as error:
        (a + b) + c
    assert str(error.value) == str(deferred_error.value)


def test_gradients():
    w = janus.arange(4.0).requires_grad_()
    a, b = operands()

    def loss():
        with janus.no_grad():
            scale = a * b + 1.0
        return ((scale @ w) * 2.0).sum()

    loss().backward()
    want, w.grad = w.grad.tolist(), None
    with janus.deferred():
        loss().backward()
    assert w.grad.tolist() == want


def test_an_exception_leaves_nothing_behind():
    a, b = operands()
    with pytest.raises(KeyError):
        with janus.deferred() as d:
            x = a + b
            raise KeyError
    assert d.stats()["flushes"] == 1
    assert x.tolist() == (a + b).tolist()


def test_blocks_nest_and_interleave():
    a, b = operands()
    with janus.deferred() as outer:
        x = a + b
        with janus.deferred() as inner:
            y = x + b
        z = y + b
        with pytest.raises(RuntimeError):
            outer.__enter__()
    assert outer.stats()["recorded"] == 2 and inner.stats()["recorded"] == 1
    assert z.tolist() == (a + b + b + b).tolist()

    def generator():
        with janus.deferred():
            yield a + b
            yield a * 2.0

    first, second = generator(), generator()
    got = [next(first), next(second), next(first)]
    first.close()
    got.append(next(second))
    del second
    gc.collect()
    assert [g.tolist() for g in got] == [t.tolist() for t in (a + b, a + b, a * 2.0, a * 2.0)]
    assert not janus._C._is_deferring()


def test_bounds():
    a, b = operands()
    with janus.deferred(max_ops=4) as d:
        keep = [a + b for _ in range(10)]
        assert d.stats()["flushes"] == 2
    with janus.deferred(max_bytes=200) as d:
        keep += [a + b for _ in range(10)]
        assert d.stats()["flushes"] >= 2
    assert all(k.tolist() == keep[0].tolist() for k in keep)
    for bad in ({"max_ops": -1}, {"max_bytes": -1}, {"numerics": "loose"}):
        with pytest.raises(ValueError):
            janus.deferred(**bad)


def test_what_nobody_needs_is_not_computed():
    a, b = operands()
    with janus.deferred() as d:
        for _ in range(10):
            a + b
        kept = (a + b) * 2.0
    assert d.stats()["dropped"] == 10 and d.stats()["recorded"] == 12
    assert kept.tolist() == ((a + b) * 2.0).tolist()


def test_another_thread_meets_what_is_pending():
    a, b = operands()
    want = ((a + b) * 2.0).tolist()
    with janus.deferred():
        for _ in range(20):
            x = a + b
            got = []
            other = threading.Thread(target=lambda t: got.append((t * 2.0).tolist()), args=(x,))
            other.start()
            y = x * 2.0
            other.join()
            assert got == [want] and y.tolist() == want


def test_threads_defer_with_shared_operands():
    a, b = operands()
    want, wrong = product(a, b).tolist(), []

    def work():
        for _ in range(50):
            with janus.deferred():
                got = [product(a, b) for _ in range(5)]
            wrong.extend(g for g in got if g.tolist() != want and not janus.allclose(g, janus.tensor(want)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_thread_that_ends_inside():
    a, b = operands()
    left = []

    def work():
        left.append(janus.deferred())
        left[0].__enter__()
        left.append(a + b)

    t = threading.Thread(target=work)
    t.start()
    t.join()
    a.add_(1)
    left[0].__exit__(None, None, None)
    assert left[1].tolist() == (a - 1 + b).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_inside():
    program = """
        import os, janus
        a, b = janus.arange(4.0), janus.ones(4)
        for _ in range(3):
            a + b
        with janus.deferred() as d:
            x = a + b
            child = os.fork()
            assert d.stats()["recorded"] == 1 and d.stats()["flushes"] == 0
            y = x + b
            assert y.tolist() == [2.0, 3.0, 4.0, 5.0] and x.tolist() == [1.0, 2.0, 3.0, 4.0]
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        print("ok")
    """
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert out.stdout == "ok\n", out.stderr


def test_functions_inside():
    a, b = operands()

    @janus.function
    def f(x, y):
        return janus.tanh(x * y).sum()

    want = [f(a, b).item() for _ in range(4)]
    with janus.deferred():
        got = [f(a + 0.0, b) for _ in range(4)]
        x = a + b
        got.append(f(x - b, b))
    assert all(janus.allclose(janus.tensor(w), g) for w, g in zip(want + want[:1], got))


INDEXED = {
    "embedding": lambda x, i: janus.nn.functional.embedding(i, x),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_select of columns": lambda x, i: x.index_select(1, i),
    "cross_entropy": lambda x, i: janus.nn.functional.cross_entropy(x[:i.shape[0]] + 0.0, i, reduction="sum"),
    "nll_loss": lambda x, i: janus.nn.functional.nll_loss(x[:i.shape[0]] * 1.0, i, ignore_index=7),
}
INDICES = ([0, 2], [1], [3, 0], [3], [4], [-1], [-100], [7], [])


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("use", INDEXED.values(), ids=INDEXED)
def test_indices_are_looked_at_where_the_call_is(use, index):
    """3 rows, 4 columns: what is out of bounds for one is not for the other."""

    def program(wait):
        x = operands()[0] * 0.5
        i = janus.tensor(index, dtype=janus.int64)
        try:
            y = use(x, i)
        except Exception as e:
            return type(e).__name__, str(e)
        if wait:
            i += 50  # comes after the reads
        return y.tolist()

    want = program(False)
    for _ in range(3):
        with janus.deferred():
            got = program(True)
        assert repr(got) == repr(want)


def test_indices_that_wait_are_waited_for():
    x = operands()[0]
    i = janus.tensor([0, 1])
    with janus.deferred() as d:
        assert x.index_select(0, i + 1).tolist() == x[1:].tolist()
        with pytest.raises(IndexError):
            x.index_select(0, i + 2)


def test_large_operands_small_results():
    weight = janus.arange(40000.0).reshape(200, 200) * 1e-3
    rows = [janus.full((1, 200), float(i)) for i in range(8)]
    want = [r @ weight for r in rows]
    with janus.deferred() as d:
        got = [r @ weight for r in rows]
        assert d.stats()["flushes"] == 0
    assert d.stats()["grouped"] == 8
    assert all(janus.allclose(w, g) for w, g in zip(want, got))
    assert [(r @ weight).shape for r in rows] == [(1, 200)] * 8


def test_strings_are_part_of_a_call():
    x, y = janus.randn(6), janus.randn(6)
    names = ["".join(["su", "m"]), "".join(["me", "an"]), "none"]
    for _ in range(4):
        for name in names + ["sum", "mean"]:
            own = "".join(list(name))  # another object each time, often where the last one was
            got = janus.nn.functional.mse_loss(x, y, reduction=own)
            d = (x - y) ** 2
            want = {"sum": d.sum(), "mean": d.mean(), "none": d}[name]
            assert janus.allclose(got, want)
            del own


LIKE = {
    "zeros_like": janus.zeros_like,
    "ones_like": janus.ones_like,
    "full_like": lambda x: janus.full_like(x, 3.0),
    "rand_like": janus.rand_like,
    "randn_like": janus.randn_like,
    "dropout": lambda x: janus.nn.functional.dropout(x, 0.25),
    "dropout of a view": lambda x: janus.nn.functional.dropout(x.t(), 0.25).t(),
    "rand": lambda x: x * janus.rand(3, 4),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("use", LIKE.values(), ids=LIKE)
def test_what_is_like_another_does_not_wait_for_it(use, grad):
    """Nor do draws, whose numbers are the program's: at once, in its order."""
    a, b = operands()
    a.requires_grad_(grad)

    def program():
        janus.manual_seed(7)
        rows = [use(janus.tanh(a * 0.1 * k)) + b for k in range(6)]
        return rows + [janus.rand(3)]

    want = [x.tolist() for x in program()]
    for _ in range(3):
        with janus.deferred(numerics="exact") as d:
            got = program()
            flushes = d.stats()["flushes"]
        assert [x.tolist() for x in got] == want
    assert flushes == 0


@pytest.mark.parametrize("end", ["block", "item", "tolist", "backward"])
def test_other_threads_run_during_a_flush(end):
    """The middle of some 0.5 s of work, in which only the interpreter lock could keep the other from running."""
    x = (janus.eye(181) * 0.99).requires_grad_(end == "backward")
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.002):
            ticks.append(time.perf_counter())

    def work(n):
        with janus.deferred(numerics="fast" if end == "backward" else "exact", max_bytes=1 << 40) as d:
            y = x.detach() if end != "backward" else x
            for _ in range(n):
                y = y @ x
            y = y.sum()
            begin = time.perf_counter()
            if end == "item":
                y.item()
            elif end == "tolist":
                y.tolist()
            elif end == "backward":
                with janus.no_grad():
                    janus.autograd.grad(y, x)
        assert d.stats()["flushes"] == 1
        return begin, time.perf_counter()

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for n in (50, 300, 1200, 4800):  # as fast as machines are
            begin, done = work(n)
            middle = [t for t in ticks if begin + (done - begin) / 4 < t < done - (done - begin) / 4]
            if done - begin > 0.4 and middle:
                return
    finally:
        stop.set()
        thread.join()
    assert middle
