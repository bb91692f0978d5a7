# SPDX-License-Identifier: Apache-2.0
"""The gamma distribution, and those that are made of its draws."""
from .. import _C
from .distribution import Distribution, _broadcast, _positive


def _standard_gamma(shape):
    """Draws of a gamma distribution of a shape and the rate 1, by Marsaglia's and Tsang's method: normal numbers, cubed, of
    which more than nine in ten are taken; the others are drawn again. Below 1 one of shape + 1 is made smaller."""
    small = shape < 1
    base = _C.where(small, shape + 1, shape) - 1 / 3
    left, drawn = shape.isfinite(), shape
    while left.any():
        x = _C.randn(tuple(shape.shape), dtype=shape.dtype)
        v = (1 + x / (3 * base.sqrt())) ** 3
        u = 1 - _C.rand(tuple(shape.shape), dtype=shape.dtype)
        taken = left & (v > 0) & (u.log() < 0.5 * x * x + base * (1 - v + v.clamp(min=1e-30).log()))
        drawn = _C.where(taken, base * v, drawn)
        left = left & taken.logical_not()
    power = (1 - _C.rand(tuple(shape.shape), dtype=shape.dtype)) ** (1 / shape)
    return _C.where(small, drawn * power, drawn)


class Gamma(Distribution):
    """The gamma distribution, of a concentration (its shape) and a rate; draws have no gradient."""

    def __init__(self, concentration, rate):
        self.concentration, self.rate = _broadcast(concentration, rate)
        _positive(concentration=self.concentration, rate=self.rate)
        self.batch_shape = self.rate.shape

    @property
    def mean(self):
        """Expectation."""
        return self.concentration / self.rate

    @property
    def variance(self):
        """Variance."""
        return self.concentration / (self.rate * self.rate)

    def sample(self, sample_shape=()):
        with _C.no_grad():
            shape = self._shape(sample_shape)
            return _standard_gamma(self.concentration.expand(shape)) / self.rate

    def log_prob(self, value):
        c = self.concentration
        return c * self.rate.log() + (c - 1) * value.log() - self.rate * value - c.lgamma()

    def entropy(self):
        c = self.concentration
        return c - self.rate.log() + c.lgamma() + (1 - c) * c.digamma()


class Dirichlet(Distribution):
    """Shares that add up to 1, along the last dim; draws have no gradient."""

    def __init__(self, concentration):
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        _positive(concentration=concentration)
        self.concentration = concentration
        self.batch_shape, self.event_shape = concentration.shape[:-1], concentration.shape[-1:]

    @property
    def mean(self):
        """Expectation."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self):
        """Variance."""
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total * total * (total + 1))

    def sample(self, sample_shape=()):
        with _C.no_grad():
            drawn = _standard_gamma(self.concentration.expand(self._shape(sample_shape) + tuple(self.event_shape)))
            return drawn / drawn.sum(-1, keepdim=True)

    def log_prob(self, value):
        c = self.concentration
        return ((c - 1) * value.log()).sum(-1) + c.sum(-1).lgamma() - c.lgamma().sum(-1)

    def entropy(self):
        c, total = self.concentration, self.concentration.sum(-1)
        return c.lgamma().sum(-1) - total.lgamma() + (total - c.shape[-1]) * total.digamma() - ((c - 1) * c.digamma()).sum(-1)


class Beta(Distribution):
    """The first of two shares of Dirichlet's distribution; draws have no gradient."""

    def __init__(self, concentration1, concentration0):
        self.concentration1, self.concentration0 = _broadcast(concentration1, concentration0)
        self._shares = Dirichlet(_C.stack([self.concentration1, self.concentration0], -1))
        self.batch_shape = self.concentration1.shape

    @property
    def mean(self):
        """Expectation."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self):
        """Variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total * total * (total + 1))

    def sample(self, sample_shape=()):
        return self._shares.sample(sample_shape)[..., 0]

    def log_prob(self, value):
        return self._shares.log_prob(_C.stack([value, 1 - value], -1))

    def entropy(self):
        return self._shares.entropy()
