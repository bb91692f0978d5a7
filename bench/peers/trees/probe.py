# SPDX-License-Identifier: Apache-2.0
"""The best rate of a square matrix product of a library, with all threads."""
import importlib
import time

SIZES = (384, 768)
state = {}


def prepare(name, threads):
    lib = importlib.import_module("janus" if name == "janus" else "torch")
    lib.set_num_threads(threads)
    state["operands"] = [(lib.ones(n, n), lib.ones(n, n)) for n in SIZES]
    measure(0.05)
    return str(lib.__version__)


def measure(seconds):
    """FLOPs per second of the best size; each gets its part of the time."""
    best = 0.0
    for a, b in state["operands"]:
        n, start, done = a.shape[0], time.perf_counter(), 0
        while time.perf_counter() - start < seconds / len(SIZES):
            a @ b
            done += 1
        best = max(best, 2 * n ** 3 * done / (time.perf_counter() - start))
    return best
