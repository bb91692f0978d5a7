# SPDX-License-Identifier: Apache-2.0
"""x.detach_() in a graph: ways to make x, each with what is done with it and beside it before and after."""
import itertools

import pytest

import janus
from compared import close

MAKE = {
    "op": lambda x, w: (x * w).tanh(),
    "ops": lambda x, w: (x * w).exp() * w,
    "copy": lambda x, w: w.clone(),
    "argument": lambda x, w: x,
    "parameter": lambda x, w: w,
    "untracked": lambda x, w: x * 2,
    "no_grad": lambda x, w: made_quietly(x, w),
    "leaf": lambda x, w: (x * 2).requires_grad_(),
    "view": lambda x, w: (x * w)[1:],
    "written": lambda x, w: (x * w).mul_(2),
    "arms": lambda x, w: x * w if x.sum() > 0 else w + x,
}
USE = {
    "result": lambda y, x, w: y.detach_(),
    "loss": lambda y, x, w: (y.detach_() * w).sum(),
    "kept history": lambda y, x, w: kept(y, w),
    "again": lambda y, x, w: (y.detach_().requires_grad_() * w).sum(),
    "twice": lambda y, x, w: (y.detach_().detach_() + w).sum(),
    "written": lambda y, x, w: (y.detach_().add_(1) * w).sum(),
    "view before": lambda y, x, w: viewed(y, w),
    "view after": lambda y, x, w: (y.detach_().view(-1) * w.sum()).sum(),
    "two names": lambda y, x, w: named(y, w),
    "in an arm": lambda y, x, w: (y.detach_() if x.sum() > 0 else y) * 1,
}


def made_quietly(x, w):
    with janus.no_grad():
        return x * w


def kept(y, w):
    z = (y * 3).sum()
    return z + (y.detach_() * w.sum()).sum()


def viewed(y, w):
    v = y.view(-1)
    return (v * 2).sum() + (y.detach_() * w.sum()).sum() + v.sum()


def named(y, w):
    other = y
    y.detach_()
    return (other * w.sum()).sum(), other, y


def observed(f, x, w):
    """What a call gives: values, flags, gradients, identities; or what it raises."""
    x, w = x.clone(), w.clone().requires_grad_()
    try:
        got = f(x, w)
        results = got if isinstance(got, tuple) else (got,)
        for r in results:
            if r.requires_grad and r.dim() == 0 and not r.is_leaf:
                r.backward()
    except RuntimeError as e:
        return str(e)
    shown = [(r.tolist(), r.requires_grad, r.is_leaf, r is x, r is w) for r in results]
    return shown, w.grad is None or w.grad.tolist(), x.requires_grad, w.requires_grad, \
        len(results) > 2 and results[1] is results[2]


@pytest.mark.parametrize("made, used", list(itertools.product(MAKE, USE)))
def test_as_undecorated(made, used):
    def f(x, w):
        return USE[used](MAKE[made](x, w), x, w)

    g = janus.function(f, verify="never")
    for k in range(5):
        x, w = janus.tensor([0.5, -1.0, 2.0]) * (-1 if k == 3 else 1), janus.tensor([1.0, 0.25, -0.5]) + k
        assert close(observed(f, x, w), observed(g, x, w))


@pytest.mark.parametrize("made", ["op", "ops", "copy", "untracked", "no_grad", "leaf", "written"])
@pytest.mark.parametrize("used", ["result", "loss", "kept history", "twice", "view after"])
def test_is_a_graph(made, used):
    if (made, used) == ("leaf", "kept history"):
        pytest.skip("a result whose history leads to a leaf made inside is no graph's")
    g = janus.function(lambda x, w: USE[used](MAKE[made](x, w), x, w), verify="never", regions=False)
    w = janus.tensor([1.0, 0.25, -0.5], requires_grad=True)
    for _ in range(4):
        g(janus.tensor([0.5, -1.0, 2.0]), w)
    assert g.stats()["graph"] >= 2
