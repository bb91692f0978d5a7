# SPDX-License-Identifier: Apache-2.0
"""How Python functions become methods of Tensor."""
from ._C import Tensor


def method(function, name=None):
    setattr(Tensor, name or function.__name__, function)
    return function
