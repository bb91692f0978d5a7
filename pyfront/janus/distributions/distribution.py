# SPDX-License-Identifier: Apache-2.0
"""What all distributions have, and how their parameters are taken."""
from .. import _C
from .._shape import broadcast_tensors


def _broadcast(*values):
    """Numbers and tensors as tensors of one shape."""
    like = next((v for v in values if isinstance(v, _C.Tensor)), None)
    dtype = _C.float32 if like is None else like.dtype
    return broadcast_tensors(*[v if isinstance(v, _C.Tensor) else _C.tensor(float(v), dtype=dtype) for v in values])


def _valid(name, value, fine):
    """ValueError where a parameter is none that the distribution may have."""
    if not fine.all():
        raise ValueError(f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution to satisfy "
                         f"its constraint, but found invalid values:\n{value}")


def _positive(**parameters):
    for name, value in parameters.items():
        _valid(name, value, value > 0)


def _number(**parameters):
    for name, value in parameters.items():
        _valid(name, value, value.isnan().logical_not())


class Distribution:
    """Base class: a subclass sets `batch_shape` and has `sample` or `rsample`, and `log_prob`."""

    has_rsample = False
    event_shape = ()

    def rsample(self, sample_shape=()):
        """A draw that is differentiable by the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def sample(self, sample_shape=()):
        """A draw of shape sample_shape + batch_shape."""
        with _C.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value):
        """Logarithm of the probability (density) of a value."""
        raise NotImplementedError

    def prob(self, value):
        """Probability (density) of a value."""
        return self.log_prob(value).exp()

    def entropy(self):
        """Entropy, in nats."""
        raise NotImplementedError

    @property
    def stddev(self):
        """Standard deviation."""
        return self.variance.sqrt()

    def _shape(self, sample_shape):
        return tuple(sample_shape) + tuple(self.batch_shape)

    def __repr__(self):
        return f"{type(self).__name__}(batch_shape={tuple(self.batch_shape)})"


class _Located(Distribution):
    """What is moved by `loc` and stretched by `scale`, and lies around loc."""

    has_rsample = True

    def __init__(self, loc, scale):
        self.loc, self.scale = _broadcast(loc, scale)
        _number(loc=self.loc)
        _positive(scale=self.scale)
        self.batch_shape = self.loc.shape

    @property
    def mean(self):
        """Expectation."""
        return self.loc
