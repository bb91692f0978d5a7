# SPDX-License-Identifier: Apache-2.0
"""Signals that arrive while a graph runs: the handler runs where it would, and state is whole."""

import os
import signal
import subprocess
import sys
import time

import pytest

import janus

if not hasattr(janus, "function") or not hasattr(signal, "setitimer"):
    pytest.skip("no graphs, or no timers", allow_module_level=True)


class Model:
    def __init__(self):
        self.count = 0
        self.w = janus.tensor([1.0])


def slow(function):
    @function
    def run(model, n):
        model.count = model.count + 1
        total = 0
        for i in range(n):
            total = total + i % 7
        return model.w + total

    return run


def warm(run, model):
    """The number of rounds becomes an input."""
    for n in (3, 5, 7, 11, 13):
        run(model, n)
    assert run.stats()["graph"] > 0
    model.count = 0


ROUNDS = 2_000_000_000  # far more than there is time for


def test_timer_handler_raises():
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop

    run, model = slow(janus.function), Model()
    warm(run, model)
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        with pytest.raises(Stop):
            run(model, ROUNDS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 5
    assert model.count in (0, 1)  # as CPython left it: nothing came from the graph
    stats = run.stats()
    assert stats["fallbacks"] == 1 and stats["entries"] > 0
    model.count = 0
    assert run(model, 4).item() == 1 + 0 + 1 + 2 + 3 and model.count == 1


def test_interrupt_from_another_process():
    run, model = slow(janus.function), Model()
    warm(run, model)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts behind ignores it
    child = subprocess.Popen([sys.executable, "-c", "import os, time; print(flush=True); time.sleep(0.2); "
                              f"os.kill({os.getpid()}, 2)"], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()  # a loaded machine takes its time to start it
        with pytest.raises(KeyboardInterrupt):
            while child.poll() is None:  # until it meets a running graph
                run(model, ROUNDS)
    finally:
        child.communicate()
        signal.signal(signal.SIGINT, before)
    assert run.stats()["fallbacks"] == 1
    assert run(model, 5).item() == 11


def test_handler_that_returns():
    """The call goes on in CPython, with what the handler changed."""
    run, model = slow(janus.function), Model()
    warm(run, model)
    seen = []

    def handler(number, frame):
        seen.append(number)
        model.w = janus.tensor([100.0])

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    n = 3_000_000
    try:
        while not seen:  # until a timer meets a running graph
            result = run(model, n)
            n *= 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    n //= 2
    total = sum(range(7)) * (n // 7) + sum(range(n % 7))  # f32 rounds above 2**24
    assert abs(result.item() - total) <= 1e-3 * total
    assert run(model, 2).item() == 101.0


def test_programs_own_wakeup_descriptor_is_kept():
    r, w = os.pipe()
    os.set_blocking(w, False)
    before = signal.set_wakeup_fd(w)
    try:
        run, model = slow(janus.function), Model()
        warm(run, model)
        assert signal.set_wakeup_fd(w) == w
    finally:
        signal.set_wakeup_fd(before)
        os.close(r)
        os.close(w)
