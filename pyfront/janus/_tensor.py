# SPDX-License-Identifier: Apache-2.0
"""Methods of Tensor, and functions, that are made of other ops.

Each is plain Python over ops, so that `janus.function` follows it like any other code.
"""
import builtins
import math

from . import _C, autograd
from ._C import Tensor
from ._print import tensor_text


def _method(function, name=None):
    setattr(Tensor, name or function.__name__, function)
    return function


# History.

@_method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradient of this tensor to the `.grad` of the leaves it comes from."""
    _C._backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs)


@_method
def register_hook(self, hook):
    """Calls `hook(grad)` when the gradient of this tensor is known; what it returns replaces it."""
    return autograd.RemovableHandle(self, _C._register_hook(self, hook))


# Text, copies, other libraries.

_method(tensor_text, "_repr")


@_method
def __format__(self, spec):
    if self.ndim == 0 and spec:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@_method
def numpy(self, *, force=False):
    """A NumPy array that shares the memory."""
    if self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    import numpy
    return numpy.asarray(self._numpy()) if self.ndim else numpy.asarray(self._numpy()).reshape(())


@_method
def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@_method
def __deepcopy__(self, memo):
    made = memo.get(id(self))
    if made is None:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                               "protocol at the moment.")
        made = self.detach().clone()
        if builtins.type(self) is not Tensor:
            made = Tensor._make_subclass(builtins.type(self), made, self.requires_grad)
        elif self.requires_grad:
            made.requires_grad = True
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        made.__dict__.update(self.__dict__)
    return made


def _rebuild(cls, data, shape, dtype, requires_grad, attributes):
    tensor = _C._from_buffer(bytearray(data)) if data else _C.empty(0, dtype=_C.uint8)
    made = _C.empty(shape, dtype=dtype)
    if data:
        memoryview(made.reshape(-1))[:] = memoryview(tensor).cast("B").cast(memoryview(made.reshape(-1)).format)
    if cls is not Tensor:
        made = Tensor._make_subclass(cls, made, requires_grad)
    elif requires_grad:
        made.requires_grad = True
    made.__dict__.update(attributes)
    return made


@_method
def __reduce_ex__(self, protocol):
    plain = self.detach().contiguous()
    data = bytes(memoryview(plain.reshape(-1)).cast("B")) if plain.numel() else b""
    return _rebuild, (builtins.type(self), data, tuple(self.shape), self.dtype, self.requires_grad and self.is_leaf,
                      dict(self.__dict__))


def from_numpy(array):
    """A tensor over the memory of a NumPy array."""
    return _C._from_buffer(array)


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor: itself, over its memory where it is an array, or a copy."""
    if not isinstance(data, Tensor):
        if hasattr(data, "__array_interface__") and hasattr(data, "ndim") and not isinstance(data, (int, float)):
            try:
                data = _C._from_buffer(data)
            except (ValueError, BufferError):
                return _C.tensor(data, dtype=dtype, device=device)
        else:
            return _C.tensor(data, dtype=dtype, device=device)
    return data if dtype is None and device is None else data.to(dtype=dtype, device=device)


asarray = as_tensor


# Reductions.

