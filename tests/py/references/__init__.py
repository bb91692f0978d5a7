# SPDX-License-Identifier: Apache-2.0
"""What every op computes, in NumPy: REFERENCES[op](*operands, **attrs) -> result or tuple.

Operands are arrays, Python numbers or None. Written from the definitions, not from the kernels.
"""
from . import creation, elementwise, indexing, nn, optimizers, products, reductions, shapes  # noqa: F401
from .common import NP, REFERENCES  # noqa: F401
