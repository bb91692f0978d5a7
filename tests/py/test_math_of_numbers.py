# SPDX-License-Identifier: Apache-2.0
"""Functions of `math` whose signs matter, of numbers of the graph: bit for bit what CPython's are, and what raises raises."""
import math
import struct

import pytest

import janus
from shares import share
from texts import names_of

NUMBERS = [0.0, -0.0, 1.5, -1.5, 3, -3, 0, True, 7.25, -0.1, math.inf, -math.inf, math.nan, -math.nan, 1e308, 5e-324, -5e-324, 2**62 + 1, -2**62, 2**70, -2**63]
CALLS = ["math.copysign(a, b)", "math.copysign(1.0, b)", "math.copysign(a, -0.0)", "math.fmod(a, b)", "math.fmod(b, 2.5)", "math.fmod(-7, b)", "math.pow(a, b)", "math.pow(b, 3)",
         "math.pow(2, a)", "math.modf(b)", "math.modf(a)[0] * math.copysign(2, b)", "math.copysign(3, math.fmod(a, 2))"]
# Of a tensor (float64, so that -0.0 and NaN come as they are), and of an argument.
FROM = {"tensor": "a, b = p[0].item(), p[1].item()", "argument": "a, b = i, k"}
PROGRAM = """
def program(p, i, k, x):
    {start}
    r = {call}
    return r, x * 2 if k == k and k > 0 else x
"""


def bits(v, signed):
    """The sign of a NaN says nothing but where one is given."""
    if isinstance(v, tuple):
        return [bits(x, signed) for x in v]
    return v.tolist() if isinstance(v, janus.Tensor) else (type(v), struct.pack("d", v if v == v or signed else math.nan))


def outcome(f, a, b, whole, signed=False):
    p = janus.tensor([float(a), float(b)], dtype=janus.float64)
    try:
        return bits(f(p, a if whole else float(a), b if whole else float(b), janus.tensor([1.0, -2.0])), signed)
    except (ValueError, OverflowError, ZeroDivisionError) as e:
        return type(e), str(e)


@pytest.mark.parametrize("start", FROM)
@pytest.mark.parametrize("call", CALLS)
def test_is_what_cpython_has(call, start):
    f = names_of(PROGRAM.format(start=FROM[start], call=call), math=math)["program"]
    decorated = janus.function(f, measure=False, verify="never")
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS]
    for a, b in [(1.25, 2.5), (-2.5, 1.5), (2.25, 0.5), (3.5, -1.5)] * 3 + share(pairs)[:120]:
        how = a, b, start == "argument", call.startswith("math.copysign")
        assert outcome(f, *how) == outcome(decorated, *how), (a, b, janus.explain(decorated))
    decorated = janus.function(f, measure=False, verify="never")  # what raises makes others rare
    for a, b in [(1.25, 2.0), (2.5, 4.0), (6.5, 3.0)] * 4:
        assert outcome(f, a, b, False) == outcome(decorated, a, b, False)
    assert decorated.stats()["graph"] >= 6, janus.explain(decorated)
