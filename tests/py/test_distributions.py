# SPDX-License-Identifier: Apache-2.0
"""janus.distributions: densities against their definitions, draws against their moments, gradients of draws."""
import math

import pytest

import janus
import janus.distributions as D

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def seeded():
    janus.manual_seed(11)


def t(*values):
    return janus.tensor(values, dtype=janus.float64)


A, B = t(0.3, -1.0, 2.0), t(0.5, 1.0, 2.5)
AT = np.array([0.7, 0.2, 3.0])
a, b = A.numpy(), B.numpy()
CONTINUOUS = {
    "normal": (D.Normal(A, B), np.exp(-((AT - a) / b) ** 2 / 2) / (b * math.sqrt(2 * math.pi))),
    "uniform": (D.Uniform(A - B, A + B), np.where(abs(AT - a) <= b, 1 / (2 * b), 0)),
    "exponential": (D.Exponential(B), b * np.exp(-b * AT)),
    "laplace": (D.Laplace(A, B), np.exp(-abs(AT - a) / b) / (2 * b)),
    "gumbel": (D.Gumbel(A, B), np.exp(-(AT - a) / b - np.exp(-(AT - a) / b)) / b),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_and_draws(name):
    d, density = CONTINUOUS[name]
    np.testing.assert_allclose(d.prob(t(*AT)).numpy(), density, rtol=1e-9)
    grid = np.linspace(-60, 60, 240001)
    table = np.stack([d.log_prob(janus.tensor(grid.tolist(), dtype=janus.float64).reshape(-1, 1)).numpy()])[0]
    table = np.where((grid.reshape(-1, 1) < 0) & (name == "exponential"), -np.inf, table)
    mass = np.exp(table)
    step = grid[1] - grid[0]
    np.testing.assert_allclose(mass.sum(0) * step, 1, atol=2e-3)
    np.testing.assert_allclose((mass * grid.reshape(-1, 1)).sum(0) * step, d.mean.numpy(), atol=4e-3)
    plogp = np.where(mass > 0, mass * np.where(np.isfinite(table), table, 0), 0)
    np.testing.assert_allclose(-plogp.sum(0) * step, d.entropy().numpy(), atol=4e-3)
    drawn = d.sample((20000,)).numpy()
    assert drawn.shape == (20000, 3)
    np.testing.assert_allclose(drawn.mean(0), d.mean.numpy(), atol=5 * d.stddev.numpy().max() / 141)
    np.testing.assert_allclose(drawn.std(0), d.stddev.numpy(), rtol=0.06)


def test_gradients_of_draws():
    loc, scale = A.clone().requires_grad_(), B.clone().requires_grad_()
    d = D.Normal(loc, scale)
    x = d.rsample((4,))
    x.sum().backward()
    np.testing.assert_allclose(loc.grad.numpy(), 4)
    np.testing.assert_allclose(scale.grad.numpy(), ((x.detach() - A) / B).sum(0).numpy())
    assert not d.sample().requires_grad
    with pytest.raises(NotImplementedError):
        D.Bernoulli(0.5).rsample()


def test_categorical():
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
    d = D.Categorical(janus.tensor((p * 3).tolist()))
    drawn = d.sample((8000,))
    assert drawn.shape == (8000, 2) and drawn.dtype == janus.int64
    shares = np.stack([(drawn.numpy() == k).mean(0) for k in range(3)], -1)
    np.testing.assert_allclose(shares, p, atol=0.03)
    assert d.sample().shape == (2,)
    np.testing.assert_allclose(d.log_prob(janus.tensor([2, 0])).exp().numpy(), [0.7, 0.5], rtol=1e-5)
    assert d.log_prob(drawn).shape == (8000, 2)
    scores = janus.tensor([1.0, 2.0, 0.5], requires_grad=True)
    s = D.Categorical(logits=scores)
    want = np.exp([1, 2, 0.5]) / np.exp([1, 2, 0.5]).sum()
    np.testing.assert_allclose(s.probs.detach().numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(float(s.entropy()), -(want * np.log(want)).sum(), rtol=1e-5)
    s.log_prob(janus.tensor(1)).backward()
    np.testing.assert_allclose(scores.grad.numpy(), np.array([0, 1, 0]) - want, rtol=1e-4)
    for wrong in ({}, {"probs": scores, "logits": scores}):
        with pytest.raises(ValueError):
            D.Categorical(**wrong)


def test_bernoulli_and_divergences():
    d = D.Bernoulli(t(0.2, 0.9))
    np.testing.assert_allclose(d.log_prob(t(1, 0)).exp().numpy(), [0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose(d.sample((9000,)).numpy().mean(0), [0.2, 0.9], atol=0.03)
    p, q = np.array([0.2, 0.9]), np.array([0.6, 0.5])
    want = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    np.testing.assert_allclose(D.kl_divergence(d, D.Bernoulli(t(*q))).numpy(), want, rtol=1e-6)
    c, e = (D.Categorical(t(0.2, 0.3, 0.5)), D.Categorical(t(0.6, 0.2, 0.2)))
    np.testing.assert_allclose(float(D.kl_divergence(c, e)), (np.array([.2, .3, .5]) * np.log(
        np.array([.2, .3, .5]) / np.array([.6, .2, .2]))).sum(), rtol=1e-6)
    n = D.kl_divergence(D.Normal(t(1.0), t(2.0)), D.Normal(t(0.0), t(3.0)))
    np.testing.assert_allclose(float(n), math.log(3 / 2) + (4 + 1) / 18 - 0.5, rtol=1e-9)
    with pytest.raises(NotImplementedError):
        D.kl_divergence(c, d)


def test_data_by_its_other_name():
    from janus.utils.data import DataLoader, TensorDataset
    assert [x.tolist() for x, in DataLoader(TensorDataset(janus.arange(3)), batch_size=2)] == [[0, 1], [2]]
    assert janus.utils.data.DataLoader is janus.data.DataLoader
