# SPDX-License-Identifier: Apache-2.0
"""Strides in graphs: every view after every view of what every kind of op makes.

Inside, strides decide what view() takes; outside, the strides of what leaves are seen. Both are compared with the
undecorated program's, and so are the errors of view()."""
import itertools

import janus
import pytest
from shares import share
from texts import names_of

MADE = {"argument": "x", "add": "(x + 1)", "product": "(x @ w)", "linear": "F.linear(x, w)", "sum": "x.sum(0, keepdim=True)",
        "expanded": "x[:1].expand(2, 4, 6)", "joined": "janus.cat([x, x], 1)", "picked": "x[janus.tensor([1, 0])]",
        "transposed": "x.transpose(0, 2)", "softmax": "x.softmax(-1)", "branch": "(x * 2 if x.sum() > 0 else x.exp())"}
VIEWS = {"transpose": "y.transpose(0, 1)", "last": "y.transpose(-1, -2)", "permute": "y.permute(*range(y.dim())[::-1])", "slice": "y[..., 1:3]",
         "step": "y[..., ::2]", "row": "y[0]", "column": "y[..., 0]", "new": "y[None]", "newlast": "y[..., None]", "unsqueeze": "y.unsqueeze(1)",
         "squeeze": "y.squeeze()", "split": "y.split(2, -1)[1]", "chunk": "y.chunk(2, -1)[0]", "narrow": "y.narrow(-1, 1, 2)", "flatten": "y.flatten()",
         "reshape": "y.reshape(-1, 2)", "view": "y.view(y.shape[0], -1)", "viewlast": "y.view(*y.shape[:-1], 2, -1)", "expand": "y[None].expand(3, *y.shape)",
         "unbind": "y.unbind(0)[-1]", "detach": "y.detach()", "mt": "y.movedim(0, -1)", "at": "y[i]", "item": "y[int(i)]", "contiguous": "y.contiguous()",
         "clone": "y.clone()", "empty": "y[:0]", "select": "y.select(-1, 1)", "t": "y.swapaxes(0, -1)"}


def program(made, views):
    lines = [f"    y = {MADE[made]}"] + [f"    y = {VIEWS[v]}" for v in views]
    text = "def f(x, w, i):\n" + "\n".join(lines) + "\n    return y * 2, y, y.stride(), y.is_contiguous()\n"
    return names_of(text, janus=janus, F=janus.nn.functional)["f"]


def seen(f, grad):
    x = (janus.arange(48.0).reshape(2, 4, 6) / 7 - 3).requires_grad_(grad)
    try:
        z, y, strides, contiguous = f(x, janus.eye(6) + 1, janus.tensor(0))
    except (RuntimeError, IndexError, ValueError, TypeError) as e:
        return type(e).__name__, str(e)
    return z.tolist(), z.stride(), y.stride(), tuple(y.shape), y.is_contiguous(), y.requires_grad, strides, contiguous


def compare(made, views):
    f = program(made, views)
    g = janus.function(f, verify="never")
    for grad in (False, True):
        for _ in range(3):
            assert seen(g, grad) == seen(f, grad), (made, views, grad)
    return g.stats()["graph"]


@pytest.mark.parametrize("made", MADE)
def test_views_of(made):
    """One view of it, all pairs of views, and a tenth of all triples for one kind of op."""
    graphs = n = 0
    chains = [(v,) for v in VIEWS] + list(itertools.product(VIEWS, VIEWS))
    if made == "linear":
        chains += list(itertools.product(VIEWS, repeat=3))[::31]
    for views in share(chains):
        graphs += compare(made, views) > 0
        n += 1
    assert graphs > n // 4, f"{graphs} of {n}"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33])
def test_many_arguments_that_are_not_dense(n):
    """Each is held twice, as it is and as a copy: a sanitizer sees whether there is room for that."""
    text = f"def f({', '.join(f'a{i}' for i in range(n))}): return {' + '.join(f'a{i} * {i + 1}' for i in range(n))}"
    f = names_of(text)["f"]
    g = janus.function(f, verify="never")
    for odd in (n, n // 2, 1):
        dense = [janus.arange(6).reshape(2, 3) * 0.5 + i for i in range(n)]
        args = [t.t().contiguous().t() if i < odd else t for i, t in enumerate(dense)]
        for _ in range(3):
            assert g(*args).tolist() == f(*args).tolist() == f(*dense).tolist()
