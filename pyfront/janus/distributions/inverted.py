# SPDX-License-Identifier: Apache-2.0
"""Distributions that are drawn by the inverse of their cumulative function."""
import math

from .. import _C
from .distribution import Distribution, _broadcast, _Located, _number, _positive


class Uniform(Distribution):
    """Uniform on [low, high)."""

    has_rsample = True

    def __init__(self, low, high):
        self.low, self.high = _broadcast(low, high)
        _number(low=self.low, high=self.high)
        if not (self.low < self.high).all():
            raise ValueError("Uniform is not defined when low>= high")
        self.batch_shape = self.low.shape

    @property
    def mean(self):
        """Expectation."""
        return (self.low + self.high) * 0.5

    @property
    def variance(self):
        """Variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape=()):
        return self.low + _C.rand(self._shape(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value):
        inside = (value >= self.low) & (value < self.high)
        density = -(self.high - self.low).log()
        return _C.where(inside, density, _C.full_like(density, -math.inf))

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(Distribution):
    """Exponential with a rate."""

    has_rsample = True

    def __init__(self, rate):
        self.rate, = _broadcast(rate)
        _positive(rate=self.rate)
        self.batch_shape = self.rate.shape

    @property
    def mean(self):
        """Expectation."""
        return 1 / self.rate

    @property
    def variance(self):
        """Variance."""
        return 1 / (self.rate * self.rate)

    def rsample(self, sample_shape=()):
        return -(1 - _C.rand(self._shape(sample_shape), dtype=self.rate.dtype)).log() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def entropy(self):
        return 1 - self.rate.log()


class Laplace(_Located):
    """Laplace's distribution."""

    @property
    def variance(self):
        """Variance."""
        return 2 * self.scale * self.scale

    def rsample(self, sample_shape=()):
        u = _C.rand(self._shape(sample_shape), dtype=self.loc.dtype) - 0.5
        return self.loc - self.scale * u.sign() * (1 - (2 * u.abs()).clamp(max=1 - 1e-7)).log()

    def log_prob(self, value):
        return -(value - self.loc).abs() / self.scale - (2 * self.scale).log()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Gumbel(_Located):
    """Gumbel's distribution of largest values."""

    @property
    def mean(self):
        """Expectation."""
        return self.loc + self.scale * 0.5772156649015329

    @property
    def variance(self):
        """Variance."""
        return self.scale * self.scale * (math.pi ** 2 / 6)

    def rsample(self, sample_shape=()):
        u = _C.rand(self._shape(sample_shape), dtype=self.loc.dtype).clamp(min=1e-20, max=1 - 1e-7)
        return self.loc - self.scale * (-u.log()).log()

    def log_prob(self, value):
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self):
        return self.scale.log() + 1.5772156649015329
