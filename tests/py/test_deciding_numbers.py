# SPDX-License-Identifier: Apache-2.0
"""Numbers of the graph that decide what an eager function does: never what it did in the images of a conversion."""
import pytest

import janus
from texts import names_of

DECIDES = [f"x.{f}" for f in ("chunk(n)", "split(n)", "chunk(n, 1)", "split(n, dim=1)", "sum(0, keepdim=n)", "mean(1, keepdim=n)",
                              "amax(0, keepdim=n)", "std(0, unbiased=n)", "argmax(0, keepdim=n)", "cumsum(n)", "softmax(n)", "flip(n)",
                              "unsqueeze(n)", "transpose(0, n)", "sort(descending=n)[0]", "topk(n)[0]", "diagonal(n)", "triu(n)", "roll(n)",
                              "unbind(n)", "narrow(0, 0, n)", "select(0, n)", "expand(n, 4, 4)", "repeat(n, 1)",
                              "clamp(max=n)", "flatten(n)")]


@pytest.mark.parametrize("call", DECIDES)
@pytest.mark.parametrize("of", ["m.item()", "len(m)", "int(m.sum())"])
def test_numbers_that_decide_what_an_op_does(call, of):
    """A number of the graph in an eager function: in both images it is a large one, which is a flag that holds, and more than all
    there is of a size that does not vary."""
    plain = names_of(f"def f(x, m):\n    n = {of}\n    return {call}\n")["f"]
    fast = janus.function(plain, verify="never", measure=False)
    x = janus.arange(16.0).reshape(4, 4)

    def seen(f, n):
        m = janus.ones(n, dtype=janus.int64) if of != "m.item()" else janus.tensor(n)
        try:
            got = f(x, m)
            return [(tuple(t.shape), t.tolist()) for t in (got if isinstance(got, tuple) else (got,))]
        except (RuntimeError, IndexError, ValueError, TypeError) as e:
            return type(e)

    for n in (1, 1, 2, 1, 0, 3, 4, 0, 5, 1):
        assert seen(fast, n) == seen(plain, n), n
