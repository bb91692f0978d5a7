# SPDX-License-Identifier: Apache-2.0
"""Programs about gradients: where they go, how often, and of what."""

import janus

from .harness import case, t


@case
def grad_of_a_leaf(function, log):
    f = function(lambda x: (x * x).sum())
    for i in range(3):
        x = t(3, seed=i, grad=True)
        f(x).backward()
        log(x)


@case
def grad_accumulates(function, log):
    f = function(lambda x: (x ** 3).sum())
    x = t(3, grad=True)
    for _ in range(4):
        f(x).backward()
        log(x)


@case
def autograd_grad_of_two_results(function, log):
    @function
    def f(x):
        h = x * 2
        return h, (h * h).sum()

    for i in range(3):
        x = t(3, seed=i, grad=True)
        h, loss = f(x)
        (dh,) = janus.autograd.grad(loss, h, retain_graph=True)
        (dx,) = janus.autograd.grad(loss, x)
        log(dh, dx)


@case
def backward_twice(function, log):
    f = function(lambda x: (x * x).sum())
    for _ in range(3):
        x = t(3, grad=True)
        y = f(x)
        y.backward(retain_graph=True)
        log(x)
        y.backward()
        log(x)
        log.raises(y.backward)


@case
def second_derivative(function, log):
    f = function(lambda x: (x ** 3).sum())
    for i in range(3):
        x = t(3, seed=i, grad=True)
        (dx,) = janus.autograd.grad(f(x), x, create_graph=True)
        (ddx,) = janus.autograd.grad(dx.sum(), x)
        log(dx, ddx)


@case
def grad_inside(function, log):
    @function
    def f(x):
        y = (x ** 2).sum()
        (dx,) = janus.autograd.grad(y, x)
        return dx * 3

    for i in range(3):
        log(f(t(3, seed=i, grad=True)))


@case
def results_chain_through_eager_code(function, log):
    f = function(lambda x, w: (x @ w).tanh())
    w = t(3, 3, grad=True)
    for i in range(3):
        x = t(2, 3, seed=i, grad=True)
        y = f(f(x, w) * 2, w).sum()
        y.backward()
        log(x, w)


@case
def no_grad_around_and_inside(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        a = x * w
        with janus.no_grad():
            b = x * w
        return a, b

    for _ in range(3):
        a, b = f(t(3))
        log(a.requires_grad, b.requires_grad, a, b)
    with janus.no_grad():
        a, b = f(t(3))
        log(a.requires_grad, b.requires_grad)
    log(f(t(3))[0].requires_grad)


@case
def detach_cuts(function, log):
    @function
    def f(x):
        y = x * 2
        return (y * y.detach()).sum(), y.detach()

    for i in range(3):
        x = t(3, seed=i, grad=True)
        loss, d = f(x)
        loss.backward()
        log(x, d)


@case
def requires_grad_changes(function, log):
    f = function(lambda x: x * 2 + 1)
    for grad in (False, False, True, False, True):
        y = f(t(2, grad=grad))
        log(y.requires_grad)
        if grad:
            y.sum().backward()


@case
def unused_parameter(function, log):
    f = function(lambda x, w: (x * 2).sum())
    for _ in range(3):
        x, w = t(2, grad=True), t(2, grad=True)
        f(x, w).backward()
        log(x, w, w.grad is None)


@case
def non_scalar_backward_needs_gradient(function, log):
    f = function(lambda x: x * 2)
    x = t(3, grad=True)
    for _ in range(2):
        log.raises(f(x).backward)
        f(x).backward(t(3, seed=1))
        log(x)


@case
def views_of_results(function, log):
    f = function(lambda x: x.reshape(2, 3) * 2)
    for _ in range(3):
        x = t(6, grad=True)
        f(x)[0].sum().backward()
        log(x)


@case
def grad_is_read_inside(function, log):
    w = t(3, grad=True)

    @function
    def f(x):
        loss = (x * w).sum()
        loss.backward()
        g = w.grad * 2
        w.grad = None
        return g

    for i in range(3):
        log(f(t(3, seed=i)), w)


@case
def gradient_through_if(function, log):
    @function
    def f(x):
        if x.sum() > 0:
            return (x * 3).sum()
        return (x * x).sum()

    for i in range(5):
        x = t(3, seed=i, grad=True)
        f(x).backward()
        log(x)


@case
def gradient_through_while(function, log):
    @function
    def f(x, n):
        i = 0
        while i < n:
            x = x * x + 0.1
            i += 1
        return x.sum()

    for n in (2, 2, 3, 0, 1):
        x = t(3, grad=True)
        f(x, n).backward()
        log(x)


@case
def hook_on_result(function, log):
    f = function(lambda x: x * 2)
    for _ in range(3):
        x = t(3, grad=True)
        y = f(x)
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        log(x)


@case
def saved_input_modified_in_place(function, log):
    f = function(lambda x, w: (x * w).sum())
    w = t(3, grad=True)
    for _ in range(3):
        x = t(3) + 0
        y = f(x, w)
        x.add_(1)
        log.raises(y.backward)


@case
def slices_side_by_side(function, log):
    """Cotangents of slices that fill a value, leave gaps, overlap, or meet other uses of it."""
    w = t(4, 12).requires_grad_()

    def f(x, which):
        y = janus.tanh(x * w)
        a, b, c = y[:, :4], y[:, 4:8], y[:, 8:]
        if which == 0:
            z = (a * b + c).sum()
        elif which == 1:
            z = (a * c).sum()
        elif which == 2:
            z = (a * b + c).sum() + (y[:, 2:6] * y[:, 3:7]).sum() * 0.5
        elif which == 3:
            z = (a * c).sum() + (y * y).sum() + (b * y[1, 2]).sum() + (y[1:3, 4:8] * y[-2:, -4:]).sum()
        else:
            z = (a * y[:, 5:5].sum()).sum() + (b - y[:, ::2][:, :4]).sum()
        z.backward()
        return z

    g = function(f)
    for which in (0, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4):
        w.grad = None
        log(g(t(4, 12) * 0.1, which), w.grad)
