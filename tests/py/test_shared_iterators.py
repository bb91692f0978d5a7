# SPDX-License-Identifier: Apache-2.0
"""An iterator that a loop goes through, and from which its rounds, a callee or what comes behind takes items as well."""
import itertools

import pytest

import janus
from shares import EACH
from texts import names_of

LOOPS = ["for t in it:", "for t in itertools.chain(it):", "for k, t in enumerate(it):", "for t, u in zip(it, it):",
         "for t, _ in zip(it, itertools.count()):", "for t in (v for v in it):", "for t in map(abs, it):"]
ROUNDS = ["pass", "out.append(next(it, -1))", "out += list(it)", "for v in it:\n            out.append(v)",
          "out += [v * 2 for v in it]", "out.append(sum(it))", "rest(it, out)", "out.append(3 in it)",
          "for v in itertools.chain([t], it):\n            out.append(v)", "a, *b = it\n        out.append(b)",
          "out.append(list(zip(it, it)))", "out += itertools.islice(it, 1)"]
ENDS = ["", "break", "if t == 2:\n            break", "if t > 1:\n            return x + t, out, list(it)",
        "if float(x.sum()) > t + 3:\n            break"]
AFTER = ["", "out += list(it)", "out.append(next(it, None))", "for t in it:\n        out.append(t)"]
PROGRAMS = [parts for parts in itertools.product(LOOPS, ROUNDS, ENDS, AFTER)
            if parts[1] != "pass" or parts[2] or parts[3]]

HEAD = """import itertools

def rest(it, out):
    for v in it:
        if v == 2:
            continue
        out.append(v)

def program(x, xs):
    it, out = iter(xs), []
    {}
        out.append(t)
        {}
        {}
    {}
    return x + len(out), out, list(it)
"""


def outcome(f, x, xs):
    try:
        y, out, left = f(x, list(xs))
        return y.tolist(), out, left
    except Exception as e:  # what CPython raises is compared
        return type(e), str(e)


def programs(i):
    return names_of(HEAD.format(*(part or "pass" for part in PROGRAMS[i])))["program"]


@pytest.mark.parametrize("part", range(20))
def test_items_are_taken_once(part):
    for i in range(part, len(PROGRAMS), 20)[::EACH]:
        plain = programs(i)
        decorated = janus.function(plain, measure=False, verify="never")
        for xs in ([9, 2, 3, 4], [9, 2, 3, 4], [1, 2, 3], [1, 2, 3], [], [2], [1, 1, 5, 5, 5], [9, 2, 3, 4]):
            for x in (janus.ones(2), janus.ones(2) * 3):
                want, got = outcome(plain, x, xs), outcome(decorated, x, xs)
                assert want == got, (PROGRAMS[i], xs)


def test_loops_over_iterators_are_graphs():
    """Which are the only ones to take items."""
    def plain(x, xs):
        for i, (t, u) in enumerate(zip(xs, reversed(xs))):
            x = x * t + u - i
        for t in iter(xs):
            x = x + t
            if t == 3:
                break
        return x

    decorated = janus.function(plain, measure=False)
    for _ in range(4):
        for xs in ([1., 2., 3.], [3., 4.]):
            assert decorated(janus.ones(2), xs).tolist() == plain(janus.ones(2), xs).tolist()
    assert decorated.stats()["graph"] >= 4
