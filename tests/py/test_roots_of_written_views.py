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


# Roots whose rows do not lie one behind the other, and parts of them.
ROOTS = {"permuted": lambda x: x.permute(2, 0, 1), "turned": lambda x: x.transpose(0, 2), "with gaps": lambda x: x[:, 1:, ::2], "both": lambda x: x.permute(1, 0, 2)[1:],
         "rows": lambda x: x}
PARTS = {"first": lambda y: y[0], "column": lambda y: y[:, 0], "last": lambda y: y[..., 0], "rest": lambda y: y[1:], "turned": lambda y: y.transpose(0, 1),
         "diagonal": lambda y: y.diagonal(), "diagonal of others": lambda y: y.diagonal(0, 0, 2), "row": lambda y: y[0][0], "steps": lambda y: y[:, :, ::2], "corner": lambda y: y[1:, 1:],
         "permuted": lambda y: y.permute(2, 0, 1)[0], "elements": lambda y: y[:, 0, 0]}
DOES = {"mul_": lambda v, w: v.mul_(w), "copy_": lambda v, w: v.copy_(v.detach().clone() * w), "zero_": lambda v, w: v.zero_(), "add_": lambda v, w: v.add_(w)}


def seen_of(root, part, does, rows):
    y, w = root(janus.arange(24.0).reshape(2, 3, 4)).detach(), janus.tensor(2.5, requires_grad=True)
    y = y.contiguous() if rows else y
    v = part(y)
    does(v, w)
    z = (y * y).sum() + (v * 3).sum() + (part(y) * part(y)).sum()
    if z.requires_grad:
        z.backward()
    return y.requires_grad, v._base is y, y.tolist(), w.grad and w.grad.item()


@pytest.mark.parametrize("does", DOES)
@pytest.mark.parametrize("root", ROOTS)
def test_a_part_of_any_root_is_written_under_gradients(root, does):
    for part in PARTS:
        assert seen_of(ROOTS[root], PARTS[part], DOES[does], False) == seen_of(ROOTS[root], PARTS[part], DOES[does], True), part


def test_as_strided_is_a_view():
    y, w = janus.arange(6.0), janus.tensor(2.0, requires_grad=True)
    v = y.as_strided((2, 2), (3, 1), 1)
    assert v._base is y and not v.requires_grad
    v.mul_(w)
    (y * y).sum().backward()
    assert y.tolist() == [0, 2, 4, 3, 8, 10] and w.grad.item() == sum(2 * 2 * k * k for k in (1, 2, 4, 5))
    with pytest.raises(RuntimeError, match="clone"):  # it leads out of what it is a view of
        part = janus.arange(6.0)[2:4].detach()
        part.as_strided((2,), (3,), 0).mul_(w)


@pytest.mark.skipif(not hasattr(janus, "function"), reason="janus.function is not built")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_result_is_written(part):
    def f(x, p):
        y = x * p
        return PARTS[part](y)

    g = janus.function(f, verify="never", measure=False)
    for k in range(4):
        outcome = []
        for way in (f, g):
            p = janus.tensor([0.5, 2.0, 1.0, 3.0], requires_grad=True)
            r = way(janus.arange(24.0).reshape(2, 3, 4) + k, p)
            r[..., 0] = 5
            if r.dim() > 1:
                r[0].mul_(2)
            r.sum().backward()
            outcome.append((r.tolist(), p.grad.tolist()))
        assert outcome[0] == outcome[1]
    assert g.stats()["graph"]
