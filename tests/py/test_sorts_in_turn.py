# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors that are sorted, reversed and chosen from again and again by what only the graph knows: each item may be each
one of before, which may be each one of before that.  Conversions look at every tensor once (pyfront/convert/tensors/place.c)."""
import pytest
import janus
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

TURNS = {
    "sorted in place": "parts.sort(key=lambda p: p[0].item())",
    "sorted": "parts = sorted(parts, key=lambda p: p.sum().item(), reverse=k % 2 == 0)",
    "least first": "parts[0] = min(parts, key=lambda p: p[1].item())",
    "swapped": "if parts[0].sum() > parts[-1].sum():\n            parts[0], parts[-1] = parts[-1], parts[0]",
    "chosen": "x = parts[0] if x.sum() > k else parts[1] if x[0] > 0 else parts[2]\n        parts = [x, *parts[:-1]]",
    "sorted and written": "parts.sort(key=lambda p: p[0].item())\n        x[k % 3] = -3",
}


@pytest.mark.parametrize("grown", ["known", "by the graph"])
@pytest.mark.parametrize("turn", TURNS)
def test_as_undecorated(turn, grown):
    more = "for j in x.tolist():\n        parts.append(x * j)" if grown == "by the graph" else "parts += [x * 3, -x, x + 1]"
    text = f"""
def f(x):
    parts = [x, x * 2]
    {more}
    for k in range(12):
        x = x * 0.7 + 0.1
        {TURNS[turn]}
    return [x, *parts]
"""
    f = names_of(text)["f"]
    g = janus.function(f, measure=False, verify="never")
    janus.manual_seed(0)
    for _ in range(5):
        x = janus.randn(3)
        assert [t.tolist() for t in g(x.clone())] == [t.tolist() for t in f(x.clone())]