def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Standard deviation."""
    return input.var(dim, unbiased, keepdim, correction=correction).sqrt()


_method(std)


def std_mean(input, dim=None, unbiased=True, keepdim=False):
    """Standard deviation and mean."""
    return std(input, dim, unbiased, keepdim), input.mean(dim, keepdim)


def var_mean(input, dim=None, unbiased=True, keepdim=False):
    """Variance and mean."""
    return input.var(dim, unbiased, keepdim), input.mean(dim, keepdim)


def median(input):
    """The lower median of all elements."""
    values, _ = input.reshape(-1).sort()
    return values[(input.numel() - 1) // 2]


_method(median)


def count_nonzero(input, dim=None):
    """Number of elements that are not zero."""
    return (input != 0).sum(dim)


_method(count_nonzero)


# Pieces and shapes.

def _names(function):
    _method(function)
    return function


@_names
def tile(input, *dims):
    """`input` repeated along each dim, leading ones added."""
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return input.repeat((1,) * (input.ndim - len(dims)) + dims)


@_names
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


@_names
def unflatten(input, dim, sizes):
    """One dim made several."""
    dim %= input.ndim
    return input.reshape(tuple(input.shape[:dim]) + tuple(sizes) + tuple(input.shape[dim + 1:]))


@_names
def diagonal(input, offset=0, dim1=0, dim2=1):
    """Elements of a diagonal."""
    order = [d for d in range(input.ndim) if d not in (dim1 % input.ndim, dim2 % input.ndim)]
    x = input.permute(order + [dim1 % input.ndim, dim2 % input.ndim])
    rows, columns = x.shape[-2], x.shape[-1]
    n = builtins.max(0, builtins.min(rows, columns - offset) if offset >= 0 else builtins.min(rows + offset, columns))
    i = _C.arange(n)
    key = (slice(None),) * (x.ndim - 2)
    return x[key + (i if offset >= 0 else i - offset, i + offset if offset >= 0 else i)]


@_names
def masked_select(input, mask):
    """Elements where `mask` is true, as a vector."""
    shape = _broadcast_shapes(input.shape, mask.shape)
    return input.expand(shape)[mask.expand(shape)]


@_names
def nonzero(input, as_tuple=False):
    """Indices of the elements that are not zero, one row each."""
    indices, count = _nonzero(input)
    indices = indices[:int(count)]
    return tuple([indices[:, i].contiguous() for i in range(input.ndim)]) if as_tuple else indices.contiguous()


_nonzero = _C.nonzero


@_names
def take_along_dim(input, indices, dim=None):
    """Elements at `indices` along `dim`."""
    return input.reshape(-1).gather(0, indices.reshape(-1)) if dim is None else input.gather(dim, indices)


@_names
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


@_names
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


# Arithmetic.

@_names
def rsub(input, other):
    """other - input."""
    return other - input


@_names
def true_divide(input, other):
    """input / other."""
    return input / other


@_names
def divide(input, other):
    """input / other."""
    return input / other


@_names
def multiply(input, other):
    """input * other."""
    return input * other


@_names
def subtract(input, other):
    """input - other."""
    return input - other


@_names
def floor_divide(input, other):
    """floor(input / other)."""
    return input // other


@_names
def remainder(input, other):
    """input - floor(input / other) * other."""
    return input % other


@_names
def negative(input):
    """-input."""
    return -input


@_names
def absolute(input):
    """|input|."""
    return input.abs()


@_names
def log2(input):
    """Binary logarithm."""
    return input.log() * (1.0 / math.log(2.0))


@_names
def log10(input):
    """Decimal logarithm."""
    return input.log() * (1.0 / math.log(10.0))


@_names
def exp2(input):
    """2 to the power input."""
    return (input * math.log(2.0)).exp()


@_names
def tan(input):
    """Tangent."""
    return input.sin() / input.cos()


@_names
def sinh(input):
    """Hyperbolic sine."""
    return (input.exp() - (-input).exp()) * 0.5


@_names
def cosh(input):
    """Hyperbolic cosine."""
    return (input.exp() + (-input).exp()) * 0.5


@_names
def logit(input, eps=None):
    """log(x / (1 - x))."""
    if eps is not None:
        input = input.clamp(eps, 1 - eps)
    return (input / (1 - input)).log()


@_names
def trunc(input):
    """Towards zero."""
    return _C.where(input < 0, input.ceil(), input.floor())


@_names
def isinf(input):
    """Whether infinite."""
    return (input.isfinite() | input.isnan()).logical_not()


@_names
def fmod(input, other):
    """Remainder with the sign of input."""
    return input - trunc(input / other) * other


@_names
def logaddexp(input, other):
    """log(exp(a) + exp(b))."""
    top = _C.maximum(input, other)
    return top + ((input - top).exp() + (other - top).exp()).log()


@_names
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    product = mat1.mm(mat2)
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


@_names
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * batch1 @ batch2."""
    product = batch1.bmm(batch2)
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


