# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and reductions made of other ops.

Plain Python over ops, so that `janus.function` follows it like any other code.
"""
import builtins
import collections
import math
from math import nan

from . import _C
from ._C import Tensor
from ._attach import method
from ._limits import iinfo
from ._shape import diagonal, wrap_dim


def _mean_dims(dim):
    """A bool in the place of dim is `unbiased`."""
    return None if isinstance(dim, builtins.bool) else dim


_Pair = collections.namedtuple("median", ("values", "indices"))


def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Standard deviation; where there is none, its gradient is 0."""
    var = input.var(dim, unbiased, keepdim, correction=correction)
    if not var.requires_grad:
        return var.sqrt()
    flat = var == 0
    return var.masked_fill(flat, 1.0).sqrt().masked_fill(flat, 0.0)


method(std)


def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Standard deviation and mean."""
    return std(input, dim, unbiased, keepdim, correction=correction), input.mean(_mean_dims(dim), keepdim)


def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Variance and mean."""
    return input.var(dim, unbiased, keepdim, correction=correction), input.mean(_mean_dims(dim), keepdim)


def median(input, dim=None, keepdim=False):
    """The lower median of all elements, or the medians along `dim` and their places; NaN where there is one."""
    if dim is None:
        flat = input.reshape(-1)
        if not flat.shape[0]:
            if input.dtype.is_floating_point:
                return input.sum() * nan
            return input.new_full((), iinfo(input.dtype).min) if input.dtype is not _C.bool else input.any()
        values, _ = flat.sort()
        middle = values[(flat.shape[0] - 1) // 2]
        return _C.where(values[-1].isnan(), values[-1], middle) if input.dtype.is_floating_point else middle
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return _Pair(input.sum(), _C.zeros((), dtype=_C.int64))
    values, places = input.sort(dim)
    n = values.shape[dim]
    if not n:
        raise IndexError("median(): Expected reduction dim to have non-zero size.")
    value, place = values.select(dim, (n - 1) // 2), places.select(dim, (n - 1) // 2)
    if input.dtype.is_floating_point:
        last = values.select(dim, n - 1)
        value, place = _C.where(last.isnan(), last, value), _C.where(last.isnan(), input.isnan().long().argmax(dim), place)
    return _Pair(value.unsqueeze(dim), place.unsqueeze(dim)) if keepdim else _Pair(value, place)


method(median)


def count_nonzero(input, dim=None):
    """Number of elements that are not zero."""
    return (input != 0).sum(dim)


method(count_nonzero)


@method
def rsub(input, other):
    """other - input."""
    return other - input


@method
def true_divide(input, other):
    """input / other."""
    return input / other


@method
def divide(input, other):
    """input / other."""
    return input / other


@method
def multiply(input, other):
    """input * other."""
    return input * other


@method
def subtract(input, other):
    """input - other."""
    return input - other


@method
def floor_divide(input, other):
    """floor(input / other)."""
    return input // other


@method
def remainder(input, other):
    """input - floor(input / other) * other."""
    return input % other


@method
def negative(input):
    """-input."""
    return -input


@method
def absolute(input):
    """|input|."""
    return input.abs()


def _precise(function, input):
    """function(input) computed in float64 and rounded once."""
    to = input.dtype if input.dtype.is_floating_point else _C.float32
    return function(input.double()).to(to)


@method
def log2(input):
    """Binary logarithm."""
    return _precise(lambda x: x.log() * (1.0 / math.log(2.0)), input)


@method
def log10(input):
    """Decimal logarithm."""
    return _precise(lambda x: x.log() * (1.0 / math.log(10.0)), input)


@method
def exp2(input):
    """2 to the power input."""
    return 2.0 ** input


@method
def tan(input):
    """Tangent."""
    return input.sin() / input.cos()


@method
def sinh(input):
    """Hyperbolic sine."""
    return _precise(lambda x: (x.expm1() - (-x).expm1()) * 0.5, input)


@method
def cosh(input):
    """Hyperbolic cosine."""
    return _precise(lambda x: (x.exp() + (-x).exp()) * 0.5, input)


@method
def logit(input, eps=None):
    """log(x / (1 - x))."""
    if not input.dtype.is_floating_point:
        input = input.float()
    if eps is not None:
        input = input.clamp(eps, 1 - eps)
    return input.log() - (-input).log1p()


@method
def trunc(input):
    """Towards zero."""
    return _C.where(input < 0, input.ceil(), input.floor())


@method
def isinf(input):
    """Whether infinite."""
    return (input.isfinite() | input.isnan()).logical_not()


@method
def fmod(input, other):
    """Remainder with the sign of input."""
    rest = abs(input) % abs(other)
    rest = _C.where(input < 0, -rest if rest.dtype is not _C.bool else rest, rest)
    if not rest.requires_grad:
        return rest
    with _C.no_grad():
        whole = trunc((input - rest) / other)
    # Its value is exact; its gradient is that of input - whole * other.
    rest = rest.detach() + (input - input.detach())
    if not isinstance(other, Tensor) or not other.requires_grad:
        return rest
    return rest - whole * (other - other.detach()).masked_fill(other.isinf(), 0.0)


@method
def logaddexp(input, other):
    """log(exp(a) + exp(b))."""
    top, gap = _C.maximum(input, other), -(input - other).abs()
    return top + gap.masked_fill((input == other) & input.isinf(), 0.0).exp().log1p()


def _added(input, product, beta, alpha):
    """beta * input + alpha * product; what is multiplied by 0 is not looked at."""
    if input.dtype != product.dtype:
        raise RuntimeError(f"expected operands of the same dtype, but got: {input.dtype} != {product.dtype}")
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return product + _C.zeros_like(input)
    return (input if beta == 1 else beta * input) + product


@method
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    return _added(_C._autocast(input, True), mat1.mm(mat2), beta, alpha)


@method
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * batch1 @ batch2."""
    return _added(_C._autocast(input, True), batch1.bmm(batch2), beta, alpha)


@method
def inner(input, other):
    """Sums of products over the last dims: of every row of input with every row of other."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.shape)} and {list(other.shape)}")
    n = input.shape[-1]
    rows, columns = tuple(input.shape[:-1]), tuple(other.shape[:-1])
    return (input.reshape(math.prod(rows), n) @ other.reshape(math.prod(columns), n).t()).reshape(rows + columns)


def _spell_dots(terms, operands, right, arrow):
    """Terms with letters in place of "...", right-aligned; without an arrow, the result's term too."""
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in "".join(terms) + right]
    hidden = [operand.ndim - len(term.replace("...", "")) if "..." in term else 0
              for term, operand in zip(terms, operands)]
    if any(n < 0 for n in hidden):
        raise RuntimeError("einsum(): a term has more letters than its operand dims")
    dots = "".join(spare[:builtins.max(hidden)])
    terms = [term.replace("...", dots[len(dots) - n:]) for term, n in zip(terms, hidden)]
    if not arrow:
        letters = "".join(terms)
        right = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    return terms, right.replace("...", dots)


