# SPDX-License-Identifier: Apache-2.0
"""Systems of linear equations, inverses, Cholesky's factors, determinants, norms and products of matrices, in batches.

Elimination column by column, made of other ops: gradients of all orders come by their gradients, and `janus.function` follows
it like any other code.  The time is that of some ops for each column, which is right for small matrices.
"""
import math

from . import _C
from ._shape import _broadcast_shapes

_NAMES = {_C.float32: "Float", _C.float64: "Double", _C.float16: "Half", _C.bfloat16: "BFloat16", _C.int64: "Long", _C.int32: "Int",
          _C.uint8: "Byte", _C.bool: "Bool"}


class LinAlgError(RuntimeError):
    """A matrix that is singular, or not positive-definite."""


def _checked(name, a):
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices")
    if not a.dtype.is_floating_point:
        raise NotImplementedError(f"{name}: Expected a floating point or complex tensor as input. Got {_NAMES.get(a.dtype, a.dtype)}")


def _eliminated(a, b):
    """b after the steps that take a to the identity, and which pivot was zero, counted from 1, or 0, for each matrix."""
    n = a.shape[-1]
    rows = _C.arange(n, device=a.device)
    singular = a.new_zeros(a.shape[:-2], dtype=_C.int64)
    for k in range(n):
        best = a[..., k:, k].detach().abs().argmax(-1, keepdim=True) + k
        order = _C.where(rows == k, best, _C.where(rows == best, k, rows)).unsqueeze(-1)
        a, b = a.gather(-2, order.expand(a.shape)), b.gather(-2, order.expand(b.shape))
        pivot, own = a[..., k:k + 1, k:k + 1], (rows == k).unsqueeze(-1)
        singular = _C.where((singular == 0) & (pivot == 0).squeeze(-1).squeeze(-1), k + 1, singular)
        row, right, factor = a[..., k:k + 1, :] / pivot, b[..., k:k + 1, :] / pivot, a[..., k:k + 1]
        a, b = _C.where(own, row, a - factor * row), _C.where(own, right, b - factor * right)
    return b, singular


def _element(which):
    """What a message says of the first matrix of a batch that is meant, and the number that it has."""
    at = (which != 0).reshape(-1).long().argmax().item()
    return f"(Batch element {at}): " if which.ndim else "", which.reshape(-1)[at].item()


def solve(A, B, *, left=True):
    """X with A @ X == B, or X @ A == B where left is False. B may be a vector, or one for each matrix of A."""
    _checked("linalg.solve", A)
    if A.dtype != B.dtype:
        have, other = _NAMES.get(A.dtype, A.dtype), _NAMES.get(B.dtype, B.dtype)
        raise RuntimeError(f"linalg.solve: Expected A and B to have the same dtype, but found A of type {have} and B of type {other} "
                           "instead")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    b = B.unsqueeze(-1) if vector else B
    if not left:
        return solve(A.transpose(-2, -1), b.transpose(-2, -1)).transpose(-2, -1)
    if b.shape[-2] != A.shape[-1]:
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({A.shape[-2]}x{A.shape[-1]} and "
                           f"{b.shape[-2]}x{b.shape[-1]})")
    batch = _broadcast_shapes(A.shape[:-2], b.shape[:-2])
    x, singular = _eliminated(A.expand(*batch, *A.shape[-2:]), b.expand(*batch, *b.shape[-2:]))
    if singular.any():
        raise LinAlgError(f"torch.linalg.solve: {_element(singular)[0]}The solver failed because the input matrix is singular.")
    return x.squeeze(-1) if vector else x


def inv(A):
    """The inverse of each matrix."""
    _checked("linalg.inv", A)
    x, singular = _eliminated(A, _C.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape))
    if singular.any():
        where, k = _element(singular)
        raise LinAlgError(f"linalg.inv: {where}The diagonal element {k} is zero, the inversion could not be completed because the input "
                          "matrix is singular.")
    return x


def cholesky(A, *, upper=False):
    """The lower triangular matrix L with L @ L.T == A, or its transpose; of A the lower triangle is read."""
    _checked("linalg.cholesky", A)
    n = A.shape[-1]
    rows = _C.arange(n, device=A.device)
    columns, failed = [], A.new_zeros(A.shape[:-2], dtype=_C.int64)
    for k in range(n):
        column = A[..., :, k]
        for done in columns:
            column = column - done * done[..., k:k + 1]
        failed = _C.where((failed == 0) & ~(column[..., k] > 0), k + 1, failed)
        column = column / column[..., k:k + 1].sqrt()
        columns.append(_C.where(rows >= k, column, 0.0))
    if failed.any():
        where, k = _element(failed)
        raise LinAlgError(f"linalg.cholesky: {where}The factorization could not be completed because the input is not "
                          f"positive-definite (the leading minor of order {k} is not positive-definite).")
    return _C.stack(columns, dim=-2 if upper else -1) if columns else A.clone()


