# SPDX-License-Identifier: Apache-2.0
"""What is written into a tensor has its shape and dtype, or raises: in graphs as in CPython, in a `try` or not, with sizes that vary from call to call.  Generated: how it is
written times the shapes of several calls times where the statement stands."""
import itertools

import pytest

import janus
from compared import close
from shares import share
from texts import names_of

WRITES = [
    "y += x", "y -= x", "y *= x", "y /= x", "y **= x", "y.add_(x)", "y.mul_(x)", "y.addcmul_(x, x)", "y.lerp_(x, 0.5)", "y.copy_(x)", "y[...] = x", "y.masked_fill_(x > 1.5, 0.5)",
    "y[:1] += x", "y.T.add_(x)", "y.view(-1).mul_(x)", "y += x.double()", "y.add_(x.double())", "y += 1j", "y.fill_(x)", "y.clamp_(min=x)", "y.addmm_(x, x)", "y.data += x", "y.t_()\n{in}y += x",
    "z = y + x\n{in}y.copy_(z)", "y = y + x\n{in}y += x", "y.add_(x.sum())", "y.relu_()\n{in}y.sub_(x)", "y.zero_()\n{in}y += x",
]
PLACES = {
    "plain": "    {write}\n",
    "try": "    try:\n        {write}\n    except (RuntimeError, TypeError, ValueError, IndexError) as e:\n        return type(e).__name__, y\n",
    "with finally": "    try:\n        {write}\n    finally:\n        a.add_(1)\n",
    "branch": "    if a.sum() > 2:\n        {write}\n    else:\n        y = y * 2\n",
    "loop": "    for i in range(2):\n        {write}\n",
}
# The shapes of y and x of one call after the other.
SHAPES = [
    [((3,), (3,))], [((), (3,))], [((1,), (3,))], [((3,), (1,))], [((2, 1), (2, 3))], [((3,), (2, 3))], [((2, 3), (3,))], [((0,), (1,))], [((1,), (0,))], [((2, 2), (2, 2))],
    [((n,), (n,)) for n in (3, 4, 5, 6, 1, 7)] + [((1,), (4,)), ((4,), (1,)), ((5,), (4,))],
    [((n, 2), (n, 2)) for n in (3, 4, 5, 6)] + [((1, 2), (4, 2)), ((4, 2), (2,)), ((2,), (4, 2))],
    [((n,), ()) for n in (3, 4, 5, 6)] + [((), ()), ((), (4,))],
]


def outcomes(f, shapes):
    seen = []
    for i in range(max(8, len(shapes) + 2)):
        of, what = shapes[i % len(shapes)]
        a, x = janus.arange(1.0, 1.0 + max(1, janus.ones(of).numel()))[:janus.ones(of).numel()].reshape(of), janus.ones(what) * (i % 3 + 1)
        try:
            r = f(a, x)
        except Exception as e:
            r = type(e).__name__, str(e)
        seen.append((r, a))
    return seen


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", WRITES)
def test_as_undecorated(write, place):
    graphs, ways = 0, share(itertools.product(SHAPES, ("a * 2", "a.clone()", "a")))
    for at, (shapes, of) in enumerate(ways):
        indent = " " * (4 if place == "plain" else 8)
        text = f"def f(a, x):\n    y = {of}\n" + PLACES[place].format(write=write.replace("{in}", indent)) + "    return y, y.sum()\n"
        f = names_of(text)["f"]
        want = outcomes(f, shapes)
        g = janus.function(f, measure=False, verify="never", numerics=("fast", "exact")[at % 2])
        got = outcomes(g, shapes)
        assert close(want, got), (text, shapes, [z for z in zip(want, got) if not close(*z)][:1])
        graphs += g.stats()["graph"] > 2
    if write in ("y += x", "y.mul_(x)", "y.copy_(x)") and place in ("plain", "branch"):
        assert graphs >= 0.25 * len(ways), f"{graphs} of {len(ways)}"
