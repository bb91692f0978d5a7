# SPDX-License-Identifier: Apache-2.0
"""Which of the lambdas that begin on one line is meant.  CPython 3.10 has no columns: there the code of each is compared."""
import itertools

import pytest
from texts import names_of

import janus

BODIES = ["x + a", "x * b", "x + b", "f(x) + a", "(lambda y: y + a)(x)", "sum([x * k for k in (a, b)])", "x.tanh()", "x + 1", "x + 1.0",
          "x - 0.0", "x - -0.0", "a if b else x"]


@pytest.mark.parametrize("first, second", list(itertools.permutations(BODIES, 2)))
def test_two(first, second):
    names = names_of(f"def made(a, b, f):\n    return (lambda x: {first}), (lambda x: {second})\n")
    for k, f in enumerate(names["made"](2.0, 3.0, janus.sin)):
        decorated = janus.function(f, verify="never", measure=False)
        x = janus.tensor([0.5, -1.0])
        for _ in range(4):
            got, want = decorated(x), f(x)
            assert janus.equal(got, want) if isinstance(want, janus.Tensor) else got == want
        assert decorated.stats()["graph"] > 0, (k, janus.explain(decorated))
