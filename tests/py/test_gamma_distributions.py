# SPDX-License-Identifier: Apache-2.0
"""Gamma, Beta, Dirichlet, LogNormal and Independent: densities by numeric integrals, draws by their moments."""
import math

import pytest

import janus
from janus import distributions as D
from texts import names_of


def one(*values):
    return janus.tensor(list(values), dtype=janus.float64)


KINDS = {"gamma": lambda a, b: D.Gamma(one(a), one(b)), "beta": lambda a, b: D.Beta(one(a), one(b)),
         "lognormal": lambda a, b: D.LogNormal(one(a - 3), one(b / 4))}
PLACES = {"gamma": (1e-6, 60.0), "beta": (1e-6, 1 - 1e-6), "lognormal": (1e-6, 60.0)}
PAIRS = [(1.5, 2.0), (2.5, 1.2), (4.0, 3.0)]


def integral(kind, function):
    """Midpoints of steps that are equal in the logarithm, or in the logit between 0 and 1."""
    low, high = PLACES[kind]
    n, bounded = 20000, kind == "beta"
    from_, to = (math.log(low / (1 - low)), math.log(high / (1 - high))) if bounded else (math.log(low), math.log(high))
    at = from_ + (janus.arange(n).double() + 0.5) * ((to - from_) / n)
    x = at.sigmoid() if bounded else at.exp()
    width = (x * (1 - x) if bounded else x) * ((to - from_) / n)
    return (function(x) * width).sum().item()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", PAIRS)
def test_densities(kind, pair):
    """They add up to 1; mean, variance, entropy and divergence are the integrals that they are."""
    d, other = KINDS[kind](*pair), KINDS[kind](2.0, 1.7)

    def of(f):
        return integral(kind, lambda x: d.log_prob(x).exp() * f(x))
    mean = d.mean.item()
    assert math.isclose(of(lambda x: 1 + 0 * x), 1, rel_tol=1e-4) and math.isclose(of(lambda x: x), mean, rel_tol=1e-3)
    assert math.isclose(of(lambda x: (x - mean) ** 2), d.variance.item(), rel_tol=1e-2)
    assert math.isclose(of(lambda x: -d.log_prob(x)), d.entropy().item(), rel_tol=1e-3, abs_tol=1e-3)
    assert math.isclose(of(lambda x: d.log_prob(x) - other.log_prob(x)), D.kl_divergence(d, other).item(), rel_tol=1e-2, abs_tol=1e-3)
    assert D.kl_divergence(d, d).abs().item() < 1e-9


DRAWN = {"gamma": D.Gamma(one(0.3, 1.0, 6.0), one(1.0, 0.5, 3.0)), "beta": D.Beta(one(0.5, 2.0, 3.0), one(0.5, 1.0, 8.0)),
         "dirichlet": D.Dirichlet(one(0.5, 2.0, 3.0)), "lognormal": D.LogNormal(one(0.0, 1.0), one(0.3, 0.2))}


@pytest.mark.parametrize("kind", DRAWN)
def test_draws(kind):
    """Means and variances of 40,000 draws, whose numbers are fixed."""
    janus.manual_seed(11)
    d = DRAWN[kind]
    x = d.sample((40000,))
    assert ((x.mean(0) - d.mean).abs() < 6 * (d.variance / 40000).sqrt()).all()
    assert ((x.var(0) / d.variance - 1).abs() < 0.1).all() and not x.requires_grad
    assert kind != "dirichlet" or (x.sum(-1) - 1).abs().max().item() < 1e-12


def test_independent():
    base = D.Normal(one(0.1, -1.0, 2.0), one(1.0, 0.3, 0.5))
    d, x = D.Independent(base, 1), one(0.2, 1.0, 3.0)
    assert tuple(d.batch_shape) == () and tuple(d.event_shape) == (3,)
    assert math.isclose(d.log_prob(x).item(), base.log_prob(x).sum().item())
    assert math.isclose(d.entropy().item(), base.entropy().sum().item()) and d.rsample((2,)).shape == (2, 3)
    other = D.Normal(one(0.0, 0.0, 0.0), one(1.0, 1.0, 1.0))
    assert math.isclose(D.kl_divergence(d, D.Independent(other, 1)).item(), D.kl_divergence(base, other).sum().item())
    with pytest.raises(ValueError):
        D.Independent(base, 2)


@pytest.mark.parametrize("made", ["D.Gamma(a, b)", "D.Beta(a, b)", "D.Dirichlet(a)", "D.LogNormal(a, b)", "D.Independent(D.Normal(a, b), 1)"])
def test_as_graphs(made):
    """Draws, log-probabilities and their gradients: decorated they are the same."""
    f = names_of(f"def f(a, b):\n    d = {made}\n    x = d.sample()\n    return x, d.log_prob(x) + d.entropy()\n", D=D)["f"]
    g = janus.function(f, measure=False)
    for round in range(5):
        seen = []
        for run in (f, g):
            janus.manual_seed(round)
            a, b = [janus.tensor([0.5, 1.5 + round, 2.0]).requires_grad_() for _ in range(2)]
            x, y = run(a, b)
            y.sum().backward()
            seen.append([x, y.detach(), a.grad])
        assert all(janus.allclose(p, q, rtol=1e-4, atol=1e-5) for p, q in zip(*seen))