def det(A):
    """The determinant of each matrix: the product of the pivots of its elimination."""
    _checked("linalg.det", A)
    n = A.shape[-1]
    rows, found = _C.arange(n, device=A.device), A.new_ones(A.shape[:-2])
    for k in range(n):
        best = A[..., k:, k].detach().abs().argmax(-1, keepdim=True) + k
        order = _C.where(rows == k, best, _C.where(rows == best, k, rows)).unsqueeze(-1)
        A = A.gather(-2, order.expand(A.shape))
        pivot = A[..., k, k]
        found = found * _C.where(best.squeeze(-1) == k, pivot, -pivot)
        factor = A[..., k + 1:, k:k + 1] / _C.where(pivot == 0, 1.0, pivot).unsqueeze(-1).unsqueeze(-1)
        A = _C.cat([A[..., :k + 1, :], A[..., k + 1:, :] - factor * A[..., k:k + 1, :]], -2)
    return found


def matrix_power(A, n):
    """A multiplied by itself n times; of its inverse where n is negative, the identity where it is 0."""
    _checked("linalg.matrix_power", A)
    if n < 0:
        return matrix_power(inv(A), -n)
    found = None
    while n:
        if n & 1:
            found = A if found is None else found @ A
        n >>= 1
        A = A @ A if n else A
    return _C.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape).clone() if found is None else found


def cross(input, other, *, dim=-1):
    """The cross product of vectors of 3 numbers along dim."""
    if input.ndim != other.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and {other.ndim}")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}")
    a, b = input.roll(-1, dim), other.roll(-1, dim)
    return a * other.roll(1, dim) - input.roll(1, dim) * b


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of order `ord` (any number; inf, -inf, 0) of all numbers, or along dims."""
    x = x if dtype is None else x.to(dtype)
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {_NAMES.get(x.dtype, x.dtype)}")
    if dim is None and keepdim:
        dim = tuple(range(x.ndim))
    of = (x.reshape(-1), 0) if dim is None else (x, dim)
    if ord == math.inf:
        return of[0].abs().amax(of[1], keepdim)
    if ord == -math.inf:
        return of[0].abs().amin(of[1], keepdim)
    if ord == 0:
        return (of[0] != 0).to(x.dtype).sum(of[1], keepdim)
    if ord == 1:
        return of[0].abs().sum(of[1], keepdim)
    if ord == 2:
        return of[0].norm(2, of[1], keepdim)
    return of[0].abs().pow(ord).sum(of[1], keepdim).pow(1 / ord)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of each matrix: "fro", or the largest or smallest (with a minus) sum of columns (1) or of rows (inf)."""
    A = A if dtype is None else A.to(dtype)
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    rows, columns = (d % A.ndim for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise NotImplementedError(f"linalg.matrix_norm: order {ord!r} needs singular values, which janus does not compute")
    along, rest = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = A.abs().sum(along, keepdim=True)
    found = sums.amax(rest, True) if ord > 0 else sums.amin(rest, True)
    return found if keepdim else found.squeeze(max(rows, columns)).squeeze(min(rows, columns))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector's norm (`dim` one number, or `ord` None), or that of matrices (two dims, or a matrix with an `ord`)."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 2 or (dim is None and A.ndim == 2):
        return matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype)
    if dim is None and A.ndim != 1:
        raise RuntimeError(f"linalg.norm: If ord is given but dim is not, the input must be 1- or 2-dimensional. Got {A.ndim} dims.")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def multi_dot(tensors):
    """The product of two or more matrices, in the order that needs the fewest products of numbers; the first and last may be vectors."""
    parts = list(tensors)
    if len(parts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0], parts[-1] = parts[0].unsqueeze(0) if first else parts[0], parts[-1].unsqueeze(1) if last else parts[-1]
    sizes = [p.shape[0] for p in parts] + [parts[-1].shape[1]]
    least = {(i, i): (0, None) for i in range(len(parts))}  # dynamic programming over what is between two brackets
    for length in range(1, len(parts)):
        for i in range(len(parts) - length):
            j = i + length
            least[i, j] = min((least[i, k][0] + least[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        k = least[i, j][1]
        return parts[i] if i == j else product(i, k) @ product(k + 1, j)
    found = product(0, len(parts) - 1)
    return found.squeeze(-1) if last and not first else found.squeeze(0) if first and not last else found.reshape(()) if first else found
