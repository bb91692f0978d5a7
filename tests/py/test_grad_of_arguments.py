# SPDX-License-Identifier: Apache-2.0
"""autograd.grad and backward() with respect to what is outside, where other arguments have a history that may lead there
too: each way to have one, decorated against undecorated."""
import itertools

import janus
import pytest
from compared import close

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

ARGUMENTS = {"of the leaf": lambda w, v: w * 2, "a view of it": lambda w, v: (w * 2)[0], "of another": lambda w, v: v * 2,
             "of both": lambda w, v: (w * v)[:, 0], "detached": lambda w, v: (w * 2).detach(), "a leaf": lambda w, v: v,
             "the leaf": lambda w, v: w}


def grad(x, y, w):
    return janus.autograd.grad((x * w * y).sum(), [w])[0].sum().item()


def grad_of_both(x, y, w):
    if not y.requires_grad or y is w:
        return grad(x, y, w)
    return [g.sum().item() for g in janus.autograd.grad((x * w * y).sum(), [w, y])]


def grad_created(x, y, w):
    g, = janus.autograd.grad((x * w * w * y).sum(), [w], create_graph=True)
    return g.sum().item()


def grad_unused(x, y, w):
    return janus.autograd.grad((x * w).sum(), [w])[0].sum().item() + y.sum().item()


def grad_of_own(x, y, w):
    z = (x * y).exp()
    return janus.autograd.grad((z * w).sum(), [z])[0].sum().item()


def grad_written(x, y, w):
    z = y * 1
    z.mul_(x)
    return janus.autograd.grad((z * w).sum(), [w])[0].sum().item()


def backward(x, y, w):
    w.grad = None
    (x * w * y).sum().backward()
    return w.grad.sum().item()


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("argument,f", itertools.product(ARGUMENTS, [grad, grad_of_both, grad_created, grad_unused, grad_of_own,
                                                                     grad_written, backward]))
def test_history_of_an_argument(argument, f, verify):
    def run(function):
        out = []
        for i in range(5):
            w, v = janus.full((3, 3), 0.5 + i, requires_grad=True), janus.full((3, 3), 1.5, requires_grad=True)
            try:
                out.append(function(janus.full((3, 3), 1.0 + i), ARGUMENTS[argument](w, v), w))
            except RuntimeError as e:
                out.append(str(e))
            out.append([None if p.grad is None else p.grad.sum().item() for p in (w, v)])
        return out

    g = janus.function(f, verify=verify, measure=False)
    assert close(run(f), run(g)), janus.explain(g)
    assert g.stats()["disproved"] == 0
