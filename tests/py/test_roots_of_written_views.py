# SPDX-License-Identifier: Apache-2.0
"""A view that was written is a part of what its root has become: whoever asks for the root's gradient (retain_grad(), a hook,
autograd.grad) before or after gets the view's share, too, as of a view that is taken anew after the write."""
import itertools

import pytest

import janus
import shares
from texts import names_of

VIEWS = {"slice": "x[1:]", "row": "x[1]", "steps": "x[::2]", "transposed": "x.t()", "shape": "x.view(-1)", "piece": "x.chunk(2, 1)[1]", "of a view": "x[1:].t()",
         "all": "x[:]"}
WRITES = {"mul_": "v.mul_(3)", "of w": "v.mul_(w[0, 0])", "add_": "v.add_(1)", "copy_": "v.copy_(v * w[0, 1])", "zero_": "v.zero_()", "sigmoid_": "v.relu_()",
          "item": "v[0] = w[0, 0] * 2", "twice": "v.mul_(2)\n    v.add_(w[1, 0])", "a part": "v[:1].mul_(5)", "the root": "x.mul_(2)"}
ASKS = {"retain_grad": ("x.retain_grad()", "y.backward()\n    g = [x.grad]"),
        "hook": ("got = []\n    x.register_hook(lambda g: got.append(g))", "y.backward()\n    g = got"),
        "grad": ("", "g = list(janus.autograd.grad(y, [x, w], allow_unused=True))"),
        "grad again": ("", "g = list(janus.autograd.grad(y, [x], create_graph=True))\n    g = g + list(janus.autograd.grad((g[0] * x).sum() + y, [w]))")}
# Where the view's first use, and who asks, stand.
ORDERS = {"before": "{ask}\n    z = (v * 5).sum()", "after": "z = (v * 5).sum()\n    {ask}"}


def texts(view, write, ask, order):
    """The program, and one in which the view is taken anew."""
    begin, end = ASKS[ask]
    for again in ("", f"v = {VIEWS[view]}"):
        yield f"""
def f(w):
    x = w * 2
    v = {VIEWS[view]}
    {WRITES[write]}
    {again}
    {ORDERS[order].format(ask=begin)}
    y = z + (x * x).sum()
    {end}
    return [t if t is None else t.tolist() for t in g], y.item()
"""


def outcome(f, k):
    w = janus.tensor([[0.5, -1.0, 2.0, 1.5], [1.0, 0.25, -0.5, 3.0]][::1 if k % 2 else -1], requires_grad=True)
    try:
        return f(w), w.grad if w.grad is None else w.grad.tolist()
    except RuntimeError as e:  # the write is of what a gradient needs
        return type(e).__name__


@pytest.mark.parametrize("view", shares.share(VIEWS))
@pytest.mark.parametrize("write", WRITES)
def test_the_roots_gradient_has_the_views_share(view, write):
    for ask, order in shares.share(itertools.product(ASKS, ORDERS)):
        f, anew = (names_of(t, janus=janus, __name__="program")["f"] for t in texts(view, write, ask, order))
        decorated = janus.function(f, verify="never", measure=False) if hasattr(janus, "function") else f
        for k in range(3):
            expected = outcome(anew, k)
            assert outcome(f, k) == expected, (ask, order)
            assert outcome(decorated, k) == expected, (ask, order)
