# SPDX-License-Identifier: Apache-2.0
"""A weight over its largest singular value: what it gives, how it is trained, decorated and not, and taken away again."""
import numpy as np
import pytest

import janus
from janus import nn
from janus.nn.utils import remove_spectral_norm, spectral_norm
from texts import names_of

LAYERS = {"linear": (lambda: nn.Linear(3, 4), (2, 3)), "conv": (lambda: nn.Conv2d(2, 3, 2), (2, 2, 3, 3)),
          "transposed": (lambda: nn.ConvTranspose2d(2, 3, 2), (2, 2, 3, 3)), "embedding": (lambda: nn.Embedding(5, 3), None)}


def layer(kind):
    janus.manual_seed(5)
    return LAYERS[kind][0]()


def given(kind):
    shape = LAYERS[kind][1]
    return janus.tensor([1, 4]) if shape is None else janus.ones(*shape)


def largest(kind, weight):
    w = np.array(weight.tolist())
    w = np.swapaxes(w, 0, 1) if kind == "transposed" else w
    return np.linalg.svd(w.reshape(w.shape[0], -1))[1][0]


@pytest.mark.parametrize("kind", LAYERS)
def test_largest_singular_value_is_one(kind):
    plain, made = layer(kind), spectral_norm(layer(kind), n_power_iterations=5)
    x, weight = given(kind), "weight"
    for _ in range(20):
        made(x)
    assert largest(kind, made.weight.detach()) == pytest.approx(1.0, abs=1e-4)
    assert janus.allclose(made.weight * largest(kind, plain.weight.detach()), plain.weight, atol=1e-4)
    assert sorted(made.state_dict()) == sorted(set(plain.state_dict()) - {weight} | {"weight_orig", "weight_u", "weight_v"})
    assert [name for name, _ in made.named_parameters() if name.startswith(weight)] == ["weight_orig"]
    u = made.weight_u.clone()
    made.eval()(x)  # follows nothing
    assert made.weight_u.tolist() == u.tolist()
    after = made(x)
    assert remove_spectral_norm(made) is made and janus.allclose(made(x), after, atol=1e-6) and sorted(made.state_dict()) == sorted(plain.state_dict())


def test_gradient():
    made = spectral_norm(nn.Linear(3, 4).double(), n_power_iterations=50)
    made(janus.ones(2, 3, dtype=janus.float64)).pow(2).sum().backward()
    w = np.array(made.weight_orig.tolist())

    def loss(w):
        y = np.ones((2, 3)) @ (w / np.linalg.svd(w)[1][0]).T + np.array(made.bias.tolist())
        return (y ** 2).sum()

    for i, j in np.ndindex(*w.shape):
        step = np.zeros_like(w)
        step[i, j] = 1e-6
        assert made.weight_orig.grad[i, j].item() == pytest.approx((loss(w + step) - loss(w - step)) / 2e-6, abs=1e-4)


def test_what_does_not_fit():
    made = spectral_norm(layer("linear"))
    with pytest.raises(RuntimeError):
        spectral_norm(made)
    with pytest.raises(ValueError):
        remove_spectral_norm(layer("linear"))
    with pytest.raises(ValueError):
        spectral_norm(layer("linear"), n_power_iterations=0)


STEP = """
def step(m, opt, x):
    opt.zero_grad()
    loss = (m(x) ** 2).sum() + m(x * 2).abs().sum()
    loss.backward()
    opt.step()
    return loss
"""


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_training_decorated(kind):
    seen = []
    for decorate in (lambda f: f, lambda f: janus.function(f, measure=False)):
        janus.manual_seed(9)
        made = spectral_norm(layer(kind))
        opt, step = janus.optim.SGD(made.parameters(), lr=0.05), decorate(names_of(STEP)["step"])
        losses = [step(made, opt, given(kind)).item() for _ in range(6)]
        seen.append((losses, made.weight_u.tolist(), made.weight_orig.tolist()))
    for a, b in zip(*seen):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6)
    assert step.stats()["op_share"] > 0.5
