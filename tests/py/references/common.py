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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
