# SPDX-License-Identifier: Apache-2.0
"""The tape: gradients against finite differences, and the rules of PyTorch around them."""
import gc
import threading

import numpy as np
import pytest

import janus
from janus import autograd

F = janus.nn.functional


def leaf(*shape, dtype=janus.float64):
    n = int(np.prod(shape))
    return janus.tensor((np.arange(n) * 37 % 23 - 11.3) / 7, dtype=dtype).reshape(shape).requires_grad_()


def weighted(y):
    return (y * janus.arange(1, y.numel() + 1).to(y.dtype).reshape(tuple(y.shape))).sum()


FUNCTIONS = {
    "exp": lambda a: a.exp(), "square": lambda a: a * a, "div": lambda a: 1 / a, "pow": lambda a: a ** 3,
    "base": lambda a: 2 ** a, "tanh": janus.tanh, "matmul": lambda a: a @ a.t(), "sum": lambda a: a.sum(1),
    "mean": lambda a: a.mean(0), "max": lambda a: a.max(1).values, "index": lambda a: a[[0, 0, 2], [1, 1, 3]],
    "slice": lambda a: a[1:, ::2], "select": lambda a: a[1], "cat": lambda a: janus.cat([a, a * 2], 1),
    "stack": lambda a: janus.stack([a, a]), "softmax": lambda a: a.softmax(1), "permute": lambda a: a.permute(1, 0),
    "expand": lambda a: a.expand(2, 3, 4), "repeat": lambda a: a.repeat(2, 1), "var": lambda a: a.var(1),
    "norm": lambda a: a.norm(dim=1), "gather": lambda a: a.gather(1, janus.tensor([[0, 0], [1, 2], [3, 3]])),
    "where": lambda a: janus.where(a > 0, a * a, a), "cumsum": lambda a: a.cumsum(1), "prod": lambda a: a.prod(1),
    "sort": lambda a: a.sort(1).values, "masked": lambda a: a.masked_fill(a > 0, 3.0) * a, "mask": lambda a: a[a > 0],
    "broadcast": lambda a: a * a[0] + a.sum(1, keepdim=True), "gelu": F.gelu, "log": lambda a: (a * a + 1).log(),
    "split": lambda a: a.split(2, 1)[1] * 2, "layer_norm": lambda a: F.layer_norm(a, (4,)),
    "scatter_add": lambda a: janus.zeros(3, 4, dtype=a.dtype).scatter_add(1, janus.tensor([[0, 0, 1, 1]] * 3), a),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_finite_differences(name):
    f = FUNCTIONS[name]
    a = leaf(3, 4)
    weighted(f(a)).backward()
    with janus.no_grad():
        for i in range(12):
            step = janus.zeros(12, dtype=janus.float64)
            step[i] = 1e-6
            step = step.reshape(3, 4)
            slope = (weighted(f(a + step)) - weighted(f(a - step))).item() / 2e-6
            assert a.grad.reshape(-1)[i].item() == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["exp", "square", "div", "pow", "tanh", "matmul", "softmax", "var", "log", "broadcast"])
def test_gradients_of_gradients(name):
    f = FUNCTIONS[name]

    def slope(x):
        (g,) = autograd.grad(weighted(f(x) * f(x)), x, create_graph=True)
        return weighted(g)
    a = leaf(3, 4)
    (second,) = autograd.grad(slope(a), a)
    for i in (0, 5, 11):
        step = np.zeros(12)
        step[i] = 1e-6
        step = janus.tensor(step).reshape(3, 4)
        up, down = (a + step).detach().requires_grad_(), (a - step).detach().requires_grad_()
        assert second.reshape(-1)[i].item() == pytest.approx((slope(up) - slope(down)).item() / 2e-6, rel=1e-4, abs=1e-4)


def test_accumulation_and_order():
    a = leaf(3, dtype=janus.float32)
    for k in range(3):
        (a * k).sum().backward()
    assert a.grad.tolist() == [3.0] * 3

    def run():
        x = leaf(50, dtype=janus.float32)
        y = x
        for _ in range(20):
            y = y * x + x.tanh() * 0.1
        y.sum().backward()
        return x.grad.tolist()
    assert run() == run()


def test_modes():
    a = leaf(3)
    with janus.no_grad():
        assert not (a * 2).requires_grad and not janus.is_grad_enabled()
        with janus.enable_grad():
            assert (a * 2).requires_grad
    assert janus.is_grad_enabled()

    @janus.no_grad()
    def f():
        return a * 2

    @janus.no_grad()
    def generator():
        yield (a * 2).requires_grad
    assert not f().requires_grad and list(generator()) == [False] and janus.is_grad_enabled()
    with janus.set_grad_enabled(False):
        assert not (a * 2).requires_grad
    with pytest.raises(ZeroDivisionError):
        with janus.no_grad():
            1 / 0
    assert janus.is_grad_enabled()


