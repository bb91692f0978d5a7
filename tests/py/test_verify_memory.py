# SPDX-License-Identifier: Apache-2.0
"""What comparing a graph with CPython needs of memory, and that a large tensor, of which no copy is made at once, is compared."""
import os
import subprocess
import sys

import pytest

import janus

PROGRAM = """
import janus
from janus import nn

SIZE, STEPS = 2 << 20, 6  # numbers of a table

def highest():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) << 10

def run(decorate):
    model = nn.Embedding(SIZE // 32, 32)
    out = nn.Linear(32, 4)
    optimizer = janus.optim.Adagrad([*model.parameters(), *out.parameters()], lr=0.1)

    def step(words):
        optimizer.zero_grad()
        loss = janus.zeros(())
        for word in words:
            loss = loss + janus.tanh(out(model(word))).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = decorate(step)
    for k in range(STEPS):
        f([janus.tensor([k + 3 * i]) for i in range(4)])
    return f

run(lambda step: step)
plain = highest()
f = run(lambda step: janus.function(step, verify="always", measure=False, regions=False))
assert f.stats()["verified"] == STEPS - 1, f.stats()
print((highest() - plain) / (4 * SIZE))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="nothing says how large the process was")
@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps what is freed, or notes of it")
def test_a_graph_and_cpython_are_not_in_memory_together(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=200,
                          env=dict(os.environ, JANUS_NUM_THREADS="1"))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 5.5, "tables more than undecorated: copies of two and a gradient are three"


LARGE = 600_000  # numbers: more than is copied before anybody writes it


@pytest.mark.filterwarnings("ignore::janus.SpeculationWarning")
@pytest.mark.skipif(not hasattr(janus._C, "_mutations"), reason="built without -DJANUS_MUTATIONS")
def test_a_write_to_a_large_tensor_that_a_graph_forgets(monkeypatch):
    @janus.function(verify="rarely")
    def f(x, y):
        x.add_(1)
        return y * 2

    monkeypatch.setenv("JANUS_MUTATE", str(janus._C._mutations()[0].index("a tensor is not written")))
    x, y = janus.zeros(LARGE), janus.zeros(LARGE)
    for i in range(1, 9):  # that floats differ may be rounding, of which two shadows decide
        assert f(x, y).sum().item() == 0
        assert x[0].item() == i and x[-1].item() == i
    assert f.stats()["disproved"] == 1 and f.stats()["verified"] == 0


def test_large_tensors_that_are_written_and_read():
    @janus.function(verify="always")
    def f(x, y, views):
        x[5] = x[5] + 1
        views[0].mul_(2)
        return x[5] + y[-1], y.sum()

    x, y, z = janus.zeros(LARGE), janus.ones(LARGE), janus.ones(2, LARGE)
    for i in range(1, 7):
        first, total = f(x, y, [z[1]])
        assert first.item() == i + 1 and total.item() == LARGE
        assert z[1, 7].item() == 2 ** i and z[0, 7].item() == 1
    assert f.stats()["verified"] == 5


def test_large_tensors_that_get_one_value():
    @janus.function(verify="always")
    def f(x, y, z, w):
        v = z * 2
        x.copy_(v)
        y.copy_(v)
        w.copy_(v + 1)
        y[3] = y[3] + 5
        z.mul_(3)
        return v[3]

    x, y, w, z = janus.zeros(LARGE), janus.zeros(LARGE), janus.zeros(LARGE), janus.ones(LARGE)
    for i in range(5):
        v = 2.0 * 3 ** i
        assert f(x, y, z, w).item() == v and x[3].item() == v == y[4].item()
        assert y[3].item() == v + 5 and w[-1].item() == v + 1 and z[0].item() == 3.0 ** (i + 1)
    stats = f.stats()
    assert stats["verified"] == 4 and stats["disproved"] == 0, stats
