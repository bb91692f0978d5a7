# SPDX-License-Identifier: Apache-2.0
"""Batch dims as one event."""
from .distribution import Distribution


class Independent(Distribution):
    """A distribution whose last batch dims are one event: their logarithms of probabilities are added."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        kept = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.batch_shape = base_distribution.batch_shape[:kept]
        self.event_shape = tuple(base_distribution.batch_shape[kept:]) + tuple(base_distribution.event_shape)
        self.has_rsample = base_distribution.has_rsample

    @property
    def mean(self):
        """Expectation."""
        return self.base_dist.mean

    @property
    def variance(self):
        """Variance."""
        return self.base_dist.variance

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def _added(self, value):
        n = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-n, 0))) if n else value

    def log_prob(self, value):
        return self._added(self.base_dist.log_prob(value))

    def entropy(self):
        return self._added(self.base_dist.entropy())
