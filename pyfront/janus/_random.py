# SPDX-License-Identifier: Apache-2.0
"""Random draws made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
from . import _C
from ._C import Tensor
from ._attach import method
from ._shape import broadcast_shapes


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None):
    """Normally distributed numbers; mean and std may be tensors."""
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        size = broadcast_shapes(*[t.shape for t in (mean, std) if isinstance(t, Tensor)])
        dtype = like.dtype
    return _C.randn(size, dtype=dtype, generator=generator) * std + mean


def bernoulli(input, *, generator=None):
    """1 with the probability each element gives, else 0."""
    return (_C.rand_like(input, generator=generator) < input).to(input.dtype)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the weights of each row."""
    weights = input.detach()
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
    return self.copy_(_C.randn(self.shape, dtype=self.dtype, generator=generator) * std + mean)


@method
def uniform_(self, a=0.0, b=1.0, *, generator=None, **bounds):
    """Fills with numbers uniform in [from, to)."""
    a, b = bounds.get("from", a), bounds.get("to", b)
    return self.copy_(_C.rand(self.shape, dtype=self.dtype, generator=generator) * (b - a) + a)


@method
def bernoulli_(self, p=0.5, *, generator=None):
    """Fills with ones and zeros."""
    return self.copy_(_C.rand(self.shape, generator=generator) < p)


@method
def random_(self, low=0, high=None, *, generator=None):
    """Fills with integers."""
    if high is None:
        low, high = (0, low) if low else (0, 2 ** 24)
    return self.copy_(_C.randint(low, high, self.shape, generator=generator))


@method
def exponential_(self, lambd=1.0, *, generator=None):
    """Fills with exponentially distributed numbers."""
    return self.copy_(-(1.0 - _C.rand(self.shape, dtype=self.dtype, generator=generator)).log() / lambd)
