# SPDX-License-Identifier: Apache-2.0
"""`retain_grad()` is about the tensor: after writes in place its `.grad` is that of what it holds last, also where a view wrote."""
import itertools

import pytest

import janus
from texts import names_of

WRITES = {"mul": "y.mul_(w)", "fill": "y.fill_(2.0)", "part": "y[0, 1] = w[1]", "view": "v.mul_(w[1:])", "view_fill": "v.fill_(3.0)",
          "again": "y.add_(w).mul_(2)", "view_copy": "v.copy_(w[1:].exp())"}
PROGRAMS = [(kept, steps) for kept in ("y", "v") for n in (1, 2, 3) for steps in itertools.permutations(WRITES, n)]


def told(kept, steps, last=False, decorate=lambda f: f):
    """Gradients; `last`: of a tensor that stands for what `kept` holds after all writes, found by adding zeros to it."""
    lines = ["def f(x, w, zeros):", "    y = x * 2", "    v = y[:, 1:]"]
    lines += [] if last else [f"    {kept}.retain_grad()"]
    lines += [f"    {WRITES[s]}" for s in steps]
    # what reads the other name of the same memory counts for y, which is all of it, and not for v
    lines += ["    y = y + zeros", "    v = y[:, 1:]"] if last and kept == "y" else []
    lines += ["    v = v + zeros"] if last and kept == "v" else []
    lines += ["    return (y * y).sum() + v.sin().sum(), y, v"]
    f = decorate(names_of("\n".join(lines) + "\n")["f"])
    x = janus.tensor([[0.25, -0.5, 0.75]], dtype=janus.float64, requires_grad=True)
    w = janus.tensor([0.5, 1.5, -0.75], dtype=janus.float64, requires_grad=True)
    zeros = janus.zeros(1, 3 if kept == "y" else 2, dtype=janus.float64, requires_grad=True)
    loss, y, v = f(x, w, zeros)
    loss.backward()
    held = zeros if last else {"y": y, "v": v}[kept]
    return [None if t.grad is None else t.grad.reshape(-1).tolist() for t in (x, w, held)]


@pytest.mark.parametrize("kept", "yv")
def test_retained(kept):
    for of, steps in PROGRAMS:
        if of == kept:
            found, expected = told(kept, steps), told(kept, steps, last=True)
            for a, b in zip(found, expected):
                assert a == pytest.approx(b) if a is not None and b is not None else not any(a or b or ()), (kept, steps)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_decorated(numerics):
    for kept, steps in PROGRAMS[::23]:
        made = told(kept, steps)
        decorated = []

        def decorate(f):
            decorated[:] = decorated or [janus.function(f, measure=False, numerics=numerics)]
            return decorated[0]
        for _ in range(3):
            assert told(kept, steps, decorate=decorate) == made, (kept, steps)
