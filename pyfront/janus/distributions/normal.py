# SPDX-License-Identifier: Apache-2.0
"""The normal distribution, and what has a normal logarithm."""
import math

from .. import _C
from .distribution import _Located


class Normal(_Located):
    """The normal distribution."""

    @property
    def variance(self):
        """Variance."""
        return self.scale * self.scale

    def rsample(self, sample_shape=()):
        return self.loc + _C.randn(self._shape(sample_shape), dtype=self.loc.dtype) * self.scale

    def log_prob(self, value):
        gap = (value - self.loc) / self.scale
        return -0.5 * gap * gap - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value):
        """Probability of less."""
        return 0.5 * (1 + ((value - self.loc) / self.scale * math.sqrt(0.5)).erf())

    def entropy(self):
        return self.scale.log() + 0.5 * math.log(2 * math.pi) + 0.5


class LogNormal(Normal):
    """What has a normal logarithm."""

    @property
    def mean(self):
        return (self.loc + self.scale * self.scale / 2).exp()

    @property
    def variance(self):
        square = self.scale * self.scale
        return square.expm1() * (2 * self.loc + square).exp()

    def rsample(self, sample_shape=()):
        return super().rsample(sample_shape).exp()

    def log_prob(self, value):
        return super().log_prob(value.log()) - value.log()

    def cdf(self, value):
        return super().cdf(value.log())

    def entropy(self):
        return super().entropy() + self.loc
