# SPDX-License-Identifier: Apache-2.0
"""Memory of what janus.deferred() records: results share blocks of their groups, and nobody can tell but by the bytes."""

import gc
import random
import subprocess
import sys
import textwrap
import threading

import pytest

import janus
from shares import LIGHT

WIDTH = 96  # a row has memory of its group; a number and a small row have their own

# One thing done with the tensors so far: (tensors, number) -> new ones.
STEPS = {
    "linear": lambda t, k: [x @ t[0] for x in t[1:4]],
    "tanh": lambda t, k: [janus.tanh(x) for x in t[-3:]],
    "add": lambda t, k: [x + y for x, y in zip(t[1:], t[2:])][-4:],
    "number": lambda t, k: [x * (k + 0.5) for x in t[-2:]],
    "chunk": lambda t, k: list(t[-1].chunk(2, -1)),
    "view of a view": lambda t, k: [t[-1].reshape(-1)[4:].view(-1, 4)[1:, 2]],
    "transpose": lambda t, k: [t[-1].reshape(8, -1).t()],
    "strided": lambda t, k: [t[-2].reshape(-1)[::3]],
    "expand": lambda t, k: [t[-1].reshape(-1)[:1].expand(70)],
    "detach": lambda t, k: [t[-1].detach()],
    "sum": lambda t, k: [x.sum() for x in t[-3:]],
    "cat": lambda t, k: [janus.cat([x.reshape(-1) for x in t[-3:]])],
    "shared": lambda t, k: [t[0].sum(0) * 2.0 for _ in range(3)],
    "read": lambda t, k: [janus.full((1, WIDTH), t[-1].reshape(-1)[0].item() % 3)],
    "write": lambda t, k: [t[-1].add_(1.0)],
    "write a view": lambda t, k: [t[-1].reshape(-1)[:7].mul_(0.5)],
    "write an operand": lambda t, k: [t[1].mul_(0.75)],
    "forget": lambda t, k: t.__delitem__(slice(5, None, 2)) or [],
    "layer norm": lambda t, k: [janus.nn.functional.layer_norm(x, (WIDTH,)) for x in t[1:4]],
    "pair": lambda t, k: list(t[-1].reshape(-1).max(0)),
}


def program(steps):
    """All tensors at the end; each as long as its name lasts."""
    janus.manual_seed(1)
    t = [janus.randn(WIDTH, WIDTH) * 0.1] + [janus.randn(1, WIDTH) for _ in range(4)]
    for k, name in enumerate(steps):
        try:
            t += STEPS[name](t, k)
        except Exception as e:
            t.append(janus.full((1, WIDTH), float(len(str(e)))))
            t[-1].name = type(e).__name__
    return t


def seen(t):
    return [(tuple(x.shape), x.stride(), x.storage_offset() if hasattr(x, "storage_offset") else 0, x.clone()) for x in t]


@pytest.mark.parametrize("seed", range(20 if LIGHT else 120))
def test_generated(seed):
    rng = random.Random(seed)
    steps = [rng.choice(list(STEPS)) for _ in range(rng.randrange(3, 16))]
    want = seen(program(steps))
    for flush_after in (0, 0, 1, 2, 3, 7):
        for numerics in ("fast", "exact"):
            with janus.deferred(max_ops=flush_after, numerics=numerics):
                got = program(steps)
            got = seen(got)
            assert len(want) == len(got), steps
            for w, g in zip(want, got):
                assert w[:3] == g[:3], (steps, w[:3], g[:3])
                assert janus.allclose(w[3], g[3], rtol=1e-4, atol=1e-4, equal_nan=True), (steps, numerics, flush_after)


def test_results_of_a_group_are_tensors_of_their_own():
    x = [janus.full((1, WIDTH), float(i)) for i in range(50)]
    with janus.deferred() as d:
        y = [a + 1.0 for a in x]
    assert d.stats()["grouped"] == 50
    for i, a in enumerate(y):
        a.fill_(-1.0)
        assert all(b.sum().item() == (k + 1) * WIDTH for k, b in enumerate(y) if k > i)
    assert all(a._version == 1 for a in y) if hasattr(y[0], "_version") else True


def test_shared_results_are_tensors_of_their_own():
    w = janus.ones(WIDTH, 4)
    with janus.deferred():
        y = [w.sum(1) for _ in range(9)]
    y[4].zero_()
    assert [a.sum().item() for a in y] == [4.0 * WIDTH] * 4 + [0.0] + [4.0 * WIDTH] * 4


def in_process(source):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, check=True).stdout


def test_what_outlives_its_group_does_not_keep_it():
    """Of each of 200 groups of 2 MB one row of 1 KB is kept: 400 MB, if a row kept its group; blocks that are shared
    have a bound of 128 MB."""
    grown = in_process("""
        import resource, janus
        rows = [janus.full((1, 256), float(i)) for i in range(2048)]
        kept = []
        def step():
            with janus.deferred():
                y = [r + 1.0 for r in rows]
            kept.append(y[len(kept) % 2048])
        for _ in range(5): step()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(195): step()
        assert all(k.sum().item() == 256.0 * (i % 2048 + 1) for i, k in enumerate(kept))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    assert int(grown) < (128 + 24) << 10


def test_views_alone_are_bounded():
    grown = in_process("""
        import resource, janus
        x = janus.ones(1, 256)
        with janus.deferred() as d:
            y = x + 1.0
            for _ in range(20000): y[0]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(200000): z = y[0]
            assert z.sum().item() == 512.0
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    assert int(grown) < 48 << 10


def test_freed_by_another_thread():
    def step(out):
        x = janus.ones(1, WIDTH)
        with janus.deferred():
            out += [[(x + i, (x * i)[0, 3:]) for i in range(40)]]

    out = []
    for _ in range(6):
        threads = [threading.Thread(target=step, args=(out,)) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for pairs in out:
            assert all(a.sum().item() == WIDTH * (i + 1) and b.sum().item() == i * (WIDTH - 3) for i, (a, b) in enumerate(pairs))
        del out[::2]
        gc.collect()


def test_a_thread_that_looks_at_a_view():
    x = janus.ones(1, WIDTH)
    got = []
    with janus.deferred():
        y = x + 1.0
        view = y[0, 5:9]
        other = threading.Thread(target=lambda: got.append((view.tolist(), y[0, 0].item())))
        other.start()
        other.join()
    assert got == [([2.0] * 4, 2.0)] and view.tolist() == [2.0] * 4
