# SPDX-License-Identifier: Apache-2.0
"""Windows, and slices and elements that are written or reduced by index, made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
from . import _C
from ._C import Tensor
from ._attach import method
from ._shape import wrap_dim
from ._statistics import _running


def _unfold(self, dimension, size, step):
    """Windows of a size along dimension, each a step further, as a new last dim: a copy."""
    dim = wrap_dim(dimension, self.ndim)
    n = self.shape[dim] if self.ndim else 1
    if size < 0 or size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return self.reshape(1)[:size]
    count = (n - size) // step + 1
    places = (_C.arange(count).unsqueeze(1) * step + _C.arange(size)).reshape(-1)
    return self.index_select(dim, places).unflatten(dim, (count, size)).movedim(dim + 1, -1)


method(_unfold, "unfold")


@method
def index_fill(input, dim, index, value):
    """A copy with value written at indices along dim."""
    return input.clone().index_fill_(dim, index, value)


@method
def index_copy(input, dim, index, source):
    """A copy with slices of source written at indices along dim."""
    return input.clone().index_copy_(dim, index, source)


@method
def masked_scatter(input, mask, source):
    """A copy with source's elements written where `mask` is true."""
    return input.clone().masked_scatter_(mask, source)


@method
def take(input, index):
    """Elements at indices into all of them."""
    if index.dtype is not _C.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    return input.reshape(-1)[index.reshape(-1)].reshape(index.shape)


def _fill_diagonal(self, fill_value, wrap=False):
    """Writes a number on the main diagonal; with `wrap` again below where a matrix is higher than it is wide."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2:
        if len(set(self.shape)) != 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        places = _C.arange(self.shape[0])
        self[(places,) * self.ndim] = fill_value
        return self
    rows, columns = self.shape
    places = _C.arange(0, rows * columns if wrap else min(rows, columns) * columns, columns + 1)
    self[places // columns, places % columns] = fill_value
    return self


method(_fill_diagonal, "fill_diagonal_")


def _tril_(self, diagonal=0):
    """What is above a diagonal becomes 0."""
    return self.copy_(self.clone().tril(diagonal))


method(_tril_, "tril_")


def _triu_(self, diagonal=0):
    """What is below a diagonal becomes 0."""
    return self.copy_(self.clone().triu(diagonal))


method(_triu_, "triu_")

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _by_target(input, dim, index, src, join):
    """What `join` makes of all elements of src that go to one place, there, and input where none go.

    Those of one place are brought side by side; the last of them then has what became of all, and alone is written.
    """
    n = input.shape[dim]
    index, order = index.sort(dim)
    values = src.gather(dim, order)
    values = _running((values, index), dim, lambda a, b: (
        _C.where(a[1] == b[1], join(a[0], b[0]), b[0]), b[1]))[0]
    m = index.shape[dim]
    follows = index.narrow(dim, 0, m - 1) == index.narrow(dim, 1, m - 1)
    follows = _C.cat([follows, _C.zeros_like(index.narrow(dim, 0, 1)).bool()], dim)
    more = list(input.shape)
    more[dim] = 1
    room = _C.cat([input, input.new_zeros(more)], dim)
    return room.scatter(dim, index.masked_fill(follows, n), values).narrow(dim, 0, n)


def _shared(input, dim, index, src, value, include_self):
    """The extremes `value` with gradients: what is equal to one shares its."""
    if not (input.requires_grad or src.requires_grad):
        return value
    won = (src == value.gather(dim, index)).to(src.dtype)
    self_won = (input == value).to(input.dtype)
    if not include_self:
        self_won = self_won.scatter(dim, index, 0)
    count = self_won.scatter_add(dim, index, won)
    still = (src - src.detach()).masked_fill(src.isfinite().logical_not(), 0.0)
    move = (input - input.detach()).masked_fill(input.isfinite().logical_not(), 0.0) * self_won
    return value + (move.scatter_add(dim, index, still * won)) / count


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy of input with elements of src put in at indices along dim: their "sum", "prod", "mean", "amax" or "amin",
    together with what was there unless `include_self` is False."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if input.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.ndim != input.ndim or index.ndim != src.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if not input.ndim:
        return scatter_reduce(input.reshape(1), 0, index.reshape(1), src.reshape(1), reduce,
                              include_self=include_self).reshape(())
    dim = wrap_dim(dim, input.ndim)
    if not index.numel():
        return input.clone()
    src = src[tuple([slice(n) for n in index.shape])]
    if reduce in ("sum", "mean"):
        start = input if include_self else input.scatter(dim, index, 0)
        total = start.scatter_add(dim, index, src)
        if reduce == "sum":
            return total
        ones = _C.ones_like(input)
        count = (ones if include_self else ones.scatter(dim, index, 0)).scatter_add(dim, index, _C.ones_like(src))
        count = count.clamp(min=1)
        return total / count if input.dtype.is_floating_point else total // count
    part = input
    for d in range(input.ndim):
        if d != dim and index.shape[d] != input.shape[d]:
            part = part.narrow(d, 0, index.shape[d])
    if reduce == "prod":
        found = _by_target(_C.ones_like(part), dim, index, src, lambda a, b: a * b)
        found = found * (part if include_self else _C.where(_touched(part, dim, index), _C.ones_like(part), part))
    else:
        join = _C.maximum if reduce == "amax" else _C.minimum
        found = _by_target(part.detach(), dim, index, src.detach(), join)
        if include_self:
            found = join(found, part.detach())
        found = _shared(part, dim, index, src, found, include_self) if input.dtype.is_floating_point else found
    if part is input:
        return found
    out = input.clone()
    out[tuple([slice(n) for n in part.shape])] = found
    return out


def _touched(input, dim, index):
    return _C.zeros(tuple(input.shape), dtype=_C.int64).scatter(dim, index, 1) > 0


method(scatter_reduce)


def _scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """The same in place."""
    return self.copy_(scatter_reduce(self.clone(), dim, index, src, reduce, include_self=include_self))


method(_scatter_reduce_, "scatter_reduce_")
