# SPDX-License-Identifier: Apache-2.0
"""Products and distances of pairs, diagonals and differences, made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import math

from . import _C
from ._C import Tensor
from ._attach import method
from ._shape import _right_of_diagonal, _room, movedim, wrap_dim


def tensordot(a, b, dims=2):
    """Sums of products over dims of both: the last of a and the first of b, or lists of dims."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = [[d] if isinstance(d, int) else list(d) for d in dims]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    left, right = [wrap_dim(d, a.ndim) for d in left], [wrap_dim(d, b.ndim) for d in right]
    for i, j in zip(left, right):
        n, m = a.shape[i], b.shape[j]
        if n == 1 and m != 1:
            b = b.sum(j, keepdim=True).to(b.dtype)
        elif m == 1 and n != 1:
            a = a.sum(i, keepdim=True).to(a.dtype)
        elif n != m:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {i} and second has "
                               f"size {m} in dim {j}")
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise RuntimeError("dim appears multiple times in the list of dims")
    rows, columns = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    rest = [a.shape[d] for d in rows] + [b.shape[d] for d in columns]
    n = math.prod([a.shape[d] for d in left])
    x = a.permute(rows + left).reshape(math.prod([a.shape[d] for d in rows]), n)
    y = b.permute(right + columns).reshape(n, math.prod([b.shape[d] for d in columns]))
    return (x @ y).reshape(rest)


def _root(sums, power):
    """sums ** power, whose gradient at 0 is 0."""
    zero = sums == 0
    sums = sums.masked_fill(zero, 1.0)
    return (sums.sqrt() if power == 0.5 else sums.pow(power)).masked_fill(zero, 0.0)


# Beyond so many rows PyTorch takes a product of matrices by default: it is faster, and less exact where rows are close.
_FEW = 25


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Distances of the rows of x1 [..., P, M] and x2 [..., R, M], by the p-norm: [..., P, R].

    `compute_mode` says whether Euclidean ones are found by a product of matrices: "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist", or if there are more than 25 rows. Elements that share the largest difference
    (p = inf) share its gradient.
    """
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for i, x in enumerate((x1, x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{i + 1} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for i, x in enumerate((x1, x2)):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{i + 1} got: {x.dtype}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    many = x1.shape[-2] > _FEW or x2.shape[-2] > _FEW
    if p == 2 and (compute_mode == modes[1] or compute_mode == modes[0] and many):
        squares = (x1 * x1).sum(-1).unsqueeze(-1) + (x2 * x2).sum(-1).unsqueeze(-2)
        return _root((squares - 2 * (x1 @ x2.transpose(-1, -2))).clamp_min(0.0), 0.5)
    gap = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if p == 0:
        # It does not change with its arguments, but it has a history, as in PyTorch.
        return (gap != 0).sum(-1).to(gap.dtype) + (gap * 0).masked_fill(gap == gap, 0.0).sum(-1)
    if p == 2:
        return _root((gap * gap).sum(-1), 0.5)
    gap = gap.abs()
    if p == 1:
        return gap.sum(-1)
    if p == math.inf:
        return gap.amax(-1) if gap.shape[-1] else gap.sum(-1)
    none = gap == 0
    return _root(gap.masked_fill(none, 1.0).pow(p).masked_fill(none, 0.0).sum(-1), 1 / p)


@method
def kron(input, other):
    """Kronecker's product: each element of input times all of other."""
    rank = max(input.ndim, other.ndim)
    a, b = [1] * (rank - input.ndim) + list(input.shape), [1] * (rank - other.ndim) + list(other.shape)
    x = input.reshape([n for size in a for n in (size, 1)])
    y = other.reshape([n for size in b for n in (1, size)])
    return (x * y).reshape([n * m for n, m in zip(a, b)])


@method
def trace(input):
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got input with dim {input.ndim}")
    return input.diagonal().sum()


@method
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices whose diagonals are the vectors along the last dim; the matrices' dims are dim1 and dim2."""
    first, second = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = (input.shape[-1] + abs(offset)) ** 2
    _room(8 * size * math.prod(input.shape[:-1]) + 8 * size)
    if offset:
        none = input.new_zeros(tuple(input.shape[:-1]) + (abs(offset),))
        input = _C.cat([input, none] if offset > 0 else [none, input], -1)
    n = input.shape[-1]
    out = input.unsqueeze(-1).expand(tuple(input.shape) + (n,)).masked_fill(_right_of_diagonal(n, n) != offset, 0)
    return movedim(out, (-2, -1), (first, second)).contiguous()


@method
def diagflat(input, offset=0):
    """A matrix whose diagonal is all elements."""
    return input.reshape(-1).diag(offset)


def _indices(row, col, chosen, dtype):
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")
    _room(8 * row * col)
    return chosen(_right_of_diagonal(row, col)).nonzero().t().contiguous().to(dtype)


def triu_indices(row, col, offset=0, *, dtype=_C.int64):
    """Places on and above a diagonal of a matrix [row, col], as two rows of indices."""
    return _indices(row, col, lambda place: place >= offset, dtype)


def tril_indices(row, col, offset=0, *, dtype=_C.int64):
    """Places on and below a diagonal of a matrix [row, col], as two rows of indices."""
    return _indices(row, col, lambda place: place <= offset, dtype)


@method
def argwhere(input):
    """Indices of the elements that are not zero, one row each."""
    return input.nonzero().t().contiguous().t()


@method
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along `dim`, n times; bools are compared."""
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if prepend is not None or append is not None:
        input = _C.cat([t for t in (prepend, input, append) if t is not None], dim)
    dim = wrap_dim(dim, input.ndim)
    if not n or not input.shape[dim]:
        return input.clone()
    for _ in range(min(n, input.shape[dim])):
        size = input.shape[dim] - 1
        later, earlier = input.narrow(dim, 1, size), input.narrow(dim, 0, size)
        input = later != earlier if input.dtype is _C.bool else later - earlier
    return input
