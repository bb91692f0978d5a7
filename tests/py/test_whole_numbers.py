# SPDX-License-Identifier: Apache-2.0
"""A whole number, or a bool, where an op takes a real one is no reason not to be a graph: `x.addcmul(a, b, value=-1)`."""
import pytest

import janus
import janus.nn.functional as F

X, A, B = janus.tensor([1.0, -2.0, 0.5]), janus.tensor([0.3, 2.0, -1.0]), janus.tensor([2.0, 0.5, 4.0])
OPS = {"addcmul": lambda x, v: x.addcmul(A, B, value=v), "addcdiv": lambda x, v: x.addcdiv(A, B, value=v),
       "addcmul_": lambda x, v: (x * 1.0).addcmul_(A, x, value=v), "addcdiv_": lambda x, v: (x * 1.0).addcdiv_(x, B, value=v),
       "in an arm": lambda x, v: x.addcmul(A, x, value=v) if x.sum() < 0 else x.addcdiv(A, B, value=-v),
       "lerp": lambda x, v: x.lerp(A, v), "leaky_relu": lambda x, v: F.leaky_relu(x, v), "clamp": lambda x, v: x.clamp(-v, v), "pow": lambda x, v: x.pow(v),
       "elu": lambda x, v: F.elu(x, v), "softplus": lambda x, v: F.softplus(x, v), "huber": lambda x, v: F.huber_loss(x, A, delta=v),
       "layer_norm": lambda x, v: F.layer_norm(x, (3,), eps=v), "normalize": lambda x, v: F.normalize(x[None], p=v), "masked_fill": lambda x, v: x.masked_fill(A > 0, v)}


def outcome(f, value):
    x = X.clone().requires_grad_()
    y = f(x, value)
    (y * y).sum().backward()
    return repr((y.dtype, y.tolist(), x.grad.tolist()))  # NaN among them


@pytest.mark.parametrize("value", [2, 1, True, 1.5], ids=repr)
@pytest.mark.parametrize("name", OPS)
def test_is_a_graph(name, value):
    decorated = janus.function(OPS[name], measure=False, numerics="exact")
    for _ in range(5):
        assert outcome(OPS[name], value) == outcome(decorated, value)
    assert decorated.stats()["graph"] >= 3, janus.explain(decorated)
