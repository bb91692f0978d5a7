# SPDX-License-Identifier: Apache-2.0
"""Systems of linear equations, inverses and Cholesky's factors of matrices, in batches.

Elimination column by column, made of other ops: gradients of all orders come by their gradients, and `janus.function` follows
it like any other code.  The time is that of some ops for each column, which is right for small matrices.
"""
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