def _same_sizes(terms, operands):
    """Operands whose dims of size 1 are as large as other operands' of the same letter."""
    sizes = {}
    for term, operand in zip(terms, operands):
        for letter, n in zip(term, operand.shape):
            have = sizes.setdefault(letter, n)
            if have == 1:
                sizes[letter] = n
            elif n not in (1, have):
                raise RuntimeError(f"einsum(): dims of {letter!r} have sizes {have} and {n}")
    return [operand if all(sizes[c] == n for c, n in zip(term, operand.shape))
            else operand.expand([sizes[c] for c in term]) for term, operand in zip(terms, operands)]


def einsum(equation, *operands):
    """Einstein's sum convention: "ij,jk->ik"."""
    operands = operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum(): {len(terms)} terms for {len(operands)} operands")
    if "..." in equation:
        terms, right = _spell_dots(terms, operands, right, arrow)
        left = ",".join(terms)
    elif not arrow:
        right = "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    for term, operand in zip(terms, operands):
        if len(term) != operand.ndim:
            raise RuntimeError(f"einsum(): the term {term!r} does not have a letter for each of {operand.ndim} dims")
    operands = _same_sizes(terms, operands)

    def reduced(term, tensor, keep):
        for letter in sorted(set(term)):
            while term.count(letter) > 1:
                a = term.index(letter)
                b = term.index(letter, a + 1)
                tensor = diagonal(tensor, 0, a, b)
                term = term[:a] + term[a + 1:b] + term[b + 1:] + letter
        gone = [i for i, c in enumerate(term) if c not in keep]
        if gone:
            tensor = tensor.sum(gone)
            term = "".join(c for c in term if c in keep)
        return term, tensor

    def arranged(term, tensor, order):
        return tensor if term == order else tensor.permute([term.index(c) for c in order])

    term, tensor = reduced(terms[0], operands[0], set("".join(terms[1:]) + right))
    for k in range(1, len(terms)):
        later = set("".join(terms[k + 1:]) + right)
        other_term, other = reduced(terms[k], operands[k], set(term) | later)
        term, tensor = reduced(term, tensor, set(other_term) | later)
        batch = [c for c in term if c in other_term and c in later]
        summed = [c for c in term if c in other_term and c not in later]
        a = [c for c in term if c not in other_term]
        b = [c for c in other_term if c not in term]
        x = arranged(term, tensor, "".join(batch + a + summed))
        y = arranged(other_term, other, "".join(batch + summed + b))
        sizes = dict(zip(term, tensor.shape))
        sizes.update(zip(other_term, other.shape))

        def count(letters):
            return math.prod([sizes[c] for c in letters])
        x = x.reshape([sizes[c] for c in batch] + [count(a), count(summed)])
        y = y.reshape([sizes[c] for c in batch] + [count(summed), count(b)])
        tensor = (x @ y).reshape([sizes[c] for c in batch + a + b])
        term = "".join(batch + a + b)
    term, tensor = reduced(term, tensor, set(right))
    return arranged(term, tensor, right)
