# SPDX-License-Identifier: Apache-2.0
"""A run has a bound of memory: a recursion without end that makes tensors ends as CPython's does, and what it was given is
whole.  JANUS_MEMORY_LIMIT, and an address space (RLIMIT_AS), set the bound."""
import os
import resource
import subprocess
import sys

import pytest

PROGRAM = """
import janus

class Box:
    pass

def total(x, n, box, wide):
    if n == 0:
        return x
    box.n = box.n + 1
    y = x.expand(wide, 1000) * 1.0
    return total(y[0], n - 1, box, wide) + y.sum(0) * 0.0 + x

def numbers(n):
    if n == 0:
        return 0
    return numbers(n - 1) + 1

f = janus.function(total, verify="never", measure=False)
g = janus.function(numbers, verify="never", measure=False)
x = janus.ones(1000)

def box():
    b = Box()
    b.n = 0
    return b

for n in (3, 5, 4, 7, 6, 3, 9):
    assert f(x, n, box(), 1).sum().item() == total(x, n, box(), 1).sum().item()
    assert g(n) == n
assert f.stats()["graph"] > 0 and g.stats()["graph"] > 0, (f.stats(), g.stats())

for call in (lambda: f(x, 3000000, box(), 1), lambda: f(x, 200000, box(), 10), lambda: g(100000000)):
    try:
        call()
        raise SystemExit("it ended")
    except (RecursionError, MemoryError):
        pass
assert x.sum().item() == 1000
for n in (3, 5, 4):  # and goes on, as graphs or not
    assert f(x, n, box(), 1).sum().item() == total(x, n, box(), 1).sum().item()
    assert g(n) == n
# getrusage would count what the process that made this one had
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024)
"""


def run(folder, env=None, limit=None):
    (folder / "program.py").write_text(PROGRAM)

    def less():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.run([sys.executable, folder / "program.py"], capture_output=True, text=True, timeout=250, preexec_fn=less,
                          env=dict(os.environ, JANUS_NUM_THREADS="1", **(env or {})))


def test_a_limit_that_is_set(tmp_path):
    done = run(tmp_path, {"JANUS_MEMORY_LIMIT": "200M"})
    assert done.returncode == 0, done.stderr + done.stdout
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # it keeps what is freed for a while
        assert int(done.stdout) < 600, "MB at most"


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs an address space of its own")
def test_an_address_space(tmp_path):
    done = run(tmp_path, limit=2 << 30)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("text, expected", [("100", 100), ("64K", 64 << 10), ("2G", 2 << 30), ("many", None), ("-1", None),
                                            ("1GB", None), ("0", None)])
def test_how_it_is_written(text, expected):
    child = subprocess.run([sys.executable, "-c", "import janus; print(janus._C._memory_limit)"], capture_output=True, text=True,
                           env=dict(os.environ, JANUS_MEMORY_LIMIT=text), timeout=100)
    usual = subprocess.run([sys.executable, "-c", "import janus; print(janus._C._memory_limit)"], capture_output=True, text=True,
                           env={k: v for k, v in os.environ.items() if k != "JANUS_MEMORY_LIMIT"}, timeout=100)
    assert child.stdout == (f"{expected}\n" if expected else usual.stdout) and usual.stdout