def test_grad_mode_belongs_to_the_thread():
    seen = []
    with janus.no_grad():
        thread = threading.Thread(target=lambda: seen.append(janus.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def raises(text, f):
    with pytest.raises(RuntimeError, match=text):
        f()


def test_errors():
    a = leaf(3)
    y = a.exp().sum()
    y.backward()
    raises("second time", y.backward)
    raises("scalar outputs", lambda: (a * 2).backward())
    raises("does not require grad", lambda: janus.ones(1).backward())
    raises("leaf Variable", lambda: a.add_(1))
    raises("leaf Variable", lambda: a[0].add_(1))
    raises("floating point", lambda: janus.tensor([1], requires_grad=True))
    raises("not have been used", lambda: autograd.grad(a.sum(), leaf(2)))
    assert autograd.grad(a.sum(), [a, leaf(2)], allow_unused=True)[1] is None
    raises("leaf variables", lambda: setattr(a * 2, "requires_grad", False))
    raises("Can't call numpy", a.numpy)
    b = a.exp()
    b.add_(1)
    raises("modified by an inplace", b.sum().backward)
    c = a * 1
    d = c * c
    c.zero_()
    raises("modified by an inplace", d.sum().backward)


def test_retain_and_hooks():
    a = leaf(3, dtype=janus.float32)
    y = a.exp().sum()
    y.backward(retain_graph=True)
    first = a.grad.clone()
    y.backward()
    assert (a.grad == first * 2).all()
    a = leaf(3, dtype=janus.float32)
    h = a * 2
    h.retain_grad()
    handle = h.register_hook(lambda g: g * 10)
    a.register_hook(lambda g: g + 1)
    h.sum().backward()
    assert a.grad.tolist() == [21.0] * 3 and h.grad.tolist() == [10.0] * 3
    handle.remove()
    a.grad = None
    (a * 2).sum().backward()
    assert a.grad.tolist() == [3.0] * 3


def test_in_place_writes_rebase_history():
    a = leaf(3)
    b = a * 2
    b.mul_(3)
    b.add_(a)
    b.sum().backward()
    assert a.grad.tolist() == [7.0] * 3
    a = leaf(3)
    b = a * 1
    b.mul_(b.detach())
    assert b.requires_grad and b.grad_fn.name() == "MulBackward0"


def test_views_share_history():
    a = leaf(2, 3)
    b = a * 1
    view = b[0]
    view.mul_(a[1])
    (b * b).sum().backward()
    x = a.detach()
    want = janus.stack([2 * x[0] * x[1] ** 2, 2 * x[1] + 2 * x[1] * x[0] ** 2])
    assert a.grad.allclose(want)
    a = leaf(2, 3)
    b = a * 1
    view = b[0]
    b.mul_(2)
    view.sum().backward()
    assert a.grad.tolist() == [[2.0] * 3, [0.0] * 3]
    a = leaf(3)
    out = janus.zeros(2, 3, dtype=janus.float64)
    out[0] = a * a
    out[1] = a
    assert out.requires_grad
    out.sum().backward()
    assert a.grad.allclose(2 * a.detach() + 1)
    a = leaf(3)
    out = a * 2
    out[janus.tensor([0, 2])] = 1.0
    out.sum().backward()
    assert a.grad.tolist() == [0, 2, 0]


def test_grad_of_two_results():
    a = leaf(3)
    h = a * 2
    dh, da = autograd.grad((h * h).sum(), [h, a])
    assert dh.allclose(2 * h.detach()) and da.allclose(2 * dh)
    assert a.grad is None


def test_long_chains_do_not_recurse():
    x = janus.ones(1, requires_grad=True)
    y = x
    for _ in range(300_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y
    y = x
    for _ in range(300_000):
        y = y * 1.0
    del y
    gc.collect()


class Scaled(autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return grad * 2 * x * ctx.factor, None


def test_functions_of_ones_own():
    a = leaf(3)
    (first,) = autograd.grad(Scaled.apply(a, 3.0).sum(), a, create_graph=True)
    assert first.allclose(a * 6)
    first.sum().backward()
    assert a.grad.tolist() == pytest.approx([6.0] * 3)
    y = Scaled.apply(a, 3.0).sum()
    y.backward()
    raises("second time", y.backward)
    assert Scaled.apply(a.detach(), 3.0).requires_grad is False


def test_leaves_and_data():
    a = leaf(3)
    assert a.is_leaf and a.grad_fn is None and not (a * 1).is_leaf
    assert a.detach().is_leaf and a.detach()._shares_storage(a) and not a.data.requires_grad
    y = (a * a).sum()
    a.data.add_(1)
    y.backward()
    assert a.grad.allclose(2 * a.detach())
    b = (a * 2).sum()
    assert b.grad_fn.next_functions[0][0].next_functions[0][0].variable is a