@_names
def inner(input, other):
    """Sums of products over the last dims."""
    return (input * other) if input.ndim == 0 or other.ndim == 0 else input @ other.transpose(-1, -2) \
        if other.ndim > 1 else input @ other


def einsum(equation, *operands):
    """Einstein's sum convention: "ij,jk->ik"."""
    operands = operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum(): {len(terms)} terms for {len(operands)} operands")
    if "..." in equation:
        raise NotImplementedError("einsum(): '...' is not supported")
    if not arrow:
        right = "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))

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


# Random draws.

def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None):
    """Normally distributed numbers; mean and std may be tensors."""
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        size = _broadcast_shapes(*[t.shape for t in (mean, std) if isinstance(t, Tensor)])
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


_method(multinomial)
_method(bernoulli)


def dropout(input, p=0.5, train=True, *, generator=None):
    """Zeroes each element with probability p and scales the others."""
    if not train or p == 0.0:
        return input
    if p == 1.0:
        return input * _C.zeros_like(input)
    return input * _C._mask_like(input, 1.0 - p, 1.0 / (1.0 - p), generator)


@_method
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fills with normally distributed numbers."""
    return self.copy_(_C.randn(self.shape, dtype=self.dtype, generator=generator) * std + mean)


@_method
def uniform_(self, a=0.0, b=1.0, *, generator=None, **bounds):
    """Fills with numbers uniform in [from, to)."""
    a, b = bounds.get("from", a), bounds.get("to", b)
    return self.copy_(_C.rand(self.shape, dtype=self.dtype, generator=generator) * (b - a) + a)


@_method
def bernoulli_(self, p=0.5, *, generator=None):
    """Fills with ones and zeros."""
    return self.copy_(_C.rand(self.shape, generator=generator) < p)


@_method
def random_(self, low=0, high=None, *, generator=None):
    """Fills with integers."""
    if high is None:
        low, high = (0, low) if low else (0, 2 ** 24)
    return self.copy_(_C.randint(low, high, self.shape, generator=generator))


@_method
def exponential_(self, lambd=1.0, *, generator=None):
    """Fills with exponentially distributed numbers."""
    return self.copy_(-(1.0 - _C.rand(self.shape, dtype=self.dtype, generator=generator)).log() / lambd)


# New tensors from a tensor.

@_method
def new_zeros(self, *size, dtype=None, device=None, requires_grad=False):
    """Zeros with this tensor's dtype."""
    return _C.zeros(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new_ones(self, *size, dtype=None, device=None, requires_grad=False):
    """Ones with this tensor's dtype."""
    return _C.ones(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new_empty(self, *size, dtype=None, device=None, requires_grad=False):
    """An uninitialised tensor with this tensor's dtype."""
    return _C.empty(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new_full(self, size, fill_value, dtype=None, device=None, requires_grad=False):
    """A filled tensor with this tensor's dtype."""
    return _C.full(size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new_tensor(self, data, dtype=None, device=None, requires_grad=False):
    """Data with this tensor's dtype."""
    return _C.tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


@_method
def new(self, *args):
    """A tensor of this dtype: sizes, or data."""
    if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
        return _C.tensor(args[0], dtype=self.dtype)
    return _C.empty(*(args or (0,)), dtype=self.dtype)


_TYPE_NAMES = {"FloatTensor": _C.float32, "DoubleTensor": _C.float64, "LongTensor": _C.int64,
               "IntTensor": _C.int32, "ByteTensor": _C.uint8, "BoolTensor": _C.bool, "HalfTensor": _C.float16}


def _type(self, dtype=None, non_blocking=False):
    """The type's name, or the tensor as another type."""
    if dtype is None:
        return "janus." + next(name for name, d in _TYPE_NAMES.items() if d is self.dtype)
    if isinstance(dtype, str):
        dtype = _TYPE_NAMES[dtype.rpartition(".")[2]]
    return self.to(getattr(dtype, "dtype", dtype))


_method(_type, "type")


@_method
def cuda(self, device=None, non_blocking=False):
    """Moves to a CUDA device."""
    return self.to("cuda" if device is None else device)


@_method
def pin_memory(self):
    """The tensor itself: memory on the CPU needs no pinning."""
    return self


@_method
def share_memory_(self):
    """The tensor itself."""
    return self


@_method
def masked_scatter_(self, mask, source):
    """Writes source's elements where `mask` is true."""
    self[mask] = source.reshape(-1)[:int(mask.sum())]
    return self


@_method
def index_fill_(self, dim, index, value):
    """Writes value at indices along dim."""
    self[(slice(None),) * (dim % self.ndim) + (index,)] = value
    return self


@_method
def index_put_(self, indices, values, accumulate=False):
    """self[indices] = values, or += values."""
    return self._index_put(tuple(indices), values, accumulate)


@_method
def index_copy_(self, dim, index, source):
    """Writes slices of source at indices along dim."""
    self[(slice(None),) * (dim % self.ndim) + (index,)] = source
    return self


@_method
def squeeze_(self, dim=None):
    """Drops dims of size 1 from this tensor."""
    self.data = self.data.squeeze(dim)
    return self


@_method
def unsqueeze_(self, dim):
    """Adds a dim of size 1 to this tensor."""
    self.data = self.data.unsqueeze(dim)
    return self


@_method
def equal(self, other):
    """Whether shapes and elements are equal."""
    return self.shape == other.shape and builtins.bool((self == other).all())


@_method
def is_complex(self):
    """False."""
    return False


@_method
def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close."""
    return builtins.bool(isclose(self, other, rtol, atol, equal_nan).all())


@_method
def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are close."""
    close = ((self - other).abs() <= atol + rtol * other.abs()) & other.isfinite() | (self == other)
    return close | (self.isnan() & other.isnan()) if equal_nan else close


def _transposed(self):
    return self.permute(*range(self.ndim - 1, -1, -1)) if self.ndim > 1 else self


def _matrix_transposed(self):
    return self.transpose(-2, -1)


Tensor.T = property(_transposed, doc="Dims in reverse order.")
Tensor.mT = property(_matrix_transposed, doc="The last two dims swapped.")
Tensor.H = Tensor.T


def unique(input, sorted=True, return_inverse=False, return_counts=False):
    """Distinct elements in ascending order."""
    values = input.reshape(-1).tolist()
    distinct = builtins.sorted(set(values))
    result = [_C.tensor(distinct, dtype=input.dtype)]
    place = {value: i for i, value in enumerate(distinct)}
    index = [place[value] for value in values]
    if return_inverse:
        result.append(_C.tensor(index, dtype=_C.int64).reshape(tuple(input.shape)))
    if return_counts:
        counts = [0] * len(distinct)
        for i in index:
            counts[i] += 1
        result.append(_C.tensor(counts, dtype=_C.int64))
    return result[0] if len(result) == 1 else tuple(result)


_method(unique)


def is_tensor(obj):
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether elements are floats."""
    return input.dtype.is_floating_point


def numel(input):
    """Number of elements."""
    return input.numel()


def result_type(a, b):
    """dtype of an operation on both."""
    def sample(x):
        return x.detach().reshape(-1)[:0].reshape([0] * x.ndim) if isinstance(x, Tensor) and x.ndim else x
    return (sample(a) + sample(b)).dtype if isinstance(a, Tensor) or isinstance(b, Tensor) else _C.tensor(a + b).dtype


def promote_types(a, b):
    """dtype that holds both."""
    return (_C.empty(0, dtype=a) + _C.empty(0, dtype=b)).dtype


def can_cast(a, b):
    """Whether conversion keeps the kind of number."""
    def kind(d):
        return 2 if d.is_floating_point else 0 if d is _C.bool else 1
    return kind(a) <= kind(b)
