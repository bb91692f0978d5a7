# SPDX-License-Identifier: Apache-2.0
"""Inputs and cases of the comparison with PyTorch: plain numbers, so that either library can make its tensors of them.

A case is a text of Python in which `T` is the library, `F` its nn.functional, `np` NumPy, and a name per input.
"""
import math
import random
from typing import NamedTuple

inf, nan = math.inf, math.nan
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8")
DTYPES = FLOATS + INTS + ("bool",)

# Where functions change their ways: zeros of both signs, bounds, small and large numbers, what is no number.
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 2.5, -2.5, 1e-3, 1e-5, -1e-5, 1e-40, 1e20, -1e20,
           3e38, 88.8, -88.8, 100.0, inf, -inf, nan]
FEW = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e20, inf, -inf, nan]
WHOLE = [0, 1, -1, 2, -3, 7, 100, -128]
NATURAL = [0, 1, 2, 3, 7, 100, 255]


class Input(NamedTuple):
    name: str
    values: object  # a number or nested lists of numbers
    dtype: str
    grad: bool
    layout: str  # "": as it comes; "turned": a transposed one; "stepped": every second element of a larger one
    shape: tuple


class Case(NamedTuple):
    name: str
    source: str
    inputs: tuple
    tolerance: float  # multiplies the tolerance of the dtype


def _shape(values):
    shape = []
    while isinstance(values, list):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def given(name, values, dtype="float32", grad=None, layout="", shape=None):
    """An input with these values; floats of 32 and 64 bits want a gradient unless it is said."""
    grad = dtype in ("float32", "float64") if grad is None else grad
    return Input(name, values, dtype, grad, layout, _shape(values) if shape is None else tuple(shape))


def drawn(name, shape, dtype="float32", low=-2.0, high=2.0, grad=None, layout=""):
    """An input of numbers that its name and shape decide."""
    source = random.Random(f"{name}{shape}{low}{high}")

    def one():
        if dtype == "bool":
            return source.random() < 0.5
        if dtype in INTS:
            return source.randrange(int(low) if dtype != "uint8" else max(0, int(low)), int(high) + 1)
        return round(source.uniform(low, high), 3)

    def fill(dims):
        return one() if not dims else [fill(dims[1:]) for _ in range(dims[0])]
    return given(name, fill(tuple(shape)), dtype, grad, layout, shape)


def corners(name, dtype="float32", few=False, layout="", column=False, grad=None):
    """An input of the corners of its dtype."""
    if dtype == "bool":
        values = [False, True]
    elif dtype in INTS:
        values = NATURAL if dtype == "uint8" else WHOLE
    else:
        values = FEW if few else CORNERS
        values = [v for v in values if dtype != "float16" or abs(v) < 6e4 or not math.isfinite(v)]
    return given(name, [[v] for v in values] if column else list(values), dtype, grad, layout)


class Cases:
    """Collects cases; names are made of the text and the inputs."""

    def __init__(self):
        self.all, self.names = [], {}

    def add(self, source, *inputs, tolerance=1.0):
        name = source + "".join(
            f" {i.name}:{i.dtype}{list(i.shape)}{i.layout}" for i in inputs)
        count = self.names[name] = self.names.get(name, 0) + 1
        if count > 1:
            name += f" #{count}"
        self.all.append(Case(name, source, inputs, tolerance))
