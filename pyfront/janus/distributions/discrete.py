# SPDX-License-Identifier: Apache-2.0
"""Distributions of classes and of yes and no."""
import math

from .. import _C, _random
from .._shape import broadcast_shapes
from .distribution import Distribution, _broadcast, _number, _valid


class Categorical(Distribution):
    """Numbers 0 to K - 1 with probabilities (or scores) along the last dim."""

    def __init__(self, probs=None, logits=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        scores = probs if probs is not None else logits
        if scores.ndim < 1:
            raise ValueError("the parameter of Categorical must be at least one-dimensional.")
        if probs is not None:
            _valid("probs", probs, (probs >= 0) & ((probs.sum(-1, keepdim=True) > 0) & probs.isfinite()))
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(min=1.1920929e-07, max=1 - 1.1920929e-07).log()
        else:
            _number(logits=logits)
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.softmax(-1)
        self.batch_shape = self.logits.shape[:-1]

    def sample(self, sample_shape=()):
        n = self.logits.shape[-1]
        count = math.prod(tuple(sample_shape))
        with _C.no_grad():
            drawn = _random.multinomial(self.probs.reshape(-1, n), count, True)
            return drawn.t().reshape(self._shape(sample_shape))

    def log_prob(self, value):
        value = value.long().unsqueeze(-1)
        shape = broadcast_shapes(tuple(value.shape[:-1]), tuple(self.batch_shape))
        scores = self.logits.expand(tuple(shape) + (self.logits.shape[-1],))
        return scores.gather(-1, value.expand(tuple(shape) + (1,))).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=-3.4e38) * self.probs).sum(-1)


class Bernoulli(Distribution):
    """1 with a probability (or a score's sigmoid), else 0."""

    def __init__(self, probs=None, logits=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs, = _broadcast(probs)
            _valid("probs", self.probs, (self.probs >= 0) & (self.probs <= 1))
            kept = self.probs.clamp(min=1.1920929e-07, max=1 - 1.1920929e-07)
            self.logits = kept.log() - (-kept).log1p()
        else:
            self.logits, = _broadcast(logits)
            _number(logits=self.logits)
            self.probs = self.logits.sigmoid()
        self.batch_shape = self.probs.shape

    @property
    def mean(self):
        """Expectation."""
        return self.probs

    @property
    def variance(self):
        """Variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with _C.no_grad():
            return (_C.rand(self._shape(sample_shape), dtype=self.probs.dtype) < self.probs).to(self.probs.dtype)

    def log_prob(self, value):
        return value * self.logits - _C.softplus(self.logits)

    def entropy(self):
        return _C.softplus(self.logits) - self.probs * self.logits
