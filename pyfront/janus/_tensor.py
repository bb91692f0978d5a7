# SPDX-License-Identifier: Apache-2.0
"""Methods of Tensor that are no ops, and what makes a tensor from another or from foreign data."""
import builtins

from . import _C, autograd
from ._C import Tensor
from ._print import tensor_text
from ._attach import method


@method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradient of this tensor to the `.grad` of the leaves it comes from."""
    _C._backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs)


@method
def register_hook(self, hook):
    """Calls `hook(grad)` when the gradient of this tensor is known; what it returns replaces it."""
    return autograd.RemovableHandle(self, _C._register_hook(self, hook))


method(tensor_text, "_repr")


@method
def __format__(self, spec):
    if self.ndim == 0 and builtins.type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@method
def __copy__(self):
    made = self.detach()
    if builtins.type(self) is not Tensor:
        made = Tensor._make_subclass(builtins.type(self), made, self.requires_grad)
    elif self.requires_grad:
        made.requires_grad = self.is_leaf
    made.__dict__.update(self.__dict__)
    return made


@method
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
    made = _C.empty(shape, dtype=dtype)
    if data:
        memoryview(made.reshape(-1)).cast("B")[:] = data
    if cls is not Tensor:
        made = Tensor._make_subclass(cls, made, requires_grad)
    elif requires_grad:
        made.requires_grad = True
    made.__dict__.update(attributes)
    return made


@method
def __reduce_ex__(self, protocol):
    plain = self.detach().contiguous()
    data = bytes(memoryview(plain.reshape(-1)).cast("B")) if plain.numel() else b""
    return _rebuild, (builtins.type(self), data, tuple(self.shape), self.dtype, self.requires_grad,
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


@method
def new_zeros(self, *size, dtype=None, device=None, requires_grad=False):
    """Zeros with this tensor's dtype."""
    return _C.zeros(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method
def new_ones(self, *size, dtype=None, device=None, requires_grad=False):
    """Ones with this tensor's dtype."""
    return _C.ones(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method
def new_empty(self, *size, dtype=None, device=None, requires_grad=False):
    """An uninitialised tensor with this tensor's dtype."""
    return _C.empty(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method
def new_full(self, size, fill_value, dtype=None, device=None, requires_grad=False):
    """A filled tensor with this tensor's dtype."""
    return _C.full(size, fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method
def new_tensor(self, data, dtype=None, device=None, requires_grad=False):
    """Data with this tensor's dtype."""
    return _C.tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method
def new(self, *args):
    """A tensor of this dtype: sizes, or data."""
    if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
        return _C.tensor(args[0], dtype=self.dtype)
    return _C.empty(*(args or (0,)), dtype=self.dtype)


_TYPE_NAMES = {"FloatTensor": _C.float32, "DoubleTensor": _C.float64, "LongTensor": _C.int64,
               "IntTensor": _C.int32, "ByteTensor": _C.uint8, "BoolTensor": _C.bool, "HalfTensor": _C.float16,
               "BFloat16Tensor": _C.bfloat16}


def _type(self, dtype=None, non_blocking=False):
    """The type's name, or the tensor as another type."""
    if dtype is None:
        return "janus." + next(name for name, d in _TYPE_NAMES.items() if d is self.dtype)
    if isinstance(dtype, str):
        if dtype.rpartition(".")[2] not in _TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = _TYPE_NAMES[dtype.rpartition(".")[2]]
    elif dtype is Tensor:
        dtype = _C.float32
    return self.to(dtype if isinstance(dtype, _C.dtype) else dtype.dtype)


method(_type, "type")


@method
def cuda(self, device=None, non_blocking=False):
    """Moves to a CUDA device; out of pinned memory with non_blocking=True in the device's own time."""
    return self.to("cuda" if device is None else device, non_blocking=non_blocking)


@method
def pin_memory(self):
    """A copy that the CUDA device reads by itself; the tensor itself where there is none, or with a history."""
    if self.is_cuda or self.is_pinned() or self.requires_grad or _C._cuda_reason() is not None:
        return self
    return _C._cuda_pin(self)


@method
def is_pinned(self):
    """Whether the memory is pinned."""
    return _C._cuda_is_pinned(self)


@method
def share_memory_(self):
    """The tensor itself."""
    return self


@method
def masked_scatter_(self, mask, source):
    """Writes source's elements where `mask` is true."""
    count = int(mask.sum())
    if source.numel() < count:
        raise RuntimeError(f"masked_scatter_: expected at least {count} elements in source, got {source.numel()}")
    self[mask] = source.reshape(-1)[:count]
    return self


@method
def index_fill_(self, dim, index, value):
    """Writes value at indices along dim."""
    if not isinstance(index, Tensor):
        raise TypeError(f"index_fill_(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if index.dtype is not _C.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    self[(slice(None),) * (dim % self.ndim) + (index,)] = value
    return self


def _without_masks(self, indices):
    """The places that masks among the indices stand for."""
    for index in indices:
        if index is not None and not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as an element of argument 'indices', but got {type(index).__name__}")
    if all(index is None or index.dtype not in (_C.bool, _C.uint8) for index in indices):
        return indices
    places, dim = [], 0
    for index in indices:
        if index is None or index.dtype not in (_C.bool, _C.uint8):
            places.append(index)
            dim += 1
            continue
        if tuple(index.shape) != tuple(self.shape[dim:dim + index.ndim]):
            raise IndexError(f"The shape of the mask {list(index.shape)} at index 0 does not match the shape of the "
                             f"indexed tensor {list(self.shape)} at index {dim}")
        places.extend(index.nonzero(as_tuple=True))
        dim += index.ndim
    return tuple(places)


@method
def index_put_(self, indices, values, accumulate=False):
    """self[indices] = values, or += values."""
    indices = tuple(indices)
    if values.dtype != self.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {self.dtype} for the "
                           f"destination and {values.dtype} for the source.")
    return self._index_put(_without_masks(self, indices), values, accumulate)


@method
def index_put(self, indices, values, accumulate=False):
    """A copy of this tensor with values written at indices, or added there."""
    return self.clone().index_put_(indices, values, accumulate)


@method
def index_copy_(self, dim, index, source):
    """Writes slices of source at indices along dim."""
    if not isinstance(index, Tensor):
        raise TypeError(f"index_copy_(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index.dtype is not _C.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype}")
    count = source.shape[dim] if source.ndim else 1
    if index.numel() != count:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) "
                         f"({count})")
    if index.numel() and (index < 0).any():
        raise IndexError(f"index_copy_(): index is out of bounds for dimension {dim} with size {self.shape[dim]}")
    self[(slice(None),) * (dim % self.ndim) + (index,)] = source
    return self


def _reshaped(self, view, *args):
    """This tensor becomes a view of itself."""
    self._may_write()
    with autograd.enable_grad():  # where nothing is recorded, too: gradients of the history that it has are of the old shape
        made = view(self, *args)
    return self._become(made)


@method
def squeeze_(self, dim=None):
    """Drops dims of size 1 from this tensor."""
    return _reshaped(self, Tensor.squeeze) if dim is None else _reshaped(self, Tensor.squeeze, dim)


@method
def unsqueeze_(self, dim):
    """Adds a dim of size 1 to this tensor."""
    return _reshaped(self, Tensor.unsqueeze, dim)


@method
def transpose_(self, dim0, dim1):
    """Exchanges two dims of this tensor."""
    return _reshaped(self, Tensor.transpose, dim0, dim1)


@method
def swapdims_(self, dim0, dim1):
    """Exchanges two dims of this tensor."""
    return _reshaped(self, Tensor.transpose, dim0, dim1)


@method
def swapaxes_(self, axis0, axis1):
    """Exchanges two dims of this tensor."""
    return _reshaped(self, Tensor.transpose, axis0, axis1)


@method
def t_(self):
    """Exchanges the dims of this matrix."""
    return _reshaped(self, Tensor.t)


@method
def equal(self, other):
    """Whether shapes and elements are equal."""
    return self.shape == other.shape and builtins.bool((self == other).all())


@method
def is_complex(self):
    """False."""
    return False


@method
def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close."""
    return builtins.bool(isclose(self, other, rtol, atol, equal_nan).all())


@method
def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are close."""
    if self.dtype != other.dtype:
        raise RuntimeError(f"{self.dtype} did not match {other.dtype}")
    close = ((self - other).abs() <= atol + rtol * other.abs()) & other.isfinite() | (self == other)
    return close | (self.isnan() & other.isnan()) if equal_nan else close


def _transposed(self):
    return self.permute(*range(self.ndim - 1, -1, -1)) if self.ndim > 1 else self


def _matrix_transposed(self):
    return self.transpose(-2, -1) if self.ndim else self


Tensor.T = property(_transposed, doc="Dims in reverse order.")
Tensor.mT = property(_matrix_transposed, doc="The last two dims swapped.")


def _of_matrix(self):
    """A matrix with its dims swapped."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return self.T


Tensor.H = property(_of_matrix)


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


method(unique)


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
