# SPDX-License-Identifier: Apache-2.0
"""What the definitions share: the table, dtypes, helpers."""
import math

import numpy as np

DTYPES = ["f32", "f64", "i32", "i64", "bool", "u8", "f16", "bf16"]
NP = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_,
      "u8": np.uint8, "f16": np.float16, "bf16": np.float32}

REFERENCES = {}


def ref(function):
    REFERENCES[function.__name__.rstrip("_")] = function
    return function


def simple(name, function):
    REFERENCES[name] = lambda *a, **k: function(*a)


def is_int(x):
    return np.issubdtype(np.asarray(x).dtype, np.integer)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.asarray(x)


def each(function):
    """A function of numbers, of each element; in double, so that its result is rounded once."""
    def of(*arrays):
        found = np.vectorize(function, otypes=[np.float64])
        return found(*arrays) if all(np.size(a) for a in arrays) else np.asarray(arrays[0])
    return of


def inverse_erf(x):
    """Where erf is x, by halving an interval; from erfc where that is more precise."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = 0.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        below = math.erf(middle) < abs(x) if abs(x) < 0.5 else math.erfc(middle) > 1 - abs(x)
        low, high = (middle, high) if below else (low, middle)
    return math.copysign(low, x)


def log_gamma(x):
    if x != x or math.isinf(x):
        return abs(x)
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def derivatives_of_digamma(x, n):
    """As the sum over all k of what digamma's series has, and an integral for those left out."""
    if x != x or math.isinf(x) or x <= 0 and x == math.floor(x):
        raise ValueError("a sample where there is none")
    many, last = 4000, x + 4000
    if n == 0:
        return math.log(last) - 1 / (2 * last) - 1 / (12 * last**2) - math.fsum(1 / (x + k) for k in range(many))
    s = n + 1
    rest = last**(1 - s) / (s - 1) + last**-s / 2 + s * last**(-s - 1) / 12
    return (-1)**s * math.factorial(n) * (math.fsum((x + k)**-s for k in range(many)) + rest)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
