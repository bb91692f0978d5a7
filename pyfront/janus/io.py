# SPDX-License-Identifier: Apache-2.0
"""save and load: safetensors files for dicts of tensors, pickles for anything else.

A path that ends in `.safetensors` gets that format (a length, a JSON header, raw little-endian
bytes), which other programs read and which cannot run code when it is loaded.  Any other path or
stream gets a pickle, in which two names of one tensor stay one and views become tensors of their
own.  Load pickles only from people whose programs you would run.
"""
import json
import os
import pickle
import struct
import sys

from . import _C

SUFFIX = ".safetensors"
# Names of types in safetensors headers.
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
           "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
_MAX_HEADER = 100_000_000


def _dtype_names():
    """janus types that this build has, as pairs (name in a header, type)."""
    return [(name, getattr(_C, own)) for name, own in _DTYPES.items() if hasattr(_C, own)]


def _to_bytes(tensor):
    """The elements of a tensor in order, little-endian."""
    data = memoryview(tensor.detach().cpu().contiguous().reshape(-1))
    if sys.byteorder == "big" and data.itemsize > 1:
        raise NotImplementedError("saving tensors is supported on little-endian machines only")
    return data.tobytes()


def _from_bytes(data, dtype, shape):
    """A new tensor with these elements."""
    tensor = _C.empty(*shape, dtype=dtype, device="cpu")
    if tensor.numel():
        memoryview(tensor.reshape(-1)).cast("B")[:] = data
    return tensor


def save_safetensors(tensors, stream):
    """Writes a dict of names to tensors; names are sorted so that equal dicts give equal files."""
    names = {dtype: name for name, dtype in _dtype_names()}
    header, blobs, offset = {}, [], 0
    for key in sorted(tensors):
        tensor = tensors[key]
        if not isinstance(key, str) or not isinstance(tensor, _C.Tensor):
            raise TypeError("a safetensors file holds a dict of strings to tensors; "
                            f"{key!r} is a {type(tensor).__name__}")
        blob = _to_bytes(tensor)
        header[key] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                       "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(struct.pack("<Q", len(text)) + text)
    for blob in blobs:
        stream.write(blob)


def load_safetensors(stream):
    """The dict of names to tensors in a file; ValueError if it is damaged."""
    data = stream.read()
    if len(data) < 8:
        raise ValueError("not a safetensors file: it ends before its header")
    length, = struct.unpack("<Q", data[:8])
    if length > min(_MAX_HEADER, len(data) - 8):
        raise ValueError("not a safetensors file: its header is longer than the file")
    try:
        header = json.loads(data[8:8 + length])
        entries = [(key, entry["dtype"], [int(size) for size in entry["shape"]], *map(int, entry["data_offsets"]))
                   for key, entry in header.items() if key != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("not a safetensors file: its header is damaged") from None
    dtypes = dict(_dtype_names())
    body, tensors = memoryview(data)[8 + length:], {}
    for key, name, shape, start, stop in entries:
        if name not in dtypes:
            raise ValueError(f"tensor {key!r} has type {name}, which janus does not have")
        count = dtypes[name].itemsize
        for size in shape:
            count *= size
        if min(shape, default=0) < 0 or start < 0 or stop > len(body) or stop - start != count:
            raise ValueError(f"tensor {key!r} does not fit its place in the file")
        tensors[key] = _from_bytes(body[start:stop], dtypes[name], shape)
    return tensors


def save(obj, f):
    """Saves an object to a path or a binary stream."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as stream:
            if os.fspath(f).endswith(SUFFIX):
                save_safetensors(obj, stream)
            else:
                pickle.dump(obj, stream)
    else:
        pickle.dump(obj, f)


def load(f, map_location=None):
    """Loads what `save` saved; `map_location` is accepted, tensors come to host memory."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return load_safetensors(stream) if os.fspath(f).endswith(SUFFIX) else pickle.load(stream)
    return pickle.load(f)
