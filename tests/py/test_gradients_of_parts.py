# SPDX-License-Identifier: Apache-2.0
"""Gradients of a value that is used in parts, slices and positions of one axis or of several, which a graph gathers."""
import random

import pytest

import janus

SHAPE = (4, 3, 5)


def parts(seed):
    """`[(axis, index)]`: positions and slices, in random order, some of which fill an axis and some of which overlap."""
    r = random.Random(seed)
    axis = r.randrange(3)
    size = SHAPE[axis]
    chosen = [(axis, i if r.random() < 0.7 else i - size) for i in range(size)]
    if r.random() < 0.5:
        chosen.pop(r.randrange(size))
    cut = r.randrange(size)
    if r.random() < 0.5:
        chosen = [(axis, slice(0, cut))] + [(axis, i) for i in range(cut, size)]
    if r.random() < 0.3:
        chosen.append((axis, r.randrange(size)))
    if r.random() < 0.3:
        other = r.randrange(3)
        chosen.append((other, r.randrange(SHAPE[other])))
    r.shuffle(chosen)
    return chosen


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("flat", [False, True])
def test_parts_at_random(seed, flat):
    chosen = parts(seed)

    def step(w, scale):
        y = (w * scale).tanh()
        if flat:  # rows of a table
            y = y.reshape(SHAPE[0], -1)
        total = scale.sum() * 0
        for number, (axis, at) in enumerate(chosen):
            axis = 0 if flat else axis
            part = y[(slice(None),) * axis + (at if isinstance(at, slice) else at % y.shape[axis],)]
            total = total + (part.sigmoid() * (number + 1)).sum()
        w.grad = scale.grad = None
        total.backward()
        return total.detach()

    graph = janus.function(step, numerics="exact", measure=False)
    janus.manual_seed(seed)
    w, scale = janus.randn(*SHAPE).requires_grad_(), janus.randn(*SHAPE).requires_grad_()
    wanted = step(w, scale), w.grad.clone(), scale.grad.clone()
    for _ in range(4):
        found = graph(w, scale), w.grad, scale.grad
        for one, other in zip(wanted, found):
            assert one.tolist() == other.tolist()
    assert graph.stats()["graph"] > 0
