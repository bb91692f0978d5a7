# SPDX-License-Identifier: Apache-2.0
"""An array that a tensor has been made: a graph knows the numbers that are taken out of it again."""
import numpy

from .._C import bfloat16
from .unknown import _unknown


class _Array:
    """numpy.ndarray, whose memory is that of a tensor."""
    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of

    def item(self):
        return self._of.item()

    def tolist(self):
        return self._of.tolist() if self._of.ndim else self._of.item()

    @property
    def shape(self):
        return tuple(self._of.shape)

    @property
    def ndim(self):
        return self._of.ndim

    @property
    def size(self):
        return self._of.numel()

    def __len__(self):
        return len(self._of) if self._of.ndim else _unknown("len() of an array without dims")

    def __float__(self):
        return float(_number(self._of))

    def __int__(self):
        return int(_number(self._of))

    def __bool__(self):
        return bool(_number(self._of))


def _number(of):
    """NumPy warns of a number made of an array with dims."""
    return _unknown("a number of an array with dims") if of.ndim else of.item()


def _not_known(self, /, *args, **kwargs):
    return _unknown("what an array is asked for")


# Else an instance would have object's own.
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__", "__format__"):
    setattr(_Array, _name, _not_known)


def _numpy(self, *, force=False):
    if self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.is_cuda or self.dtype is bfloat16:
        _unknown("an array of such a tensor")
    return _Array(self.detach())


MADE = {_Array: numpy.ndarray}
