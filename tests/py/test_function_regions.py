# SPDX-License-Identifier: Apache-2.0
"""A model whose result has a history of an autograd.Function is imperative around it: what its forward() does is a graph of its own,
for each class, whatever the forward() is like; gradients are CPython's."""
import janus
import pytest
from janus import nn

F = janus.autograd.Function


class Swish(F):
    @staticmethod
    def forward(ctx, x):
        y = x * janus.sigmoid(x)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = janus.sigmoid(x)
        return g * (s + x * s * (1 - s))


class Steps(F):
    """Options in the context, several results and parameters by *args."""

    @staticmethod
    def forward(ctx, rounds, x, *weights):
        ctx.rounds = rounds
        for _ in range(rounds):
            for w in weights:
                x = janus.tanh(x @ w) + 0.1
        ctx.save_for_backward(x, *weights)
        return x, (x * 2).sum()

    @staticmethod
    def backward(ctx, g, h):
        x, *weights = ctx.saved_tensors
        return (None, g * ctx.rounds + h, *(w * g.mean() for w in weights))


class Clamp(F):
    """No op that counts: a branch by value, a setup_context()."""

    @staticmethod
    def forward(x, least):
        return x.clamp(min=least) if x.sum() > 0 else x.clamp(min=least) * 0.5

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.least = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] > ctx.least), None


class Broken(F):
    @staticmethod
    def forward(ctx, x):
        if x.sum() > 20:
            raise ValueError("too large")
        return x.exp().log1p()

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Net(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.a, self.b, self.use = nn.Linear(3, 3), nn.Linear(3, 2), use

    def forward(self, x):
        h = self.a(x).tanh()
        for u in self.use:
            h = u(self, h)
        return self.b(h)


USES = {
    "swish": [lambda net, h: Swish.apply(h)],
    "steps": [lambda net, h: Steps.apply(2, h, net.a.weight)[0]],
    "both": [lambda net, h: Swish.apply(h), lambda net, h: Steps.apply(1, h, net.a.weight, net.a.weight)[0]],
    "clamp": [lambda net, h: Clamp.apply(h, 0.1)],
    "broken": [lambda net, h: Broken.apply(h * 4), lambda net, h: Swish.apply(h)],
}


def told(use, decorate):
    janus.manual_seed(5)
    net = Net(USES[use])
    call, seen = decorate(Net.forward), []
    for k in range(24):
        x = janus.rand(4, 3) * (k % 5 - 1)
        net.zero_grad()
        try:
            y = call(net, x)
            (y * y).sum().backward()
            seen.append([y.tolist(), *(p.grad.tolist() for p in net.parameters())])
        except ValueError as e:
            seen.append(str(e))
        with janus.no_grad():
            seen.append(call(net, x.clamp(max=0.5)).tolist() if use != "broken" else None)
    return seen, call


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("use", USES)
def test_forward_of_a_function(use, verify):
    want, _ = told(use, lambda f: f)
    got, call = told(use, lambda f: janus.function(f, numerics="exact", measure=False, verify=verify))
    assert want == got
    stats = call.stats()
    assert stats["ops_graph"] > 0.5 * stats["ops_eager"] or use in ("clamp", "broken") or verify == "always", janus.explain(call)
