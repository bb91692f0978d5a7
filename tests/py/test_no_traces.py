# SPDX-License-Identifier: Apache-2.0
"""What conversions and runs leave of themselves in the interpreter: nothing that a program sees."""
import gc
import linecache
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings

import numpy
import pytest
from texts import names_of

import janus


def state():
    return {"linecache": dict(linecache.cache), "filters": list(warnings.filters), "version": getattr(warnings, "_filters_version", 0),
            "random": random.getstate(), "numpy": numpy.random.get_state()[1].tolist(), "environ": dict(os.environ), "path": list(sys.path),
            "hooks": (sys.excepthook, sys.displayhook, sys.gettrace(), sys.getprofile(), threading.excepthook, sys.unraisablehook),
            "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug()), "recursion": sys.getrecursionlimit(), "threads": threading.active_count(),
            "signals": [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV)], "locale": locale.setlocale(locale.LC_ALL),
            "logging": list(logging.root.handlers), "streams": (sys.stdout, sys.stderr), "folder": os.getcwd(), "switch": sys.getswitchinterval()}


PROGRAMS = {
    "graph": "def f(x):\n    return (x + 1).tanh()",
    "region": "def f(x):\n    y = x + 1\n    open('/dev/null').close()\n    z = y * 2\n    return z * z + y",
    "refused": "def f(x):\n    return x if 'a' 'b' is None else open('/dev/null').close()",
    "lambda": "f = (lambda x: x + 1), (lambda x: x * 2)\nf = f[1]",
    "recursion": "def f(x, n=3):\n    return f(x.tanh(), n - 1) if n else x",
    "escape": "def f(x):\n    s = '\\d'\n    return x * len(s)",
    "discarded": "def f(x):\n    if x.sum() > 3:\n        raise ValueError(x)\n    return x",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left(name, measure):
    with warnings.catch_warnings():  # that the text of the program warns of
        warnings.simplefilter("ignore")
        f = names_of(PROGRAMS[name])["f"]
    f, x = janus.function(f, measure=measure), janus.ones(3)
    linecache.checkcache()
    before = state()
    for k in range(12):
        try:
            f(x * (k % 3))
        except ValueError:
            pass
    str(janus.explain(f))
    after = state()
    after["linecache"] = {k: v for k, v in after["linecache"].items() if k in before["linecache"]}  # explain() shows source
    assert [k for k in before if before[k] != after[k]] == []


def test_the_source_is_read_without_a_trace():
    f = janus.function(state, measure=False)
    linecache.clearcache()
    for _ in range(4):
        f()
    assert __file__ not in linecache.cache


def test_a_warning_is_given_once():
    """A function of warnings that changes filters has every warning given again."""
    names = names_of("import warnings\ndef f(x):\n    warnings.warn('once')\n    return x + 1", janus=janus)
    for decorate in (lambda f: f, lambda f: janus.function(f, measure=False)):
        f = decorate(names["f"])
        names.pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as given:
            warnings.resetwarnings()
            warnings.filterwarnings("ignore", category=janus.PerformanceWarning)
            warnings.filterwarnings("default", message="once")
            for _ in range(8):
                f(janus.ones(2))
        assert [str(w.message) for w in given] == ["once"]
