# SPDX-License-Identifier: Apache-2.0
"""Tensors turned, cut apart and put together, made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
from . import _C
from ._C import Tensor
from ._attach import method
from ._shape import _room, hstack, meshgrid, movedim, vstack, wrap_dim


@method
def moveaxis(input, source, destination):
    """Dims moved to new places, the others kept in order."""
    return movedim(input, source, destination)


@method
def swapdims(input, dim0, dim1):
    """Two dims exchanged."""
    return input.transpose(dim0, dim1)


@method
def ravel(input):
    """All elements as a vector, whose memory is contiguous."""
    return input.contiguous().view(-1)


@method
def fliplr(input):
    """Reversed along the second dim."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@method
def flipud(input):
    """Reversed along the first dim."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


@method
def rot90(input, k=1, dims=(0, 1)):
    """Turned k times by 90 degrees, from the first of `dims` towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = wrap_dim(dims[0], input.ndim), wrap_dim(dims[1], input.ndim)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k = k % 4
    if k == 0:
        return input.clone()
    if k == 2:
        return input.flip((first, second))
    return input.flip(second if k == 1 else first).transpose(first, second)


def _pieces(input, ends, dim):
    """Slices that end at `ends`, and what is left; numbers are those of a slice."""
    before = (slice(None),) * dim
    starts = [0] + ends
    return tuple([input[before + (slice(start, end),)] for start, end in zip(starts, ends + [None])])


@method
def tensor_split(input, indices_or_sections, dim=0):
    """Views along `dim`: so many of about equal size, or cut before each of the indices."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.ndim)
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype is not _C.int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{indices_or_sections.dtype}")
        if indices_or_sections.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional tensor, but got a tensor with {indices_or_sections.ndim} dims")
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, int):
        return _pieces(input, list(indices_or_sections), dim)
    n = indices_or_sections
    if n <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {n}")
    _room(64 * n)
    least, more = input.shape[dim] // n, input.shape[dim] % n
    return _pieces(input, [i * least + (i if i < more else more) for i in range(1, n)], dim)


def _split(input, indices_or_sections, dim, name, least):
    if input.ndim < least:
        raise RuntimeError(f"{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but "
                           f"got a tensor with {input.ndim} dimensions!")
    if isinstance(indices_or_sections, int):
        size = input.shape[dim]
        if indices_or_sections == 0 or size % indices_or_sections:
            raise RuntimeError(f"{name} attempted to split along dimension {dim}, but the size of the dimension {size} "
                               f"is not divisible by the split_size {indices_or_sections}!")
    return tensor_split(input, indices_or_sections, dim)


@method
def hsplit(input, indices_or_sections):
    """Views along the second dim, of vectors along the first: of equal size, or cut before the indices."""
    return _split(input, indices_or_sections, 0 if input.ndim == 1 else 1, "hsplit", 1)


@method
def vsplit(input, indices_or_sections):
    """Views along the first dim: of equal size, or cut before the indices."""
    return _split(input, indices_or_sections, 0, "vsplit", 2)


@method
def dsplit(input, indices_or_sections):
    """Views along the third dim: of equal size, or cut before the indices."""
    return _split(input, indices_or_sections, 2, "dsplit", 3)


def _each(function, tensors):
    if len(tensors) == 1:
        tensors = tensors[0]
        if isinstance(tensors, Tensor):
            return function(tensors)
    return tuple([function(t) for t in tensors])


def _at_least_3d(t):
    if t.ndim == 0:
        return t.reshape(1, 1, 1)
    if t.ndim == 1:
        return t.unsqueeze(0).unsqueeze(-1)
    return t.unsqueeze(-1) if t.ndim == 2 else t


def atleast_1d(*tensors):
    """Each tensor with at least one dim; a tuple where there are several, or a sequence."""
    return _each(lambda t: t.reshape(1) if t.ndim == 0 else t, tensors)


def atleast_2d(*tensors):
    """Each tensor with at least two dims, vectors as rows; a tuple where there are several, or a sequence."""
    return _each(lambda t: t.reshape(1, 1) if t.ndim == 0 else t.unsqueeze(0) if t.ndim == 1 else t, tensors)


def atleast_3d(*tensors):
    """Each tensor with at least three dims; a tuple where there are several, or a sequence."""
    return _each(_at_least_3d, tensors)


def _some(tensors, name):
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def concatenate(tensors, dim=0):
    """Tensors joined along `dim`."""
    return _C.cat(tensors, dim)


def row_stack(tensors):
    """Tensors joined along the first dim, vectors as rows."""
    return vstack(_some(tensors, "vstack"))


def column_stack(tensors):
    """Tensors joined along the second dim, vectors as columns."""
    return hstack([t.reshape(-1, 1) if t.ndim <= 1 else t for t in _some(tensors, "column_stack")])


def dstack(tensors):
    """Tensors joined along the third dim, matrices and vectors given one."""
    return _C.cat([_at_least_3d(t) for t in _some(tensors, "dstack")], 2)


def cartesian_prod(*tensors):
    """Rows of one element of each vector, in all combinations."""
    tensors = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len(tensors) == 1:
        return tensors[0]
    return _C.stack([grid.reshape(-1) for grid in meshgrid(*tensors)], 1)


def block_diag(*tensors):
    """A matrix with the given ones along its diagonal, and zeros elsewhere."""
    tensors = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if not len(tensors):
        return _C.zeros(1, 0)
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions")
    blocks = [atleast_2d(t) for t in tensors]
    width, at, rows = sum([b.shape[1] for b in blocks]), 0, []
    for b in blocks:
        n, m = b.shape
        rows.append(_C.cat([b.new_zeros(n, at), b, b.new_zeros(n, width - at - m)], 1))
        at += m
    return _C.cat(rows, 0)
