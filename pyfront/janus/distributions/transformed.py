# SPDX-License-Identifier: Apache-2.0
"""What is drawn from one distribution and goes through transforms."""
from .. import _C
from .distribution import Distribution
from .transforms import ComposeTransform, Transform, _added


class TransformedDistribution(Distribution):
    """Draws of `base_distribution` through `transforms`, one or a list; densities by the change of variables."""

    def __init__(self, base_distribution, transforms):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.base_dist, self.has_rsample = base_distribution, base_distribution.has_rsample
        shape = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        self._event_dim = max(len(base_distribution.event_shape), ComposeTransform(self.transforms).event_dim)
        if len(shape) < self._event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {self._event_dim}, but got {shape}.")
        cut = len(shape) - self._event_dim
        self.batch_shape, self.event_shape = shape[:cut], shape[cut:]

    def _through(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def sample(self, sample_shape=()):
        with _C.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def log_prob(self, value):
        n, y, stretched = self._event_dim, value, 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            stretched = stretched + _added(transform.log_abs_det_jacobian(x, y), n - transform.event_dim)
            y = x
        return _added(self.base_dist.log_prob(y), n - len(self.base_dist.event_shape)) - stretched

    def _from_base(self, value):
        """What the base draws for a value, and the product of the transforms' signs."""
        sign = 1
        for transform in reversed(self.transforms):
            sign = sign * transform.sign
            value = transform.inv(value)
        return value, sign

    def cdf(self, value):
        """Probability of at most `value`, where the base has one."""
        x, sign = self._from_base(value)
        return sign * (self.base_dist.cdf(x) - 0.5) + 0.5
