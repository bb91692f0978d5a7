# SPDX-License-Identifier: Apache-2.0
"""Hooks of modules: what they see and change, and that a decorated model has them as the undecorated one does."""
import copy
import gc
import pickle

import pytest

import janus
from janus import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)

    def forward(self, x, scale=1.0):
        return self.last(self.act(self.first(x))) * scale


class Two(nn.Module):
    def forward(self, x, y):
        return x * y, x + y


def net():
    janus.manual_seed(3)
    return Net()


X = janus.linspace(-1, 1, 6).view(2, 3)


def double(module, args, output):
    return output * 2


def named(module, args, kwargs, output):
    return output + kwargs.get("scale", 5.0)


def seen_by(log):
    def seen(module, args, output):
        log.append((type(module).__name__, len(args), output.detach()))
    return seen


# ---- what they do -------------------------------------------------------------------------------------------------


def test_forward_hooks_see_and_change():
    m, log = net(), []
    plain = m(X)
    handles = [m.act.register_forward_hook(seen_by(log)), m.register_forward_hook(double),
               m.register_forward_pre_hook(lambda module, args: args[0] * 1.0),
               m.register_forward_hook(named, with_kwargs=True)]
    assert janus.allclose(m(X), plain * 2 + 5)
    assert janus.allclose(m(X, scale=2.0), plain * 4 + 2)
    assert [entry[:2] for entry in log] == [("ReLU", 1)] * 2 and log[0][2].min() == 0
    for handle in handles:
        handle.remove()
        handle.remove()
    assert m(X).equal(plain) and len(log) == 2


def test_arguments_and_keywords_are_changed():
    m = net()
    plain = m(X)
    with m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"scale": 4.0}), with_kwargs=True):
        assert m(X, scale=2.0).equal(plain * 4)
    assert m(X, scale=2.0).equal(plain * 2)
    m.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        m(X)


def test_order():
    m, log = net(), []
    for name in "abc":
        m.register_forward_hook(lambda *unused, name=name: log.append(name), prepend=name == "c")
    m(X)
    assert log == ["c", "a", "b"]


def test_always_called():
    class Bad(nn.Module):
        def forward(self):
            raise ValueError("bad")

    m, log = Bad(), []
    m.register_forward_hook(lambda module, args, output: log.append(output), always_call=True)
    m.register_forward_hook(lambda *unused: log.append("never"))
    with pytest.raises(ValueError, match="bad"):
        m()
    assert log == [None]


def test_backward_hooks():
    m, log = net(), []
    x = X.clone().requires_grad_()
    (want,) = janus.autograd.grad(m(x).sum(), x)

    def hook(module, grad_input, grad_output):
        log.append((tuple(grad_input[0].shape), tuple(grad_output[0].shape)))
        return (grad_input[0] * 10,)

    with m.act.register_full_backward_hook(hook):
        m(x).sum().backward()
    assert janus.allclose(x.grad, want * 10) and log == [((2, 4), (2, 4))]
    x.grad = None
    with m.act.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 3,)):
        m(x).sum().backward()
    assert janus.allclose(x.grad, want * 3)


def test_backward_hooks_of_several():
    m, log = Two(), []
    x, y = janus.tensor([2.0], requires_grad=True), janus.tensor([3.0])
    m.register_full_backward_hook(lambda module, gi, go: log.append((gi, go)))
    product, _ = m(x, y)
    product.backward()
    ((gi, go),) = log
    assert gi[0].item() == 3 and gi[1] is None and go[0].item() == 1 and go[1] is None
    log.clear()
    m(y, y)  # nothing requires a gradient
    assert not log


def test_backward_hook_where_no_input_requires_grad():
    m, log = net(), []
    m.first.register_full_backward_hook(lambda module, gi, go: log.append((gi, go[0].shape)))
    m(X).sum().backward()
    assert log == [((None,), janus.Size([2, 4]))]


def test_wrong_hooks():
    m = net()
    with pytest.raises(TypeError, match="int objects are not callable"):
        m.register_forward_hook(3)
    x = X.clone().requires_grad_()
    m.register_full_backward_hook(lambda module, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="got 2, but expected 1"):
        m(x).sum().backward()


def test_copies():
    m = net()
    m.register_forward_hook(double)
    plain = net()(X)
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other(X).equal(plain * 2)
        other.register_forward_hook(double)
        assert other(X).equal(plain * 4) and m(X).equal(plain * 2)
    assert list(m.state_dict()) == list(net().state_dict())


def test_nothing_is_kept():
    m = net()
    x = X.clone().requires_grad_()
    m.register_full_backward_hook(lambda module, gi, go: None)
    m(x).sum().backward()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        m(x).sum().backward()
        gc.collect()
    assert len(gc.get_objects()) - before < 20


# ---- decorated ----------------------------------------------------------------------------------------------------


def changes(log):
    """What is done to the hooks of a model between its calls: functions of it."""
    held = []

    def add(name, *args, **kwargs):
        return lambda m: held.append(getattr(m.get_submodule(name), args[0])(*args[1:], **kwargs))

    def remove(m):
        held.pop().remove()

    def clear(m):
        m.act._forward_hooks.clear()

    return [lambda m: None, add("act", "register_forward_hook", double), lambda m: None,
            add("act", "register_forward_hook", seen_by(log)), remove, add("", "register_forward_hook", named, with_kwargs=True),
            add("last", "register_forward_pre_hook", lambda module, args: (args[0] + 1,)), lambda m: None, remove, remove,
            clear, add("act", "register_forward_hook", double), lambda m: setattr(m.act, "_forward_hooks", {}),
            add("first", "register_full_backward_hook", lambda module, gi, go: log.append(go[0].detach())), lambda m: None,
            remove, add("act", "register_forward_hook", seen_by(log), prepend=True)]


def trained(decorate, calls):
    m, log, out = net(), [], []
    step = janus.function(lambda model, x: model(x).pow(2).sum(), verify="never") if decorate == "step" else \
        lambda model, x: model(x).pow(2).sum()
    if decorate == "model":
        m = janus.function(m, verify="never")
    for change in changes(log):
        change(m)
        for _ in range(calls):
            m.zero_grad()
            loss = step(m, X)
            loss.backward()
            out.append([loss.detach()] + [p.grad.clone() for p in m.parameters()])
    return out, log


@pytest.mark.parametrize("calls", [1, 4])
@pytest.mark.parametrize("decorate", ["model", "step"])
def test_hooks_changed_between_calls(decorate, calls):
    want, want_log = trained(None, calls)
    got, got_log = trained(decorate, calls)
    assert len(want_log) == len(got_log)
    for a, b in zip(want, got):
        assert all(janus.allclose(x, y, rtol=1e-4, atol=1e-5) for x, y in zip(a, b))
    for a, b in zip(want_log, got_log):
        x, y = (a[2], b[2]) if isinstance(a, tuple) else (a, b)
        assert janus.allclose(x, y, rtol=1e-4, atol=1e-5)


def test_hooks_are_part_of_graphs():
    m, kept = net(), {}
    m.act.register_forward_hook(lambda module, args, output: kept.update(act=output.mean()))
    f = janus.function(lambda x: m(x).sum() + kept["act"], verify="never")
    values = [f(X).item() for _ in range(6)]
    assert f.stats()["graph"] >= 4 and max(values) - min(values) < 1e-5
