# SPDX-License-Identifier: Apache-2.0
"""A weight as length and direction: what it gives, how it is trained, decorated and not, and taken away again."""
import pytest

import janus
from janus import nn
from janus.nn.utils import remove_weight_norm, weight_norm
from texts import names_of


def layer(kind):
    janus.manual_seed(5)
    return nn.Linear(3, 4) if kind == "linear" else nn.Conv2d(2, 3, 2)


def given(kind):
    return janus.ones(2, 3) if kind == "linear" else janus.ones(2, 2, 3, 3)


@pytest.mark.parametrize("kind", ["linear", "conv"])
@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_length_and_direction(kind, dim):
    plain, made = layer(kind), weight_norm(layer(kind), dim=dim)
    x = given(kind)
    assert janus.allclose(made(x), plain(x), atol=1e-6) and list(made.state_dict()) == ["bias", "weight_g", "weight_v"]
    others = [d for d in range(plain.weight.ndim) if dim is None or d != dim % plain.weight.ndim]
    assert janus.allclose(made.weight_g.reshape(-1), (plain.weight ** 2).sum(others).sqrt().reshape(-1))
    with janus.no_grad():
        made.weight_v.mul_(3.0)  # a direction has no length
        assert janus.allclose(made(x), plain(x), atol=1e-5)
        made.weight_g.mul_(2.0)
        assert janus.allclose(made(x) - made.bias.reshape(-1, 1, 1) if kind == "conv" else made(x) - made.bias,
                              2 * (plain(x) - (plain.bias.reshape(-1, 1, 1) if kind == "conv" else plain.bias)), atol=1e-5)
    after = made(x)
    assert remove_weight_norm(made) is made and janus.allclose(made(x), after) and sorted(made.state_dict()) == ["bias", "weight"]


def test_what_does_not_fit():
    made = weight_norm(layer("linear"))
    with pytest.raises(RuntimeError):
        weight_norm(made)
    with pytest.raises(ValueError):
        remove_weight_norm(layer("linear"))


STEP = """
def step(m, opt, x):
    opt.zero_grad()
    loss = (m(x) ** 2).sum()
    loss.backward()
    opt.step()
    return loss
"""


def test_training_is_a_graph():
    seen = []
    for decorate in (lambda f: f, lambda f: janus.function(f, measure=False)):
        made = weight_norm(layer("linear"))
        opt, step = janus.optim.SGD(made.parameters(), lr=0.1), decorate(names_of(STEP)["step"])
        losses = [step(made, opt, given("linear")).item() for _ in range(6)]
        seen.append(losses + [v for p in made.parameters() for v in p.reshape(-1).tolist()])
    assert all(abs(a - b) < 1e-5 for a, b in zip(*seen)) and step.stats()["graph"] > 0
