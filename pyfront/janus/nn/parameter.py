# SPDX-License-Identifier: Apache-2.0
"""Parameter: a tensor that a Module lists among its parameters.

The class differs from Tensor in nothing but its name; the tensor that it is made from shares its
storage with it.  Buffers need no class: `Module.register_buffer` remembers their names.
"""
from .. import _C


class Parameter(_C.Tensor):
    """Parameter(data=None, requires_grad=True): `data` as a leaf that modules register."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.empty(0)
        return _C.Tensor._make_subclass(cls, data, requires_grad)

    def __init__(self, data=None, requires_grad=True):
        pass

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        made = memo.get(id(self))
        if made is None:
            made = type(self)(self.detach().clone(), self.requires_grad)
            memo[id(self)] = made
        return made
