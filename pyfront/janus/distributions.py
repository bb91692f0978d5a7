# SPDX-License-Identifier: Apache-2.0
"""Probability distributions with PyTorch's names.

Draws come from janus's generator; `rsample` lets gradients through to the parameters.  Parameters
are broadcast together: their common shape is `batch_shape`. `event_shape` is empty but of Dirichlet and Independent.
"""
import math

from . import _C, _random
from ._shape import broadcast_shapes, broadcast_tensors


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


class Normal(Distribution):
    """The normal distribution."""

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


class Laplace(Distribution):
    """Laplace's distribution."""

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


class Gumbel(Distribution):
    """Gumbel's distribution of largest values."""

    has_rsample = True

    def __init__(self, loc, scale):
        self.loc, self.scale = _broadcast(loc, scale)
        _number(loc=self.loc)
        _positive(scale=self.scale)
        self.batch_shape = self.loc.shape

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


def kl_divergence(p, q):
    """Divergence of q from p, for two of one kind: Normal, LogNormal, Categorical, Bernoulli, Gamma, Dirichlet, Beta,
    Exponential, or Independent of these."""
    if type(p) is type(q) is Independent and p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
        return p._added(kl_divergence(p.base_dist, q.base_dist))
    if type(p) is type(q) is Beta:
        return kl_divergence(p._shares, q._shares)
    if type(p) is type(q) is Dirichlet:
        a, b = p.concentration, q.concentration
        total = a.sum(-1)
        apart = (a - b) * (a.digamma() - total.digamma().unsqueeze(-1))
        return total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma() + apart).sum(-1)
    if type(p) is type(q) is Gamma:
        a, b = p.concentration, q.concentration
        return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    if type(p) is type(q) is Exponential:
        ratio = q.rate / p.rate
        return ratio - ratio.log() - 1
    if type(p) is type(q) and type(p) in (Normal, LogNormal):
        ratio, gap = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
        return 0.5 * (ratio + gap - 1 - ratio.log())
    if type(p) is type(q) is Categorical:
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if type(p) is type(q) is Bernoulli:
        return p.probs * (p.logits - q.logits) - _C.softplus(p.logits) + _C.softplus(q.logits)
    raise NotImplementedError(f"kl_divergence({type(p).__name__}, {type(q).__name__})")
