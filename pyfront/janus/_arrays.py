# SPDX-License-Identifier: Apache-2.0
"""Methods of Tensor that make a NumPy array of it (what graphs make of them: `_models/arrays.py`)."""
from ._C import Tensor, bfloat16
from ._attach import method
from ._tensor import from_numpy


@method
def numpy(self, *, force=False):
    """A NumPy array that shares the memory."""
    if self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.dtype is bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    memory = self.detach()._numpy()  # says what is wrong before NumPy is asked for
    import numpy
    return numpy.asarray(memory) if self.ndim else numpy.asarray(memory).reshape(())


@method
def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __array_wrap__(self, array, context=None, return_scalar=False):
    """What a function of NumPy's made of this tensor, as a tensor."""
    import numpy
    return from_numpy(numpy.asarray(array))


Tensor.__array_priority__ = 1000  # before arrays: their operators leave it to the tensor's
