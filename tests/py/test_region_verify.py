# SPDX-License-Identifier: Apache-2.0
"""Regions of statements are compared with CPython's."""

import gc
import pathlib
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from region_programs import both, clock, t  # noqa: E402


def test_what_leaves_by_an_exception_is_not_used():
    """Statements that are compared and raise: inside a `try` of the function, out of it, and in a callee."""
    def main(function, log):
        def check(x):
            if float(x.sum()) > 100:
                raise ValueError("large")
            return x

        @function
        def f(x, k):
            clock()
            try:
                y = check(x * k)
                z = y.exp() + 1
            except ValueError as e:
                clock()
                z = x - 1
                y = str(e)
            clock()
            w = check(z + k) * 2
            v = w.tanh() + z
            return y, v

        for k in (1, 2, 3, 1000, 1, 1000, -1000, 2, 1, 1000, 5):
            log.raises(f, t(3) + 1, k)

    both(main, modes=("always", "rarely"))


def test_ways_out_are_compared():
    """`return` from inside a `with`, `break` and `continue`, under each a region of its own."""
    def main(function, log):
        @function
        def f(x, n):
            clock()
            for i in range(n):
                clock()
                with janus.no_grad():
                    y = x * i + 1
                    if i == 3:
                        return y.exp() * 2
                z = y.tanh() + x
                if i == 2 and n == 4:
                    continue
                if i == 2 and n == 3:
                    break
                clock()
                x = z * 2
            clock()
            try:
                u = x * 2 + 1
                return u.exp()
            finally:
                clock()
                log("end")

        for n in (0, 1, 2, 3, 4, 5, 3, 4, 5) * 3:
            log(f(t(3, seed=n), n))

    both(main, modes=("always", "rarely"))


def test_statements_that_are_compared_run_once(tmp_path):
    def main(function, log):
        done = []

        @function
        def f(x):
            clock()
            done.append(len(done))
            y = x * 2 + len(done)
            print("done", len(done))
            z = y.exp() + janus.rand(3)
            clock()
            return z

        for i in range(12):
            log(f(t(3, seed=i)), list(done))

    r = both(main, modes=("always",))
    assert r.total("verified") >= 3


def test_collection_goes_on_after_what_was_compared():
    @janus.function(regions=True, verify="always", measure=False)
    def f(x, raises):
        clock()
        y = x * 2 + 1
        z = y.exp() + y
        if raises:
            raise ValueError
        clock()
        return z

    for i in range(8):
        try:
            f(t(3), i in (4, 6))
        except ValueError:
            pass
        assert gc.isenabled()
        assert janus.function(lambda v: v + 1)(t(2)) is not None
