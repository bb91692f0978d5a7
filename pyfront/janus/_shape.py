# SPDX-License-Identifier: Apache-2.0
"""Shapes and indices made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import builtins

from . import _C
from ._C import Tensor
from ._attach import method


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
    source = [d % input.ndim for d in source]
    destination = [d % input.ndim for d in destination]
    order = [d for d in range(input.ndim) if d not in source]
    for to, where in sorted(zip(destination, source)):
        order.insert(to, where)
    return input.permute(order)


@method
def unflatten(input, dim, sizes):
    """One dim made several."""
    dim %= input.ndim
    return input.reshape(tuple(input.shape[:dim]) + tuple(sizes) + tuple(input.shape[dim + 1:]))


@method
def diagonal(input, offset=0, dim1=0, dim2=1):
    """Elements of a diagonal."""
    order = [d for d in range(input.ndim) if d not in (dim1 % input.ndim, dim2 % input.ndim)]
    x = input.permute(order + [dim1 % input.ndim, dim2 % input.ndim])
    rows, columns = x.shape[-2], x.shape[-1]
    n = builtins.max(0, builtins.min(rows, columns - offset) if offset >= 0 else builtins.min(rows + offset, columns))
    i = _C.arange(n)
    key = (slice(None),) * (x.ndim - 2)
    return x[key + (i if offset >= 0 else i - offset, i + offset if offset >= 0 else i)]


@method
def masked_select(input, mask):
    """Elements where `mask` is true, as a vector."""
    shape = _broadcast_shapes(input.shape, mask.shape)
    return input.expand(shape)[mask.expand(shape)]


@method
def nonzero(input, as_tuple=False):
    """Indices of the elements that are not zero, one row each."""
    indices, count = _nonzero(input)
    indices = indices[:int(count)]
    return tuple([indices[:, i].contiguous() for i in range(input.ndim)]) if as_tuple else indices.contiguous()


_nonzero = _C.nonzero


@method
def take_along_dim(input, indices, dim=None):
    """Elements at `indices` along `dim`."""
    return input.reshape(-1).gather(0, indices.reshape(-1)) if dim is None else input.gather(dim, indices)


@method
def repeat_interleave(input, repeats, dim=None):
    """Each element repeated."""
    if dim is None:
        input, dim = input.reshape(-1), 0
    if isinstance(repeats, int):
        index = [i for i in range(input.shape[dim]) for _ in range(repeats)]
    else:
        index = [i for i, n in enumerate(repeats.tolist()) for _ in range(n)]
    return input.index_select(dim, _C.tensor(index, dtype=_C.int64))


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
