# SPDX-License-Identifier: Apache-2.0
"""Transforms of distributions: there and back, how much they stretch by differences, densities that add up to 1, as graphs, too."""
import math

import pytest

import janus
from janus.distributions import (AffineTransform, Beta, ComposeTransform, Dirichlet, ExpTransform, Independent, LogNormal, Normal, PowerTransform,
                                 SigmoidTransform, SoftplusTransform, TanhTransform, TransformedDistribution, Uniform, identity_transform)

F64 = janus.float64
ALL = {"exp": ExpTransform(), "power": PowerTransform(2.5), "sigmoid": SigmoidTransform(), "softplus": SoftplusTransform(), "tanh": TanhTransform(),
       "affine": AffineTransform(1.5, -2.0), "tensor": AffineTransform(janus.tensor([0.5, 1.0, 2.0], dtype=F64), janus.tensor([2.0, -3.0, 0.5], dtype=F64)),
       "composed": ComposeTransform([AffineTransform(0.3, 1.7), SigmoidTransform(), AffineTransform(-1, 2)]), "identity": identity_transform,
       "inverse": ExpTransform().inv, "kept": TanhTransform(cache_size=1)}


@pytest.mark.parametrize("name", ALL)
def test_there_and_back(name):
    t = ALL[name]
    x = janus.tensor([0.3, 1.1, 2.2], dtype=F64)
    y = t(x)
    assert janus.allclose(t.inv(y), x, atol=1e-9) and t.inv.inv(x).tolist() == y.tolist()
    step = 1e-6
    stretch = ((t(x + step) - t(x - step)) / (2 * step)).abs().log()
    assert janus.allclose(t.log_abs_det_jacobian(x, y), stretch, atol=1e-7)
    assert janus.allclose(t.inv.log_abs_det_jacobian(y, x), -stretch, atol=1e-7)
    grows = (t(x + step) > t(x)).tolist()
    signs = t.sign.tolist() if isinstance(t.sign, janus.Tensor) else [t.sign] * 3
    assert [s > 0 for s in signs] == grows and repr(t)


def test_kept_draws_are_exact():
    t = TanhTransform(cache_size=1)
    x = janus.tensor([30.0, -20.0])  # tanh() of these is 1 and -1
    y = t(x)
    assert t.inv(y) is x and t(x) is y and not TanhTransform().inv(y).isfinite().any()
    with pytest.raises(ValueError):
        TanhTransform(cache_size=2)


DENSITIES = {"lognormal": (TransformedDistribution(Normal(0.5, 0.8), ExpTransform()), 0.0, 60.0), "tanh": (TransformedDistribution(Normal(0.2, 0.7), [TanhTransform()]), -1.0, 1.0),
             "logistic": (TransformedDistribution(Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(1.0, 2.0)]), -60.0, 60.0)}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities(name):
    d, low, high = DENSITIES[name]
    n = 200000
    at = janus.linspace(low, high, n + 1, dtype=F64)
    middle = (at[1:] + at[:-1]) / 2
    assert d.log_prob(middle).exp().sum().item() * (high - low) / n == pytest.approx(1.0, abs=2e-3)
    if name != "logistic":
        grown = d.log_prob(middle).exp().cumsum(0) * ((high - low) / n)
        assert abs(grown - d.cdf(at[1:])).max().item() < 2e-3
    janus.manual_seed(1)
    draws = d.sample((4000,))
    mean = (middle * d.log_prob(middle).exp()).sum().item() * (high - low) / n
    assert draws.shape == (4000,) and draws.mean().item() == pytest.approx(mean, abs=0.15) and (draws > low).all() and (draws < high).all()


def test_as_known_ones():
    x = janus.tensor([0.4, 1.7, 3.0])
    assert janus.allclose(TransformedDistribution(Normal(0.3, 0.9), ExpTransform()).log_prob(x), LogNormal(0.3, 0.9).log_prob(x), atol=1e-6)
    scaled = TransformedDistribution(Normal(janus.zeros(3), janus.ones(3)), AffineTransform(janus.ones(3), janus.tensor([2.0, 0.5, 1.0])))
    assert scaled.batch_shape == (3,) and janus.allclose(scaled.log_prob(x), Normal(1.0, janus.tensor([2.0, 0.5, 1.0])).log_prob(x), atol=1e-6)


def test_events():
    base = Independent(Normal(janus.zeros(2, 3), janus.ones(2, 3)), 1)
    d = TransformedDistribution(base, [TanhTransform()])
    x = base.sample()
    y = x.tanh()
    want = base.log_prob(x) - (1 - y * y).log().sum(-1)
    assert (d.batch_shape, d.event_shape) == ((2,), (3,)) and janus.allclose(d.log_prob(y), want, atol=1e-4)
    whole = TransformedDistribution(Normal(janus.zeros(2, 3), janus.ones(2, 3)), AffineTransform(0.0, 2.0, event_dim=1))
    assert (whole.batch_shape, whole.event_shape) == ((2,), (3,)) and whole.log_prob(x).shape == (2,)
    assert janus.allclose(whole.log_prob(x), Normal(0.0, 2.0).log_prob(x).sum(-1), atol=1e-5)
    assert TransformedDistribution(Dirichlet(janus.ones(4)), ExpTransform()).event_shape == (4,) and not TransformedDistribution(Beta(1.0, 2.0), ExpTransform()).has_rsample
    with pytest.raises(ValueError, match="size at least 1"):
        TransformedDistribution(Normal(0.0, 1.0), AffineTransform(0.0, 1.0, event_dim=1))
    with pytest.raises(ValueError, match="Transform"):
        TransformedDistribution(Normal(0.0, 1.0), [math.exp])


def test_policy_is_a_graph():
    def make():
        janus.manual_seed(4)
        net = janus.nn.Linear(3, 4)
        return net, janus.optim.Adam(net.parameters(), lr=0.01)

    def step(net, opt, x):
        loc, log_scale = net(x).chunk(2, -1)
        d = TransformedDistribution(Independent(Normal(loc, log_scale.exp()), 1), [TanhTransform(cache_size=1)])
        action = d.rsample()
        loss = (0.1 * d.log_prob(action) + ((action - 0.5) ** 2).sum(-1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, action

    seen = []
    for f in (step, g := janus.function(step, measure=False)):
        net, opt = make()
        janus.manual_seed(7)
        seen.append([[v.tolist() for v in f(net, opt, janus.ones(5, 3))] for _ in range(8)])
    for (a, x), (b, y) in zip(*seen):
        assert a == pytest.approx(b, rel=1e-4) and janus.allclose(janus.tensor(x), janus.tensor(y), atol=1e-4)
    assert g.stats()["op_share"] > 0.5, g.stats()
