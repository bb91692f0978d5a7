# SPDX-License-Identifier: Apache-2.0
"""Shapes and indices made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import builtins

from . import _C
from ._C import Tensor
from ._attach import method


def wrap_dim(dim, rank):
    """A dim counted from the front; IndexError where there is none."""
    span = builtins.max(rank, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim % span


@method
def tile(input, *dims):
    """`input` repeated along each dim, leading ones added."""
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return input.repeat((1,) * (input.ndim - len(dims)) + dims)


@method
def movedim(input, source, destination):
    """Dims moved to new places, the others kept in order."""
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    if len(source) != len(destination):
        raise RuntimeError("movedim: Invalid source or destination dims: they should have the same number of elements")
    source = [wrap_dim(d, input.ndim) for d in source]
    destination = [wrap_dim(d, input.ndim) for d in destination]
    if len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise RuntimeError("movedim: repeated dim in `source` or `destination`")
    if not input.ndim:
        return input
    order = [d for d in range(input.ndim) if d not in source]
    moved = dict(zip(destination, source))
    for to in sorted(destination):
        order.insert(to, moved[to])
    return input.permute(order)


@method
def unflatten(input, dim, sizes):
    """One dim made several."""
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError(f"unflatten(): dimension specified as {dim} but tensor has no dimensions")
    return input.reshape(tuple(input.shape[:dim]) + tuple(sizes) + tuple(input.shape[dim + 1:]))


@method
def diagonal(input, offset=0, dim1=0, dim2=1):
    """Elements of a diagonal."""
    first, second = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.shape[first], input.shape[second]
    n = builtins.max(0, builtins.min(rows, columns - offset) if offset >= 0 else builtins.min(rows + offset, columns))
    order = [d for d in range(input.ndim) if d not in (first, second)]
    x = input.permute(order + [first, second])
    if n == 0:
        return x.reshape(tuple(x.shape[:-2]) + (rows * columns,))[..., :0]
    if not x.is_contiguous():
        turned = x.transpose(-1, -2)
        if turned.is_contiguous():
            x, rows, columns, offset = turned, columns, rows, -offset
        elif not x.requires_grad:
            x = x[..., -offset:, :] if offset < 0 else x[..., offset:]
            strides = x.stride()
            return x.as_strided(tuple(x.shape[:-2]) + (n,), strides[:-2] + (strides[-2] + strides[-1],),
                                x.storage_offset())
    # One row after the other, the next element of a diagonal is a row and one place further.
    start = offset if offset >= 0 else -offset * columns
    row = x.reshape(tuple(x.shape[:-2]) + (rows * columns,))
    return row[..., start:start + (n - 1) * (columns + 1) + 1:columns + 1]


@method
def masked_select(input, mask):
    """Elements where `mask` is true, as a vector."""
    if mask.dtype is not _C.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = _broadcast_shapes(input.shape, mask.shape)
    return input.expand(shape)[mask.expand(shape)]


@method
def nonzero(input, as_tuple=False):
    """Indices of the elements that are not zero, one row each."""
    indices, count = _nonzero(input)
    indices = indices[:int(count)]
    return tuple([indices[:, i].clone() for i in range(input.ndim)]) if as_tuple else indices.clone()


_nonzero = _C.nonzero


@method
def take_along_dim(input, indices, dim=None):
    """Elements at `indices` along `dim`."""
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    dim = wrap_dim(dim, input.ndim)
    if indices.dtype is not _C.int64:
        raise RuntimeError("take_along_dim(): dtype of indices should be Long")
    if input.ndim != indices.ndim:
        raise RuntimeError("take_along_dim(): input and indices should have the same number of dimensions")
    shape, have = list(input.shape), list(indices.shape)
    shape[dim] = have[dim] = 1
    common = list(_broadcast_shapes(shape, have))
    to_input, to_index = list(common), list(common)
    to_input[dim], to_index[dim] = input.shape[dim], indices.shape[dim]
    return input.expand(to_input).gather(dim, indices.expand(to_index))


def _right_of_diagonal(rows, columns):
    """How far right of the diagonal each element of a matrix is."""
    return _C.arange(columns) - _C.arange(rows).unsqueeze(1)


def _room(wanted):
    """OutOfMemoryError, before any work, where there is no memory of so many bytes."""
    if wanted > _C._memory_limit:
        raise _C.OutOfMemoryError(f"can't allocate memory: you tried to allocate {wanted} bytes.")


@method
def repeat_interleave(input, repeats, dim=None):
    """Each element repeated."""
    if dim is None:
        input, dim = input.reshape(-1), 0
    size = input.shape[dim] if input.ndim else 1
    if isinstance(repeats, Tensor):
        if repeats.dtype not in (_C.int64, _C.int32):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if repeats.ndim > 1:
            raise RuntimeError("repeat_interleave only accept 0-dim or 1-dim tensors as repeat")
        counts = repeats.tolist() if repeats.ndim else [repeats.item()]
        if len(counts) != 1:
            if len(counts) != size:
                raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                                   f"{len(counts)} and input.size({dim}) = {size}")
            if builtins.min(counts, default=0) < 0:
                raise RuntimeError("repeats can not be negative")
            _room(builtins.sum(counts) * 64)
            index = [i for i, n in enumerate(counts) for _ in range(n)]
            return input.index_select(dim, _C.tensor(index, dtype=_C.int64))
        repeats = counts[0]
    if repeats < 0:
        raise RuntimeError("repeats can not be negative")
    index = _C.arange(size).unsqueeze(1).expand(size, repeats).reshape(-1)
    return input.index_select(dim, index)


def _broadcast_shapes(*shapes):
    rank = builtins.max(len(s) for s in shapes)
    out = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape):
            at = i + rank - len(shape)
            if n != 1 and out[at] not in (1, n):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {shapes}")
            out[at] = n if n != 1 else out[at]
    return tuple(out)


def broadcast_shapes(*shapes):
    """The shape that operands of these shapes have together."""
    return _C.Size(_broadcast_shapes(*shapes))


def broadcast_tensors(*tensors):
    """Tensors expanded to their common shape."""
    shape = _broadcast_shapes(*[t.shape for t in tensors])
    return tuple([t.expand(shape) for t in tensors])


@method
def broadcast_to(input, shape):
    """Expanded to `shape`."""
    return input.expand(shape)


def vstack(tensors):
    """Tensors joined along the first dim, vectors as rows."""
    return _C.cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)


def hstack(tensors):
    """Tensors joined along the second dim, vectors along the first."""
    tensors = [t.reshape(1) if t.ndim == 0 else t for t in tensors]
    return _C.cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def meshgrid(*tensors, indexing="ij"):
    """Grids of coordinates."""
    tensors = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if indexing == "xy" and len(tensors) > 1:
        grids = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return tuple([g for g in (grids[1], grids[0]) + grids[2:]])
    shape = [t.numel() for t in tensors]
    return tuple([t.reshape([-1 if i == k else 1 for i in range(len(tensors))]).expand(shape)
                  for k, t in enumerate(tensors)])
