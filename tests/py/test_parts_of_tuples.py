# SPDX-License-Identifier: Apache-2.0
"""Parts, sums and repetitions of tuples and ranges: which object they are, and of which type."""
import collections
import itertools

import pytest

import janus
from texts import names_of

Pair = collections.namedtuple("Pair", "a b")
WHAT = ("T", "TT", "(x, n)", "pair", "x.shape", "L", "made", "h.T", "D[1]", "(1, 2)", "()", "(*T,)", "T0", "R", "range(n)", "range(n, 0, -1)", "range(x.shape[0])")
DONE = ("tuple({0})", "{0} + ()", "() + {0}", "{0} * 1", "1 * {0}", "{0} * n", "{0}[:]", "{0}[0:]", "{0}[:9]", "{0}[::1]", "{0}[:n]", "{0}[a:]", "{0}[::-1]", "{0}[::-1][::-1]",
        "{0}[-9:]", "{0}[1:][0:]", "{0}[::2]", "{0} * 0", "(lambda *p: p)(*{0})", "{0} or 3", "tuple(list({0}))", "list({0}[1:])", "len({0}[1:])", "type({0})({0})", "sum([{0}], ())", "{0}.__add__(())")
TEXT = """
def f(x, n, a, L, T, TT, T0, pair, R, h, D):
    inner = [1, n]
    made = (inner, 2)
    q = {what}
    r = {done}
    return x * 2, r is q, r, q
"""


class Holder:
    pass


def shown(v):
    parts = [shown(w) for w in v] if isinstance(v, (list, tuple)) else str(v).split(" at 0x")[0]
    return type(v).__name__, parts


def outcomes(f):
    out, h = [], Holder()
    T, TT, pair, R, D = (1, 2), (janus.ones(1), 2), Pair(1, 2), range(1, 7), {1: (5, 6)}
    h.T = (3, 4)
    known = [T, TT, pair, R, h.T, D[1]]
    for n, a in [(1, 0)] * 3 + [(5, 1), (0, 0), (1, 0), (2, 0)]:
        try:
            _, same, r, q = f(janus.ones(2, 3), n, a, [1, 2, 1], T, TT, (), pair, R, h, D)
            out.append((same, r is q, [r is k for k in known], shown(r), shown(q)))
        except (TypeError, IndexError, AttributeError) as e:
            out.append(str(e))
    return out


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_parts(what):
    wrong, graphs = [], 0
    for done in DONE:
        text = TEXT.format(what=what, done=done.format("q"))
        if what[0] in "rR":  # none leaves a graph
            text = text.replace("r is q, r, q", "type(r) is type(q), [*r] if a < 5 else r, 0")
        names = names_of(text)
        want, f = outcomes(names["f"]), janus.function(names["f"], verify="never", measure=False)
        got = outcomes(f)
        graphs += f.stats()["graph"] > 0
        if got != want:
            wrong.append((done, [(w, g) for w, g in zip(want, got) if w != g][0]))
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    assert graphs >= 3


def test_there_is_one_empty_tuple():
    ways = ("()", "T[1:1]", "T[:0]", "tuple([])", "(*L[:0],)", "T0", "T * 0", "T[5:]")
    for a, b in itertools.product(ways, repeat=2):
        names = names_of(f"def f(x, T, T0, L):\n    return x * 2, {a} is {b}, {a} is not T, ({a}) or 3")
        f = janus.function(names["f"], verify="never", measure=False)
        for _ in range(4):
            args = janus.ones(2), (1, 2), (), [3]
            assert f(*args)[1:] == names["f"](*args)[1:], (a, b)
