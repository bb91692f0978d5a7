# SPDX-License-Identifier: Apache-2.0
"""Handlers of signals, finalizers and callbacks of the collector are code of the program that runs whenever it likes: what it
computes is no part of a conversion that is under way, and what it raises reaches the program."""
import gc
import signal
import sys
import threading
import time

import pytest

import janus
from test_threads_first_calls import PROGRAMS
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


@pytest.fixture(autouse=True)
def another_thread():
    """To which a signal may come that is for the process."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


class Alarm(BaseException):
    pass


class Caller:
    """Calls f with 0, 1 and 2 in turn, also out of itself, and keeps what was wrong."""

    def __init__(self, f, want):
        self.f, self.want, self.n, self.depth, self.wrong = f, want, 0, 0, []

    def __call__(self, *unused):
        if self.depth > 1 or not janus.is_grad_enabled():  # where the program has them off
            return
        self.depth += 1
        self.n += 1
        try:
            k = self.n % 3
            got = self.f(k)
            if got != self.want[k]:
                self.wrong.append((k, got, self.want[k]))
        except Exception as e:
            self.wrong.append(e)
        finally:
            self.depth -= 1


class Sink:
    def write(self, text):
        pass


def made(kind, turn):
    names = names_of(PROGRAMS[kind], janus=janus, __name__="program", sink=Sink())
    want = [names["f"](k) for k in range(3)]
    verify = ["never", "rarely", "always"][turn % 3]
    f = janus.function(names["f"], verify=verify, measure=False)
    if turn % 2:
        names["g"] = janus.function(names["g"], verify=verify)
    return f, want


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_collector_calls(kind):
    before = gc.get_threshold()
    for turn in range(8):
        call = Caller(*made(kind, turn))

        class Cycle:
            def __del__(self):
                call()

        gc.callbacks.append(call)
        gc.set_threshold(50 + 37 * turn)
        try:
            for _ in range(16):
                x = Cycle()
                x.x = x
                del x
                call()
        finally:
            gc.callbacks.remove(call)
            gc.set_threshold(*before)
        assert not call.wrong
        assert gc.isenabled()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_handlers_compute(kind):
    for turn in range(4):
        call = Caller(*made(kind, turn))
        old = signal.signal(signal.SIGALRM, call)
        try:
            for i in range(24):
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.0002 * (i % 8))
                call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        assert not call.wrong


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_what_handlers_raise(kind):
    came = []

    def handler(number, frame):
        came.append(number)
        raise Alarm

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for turn in range(30):
            f, want = made(kind, turn)
            caught = 0
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.0002 * turn)
                f(0)
                f(1)
                while len(came) <= turn:
                    time.sleep(0.001)
            except Alarm:
                caught = 1
            assert caught == 1 and len(came) == turn + 1
            assert [f(k) for k in range(3)] == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert not sys.exc_info()[0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("grad", [True, False])
def test_handlers_find_gradients_as_the_program_has_them(decorated, grad):
    """Also in the middle of a backward(), of which the tape's ops are recorded or not."""
    p = janus.ones(2, requires_grad=True)

    def rec(x, n):
        return x if n == 0 else rec(x * p, n - 1)

    def f(n):
        x = janus.ones(2)
        for _ in range(20):
            x = rec(x, n)
        return x.sum()

    f, seen = janus.function(f) if decorated else f, []
    old = signal.signal(signal.SIGALRM, lambda *unused: seen.append(janus.is_grad_enabled()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for _ in range(6):
            losses = [f(300) for _ in range(3)]
            with janus.set_grad_enabled(grad):
                del seen[:]
                for loss in losses:
                    loss.backward()
                got = list(seen)
            assert all(on == grad for on in got)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert janus.is_grad_enabled()
