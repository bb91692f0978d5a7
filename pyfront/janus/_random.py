# SPDX-License-Identifier: Apache-2.0
"""Random draws made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
from . import _C
from ._C import Tensor
from ._attach import method
from ._shape import broadcast_shapes


def _check(what, fine, error=RuntimeError):
    if not fine:
        raise error(what)


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None):
    """Normally distributed numbers; mean and std may be tensors."""
    if isinstance(std, Tensor):
        _check("normal expects all elements of std >= 0.0", std.numel() == 0 or (std >= 0).all())
    else:
        _check(f"normal expects std >= 0.0, but found std {std}", std >= 0)
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        size = broadcast_shapes(*[t.shape for t in (mean, std) if isinstance(t, Tensor)])
        dtype = like.dtype
    return _C.randn(size, dtype=dtype, generator=generator) * std + mean


def bernoulli(input, *, generator=None):
    """1 with the probability each element gives, else 0."""
    _check("Expected p_in >= 0 && p_in <= 1 to be true, but got false.", ((input >= 0) & (input <= 1)).all())
    return (_C.rand_like(input, generator=generator) < input).to(input.dtype)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the weights of each row."""
    weights = input.detach()
    _check("prob_dist must be 1 or 2 dim", weights.ndim in (1, 2))
    _check("multinomial only supports floating-point dtypes for input, got: " + str(weights.dtype),
           weights.dtype.is_floating_point)
    _check("cannot sample n_sample <= 0 samples", num_samples > 0)
    _check("cannot sample n_sample > prob_dist.size(-1) samples without replacement",
           replacement or num_samples <= weights.shape[-1])
    _check("probability tensor contains either `inf`, `nan` or element < 0",
           ((weights >= 0) & weights.isfinite()).all())
    _check("invalid multinomial distribution (sum of probabilities <= 0)", (weights.sum(-1) > 0).all())
    rows = weights if weights.ndim == 2 else weights.unsqueeze(0)
    if replacement or num_samples == 1:
        edges = (rows / rows.sum(-1, keepdim=True)).cumsum(-1)
        draws = _C.rand(rows.shape[0], num_samples, dtype=rows.dtype, generator=generator)
        index = (draws.unsqueeze(-1) >= edges.unsqueeze(1)).sum(-1)
        last = ((rows > 0).long() * _C.arange(rows.shape[1])).max(-1).values.unsqueeze(-1)
        index = _C.minimum(index, last)
    else:
        if int((rows > 0).sum(-1).min()) < num_samples:
            raise RuntimeError("invalid multinomial distribution (with replacement=False, not enough non-negative "
                               "category to sample)")
        noise = -(_C.rand(*rows.shape, dtype=rows.dtype, generator=generator).clamp(min=1e-30)).log()
        index = (noise / rows).topk(num_samples, -1, False).indices
    return index if input.ndim == 2 else index.squeeze(0)


method(multinomial)
method(bernoulli)


def dropout(input, p=0.5, train=True, *, generator=None):
    """Zeroes each element with probability p and scales the others."""
    if not train or p == 0.0:
        return input
    if p == 1.0:
        return input * _C.zeros_like(input)
    return input * _C._mask_like(input, 1.0 - p, 1.0 / (1.0 - p), generator)


@method
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fills with normally distributed numbers."""
    _check(f"normal expects std >= 0.0, but found std {std}", std >= 0)
    return self.copy_(_C.randn(self.shape, dtype=self.dtype, generator=generator) * std + mean)


@method
def uniform_(self, a=0.0, b=1.0, *, generator=None, **bounds):
    """Fills with numbers uniform in [from, to)."""
    a, b = bounds.get("from", a), bounds.get("to", b)
    _check(f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}", a <= b)
    return self.copy_(_C.rand(self.shape, dtype=self.dtype, generator=generator) * (b - a) + a)


@method
def bernoulli_(self, p=0.5, *, generator=None):
    """Fills with ones and zeros."""
    if isinstance(p, Tensor):
        _check("Expected p_in >= 0 && p_in <= 1 to be true, but got false.", ((p >= 0) & (p <= 1)).all())
    else:
        _check(f"bernoulli_ expects p to be in [0, 1], but got p={p}", 0 <= p <= 1)
    return self.copy_(_C.rand(self.shape, generator=generator) < p)


@method
def random_(self, low=0, high=None, *, generator=None):
    """Fills with integers."""
    if high is None:
        low, high = (0, low) if low else (0, 2 ** 24)
    _check(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}", low < high)
    return self.copy_(_C.randint(low, high, self.shape, generator=generator))


@method
def exponential_(self, lambd=1.0, *, generator=None):
    """Fills with exponentially distributed numbers."""
    _check(f"exponential_ expects lambda > 0.0, but found lambda={lambd}", lambd > 0)
    return self.copy_(-(1.0 - _C.rand(self.shape, dtype=self.dtype, generator=generator)).log() / lambd)
