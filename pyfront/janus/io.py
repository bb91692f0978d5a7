# SPDX-License-Identifier: Apache-2.0
"""save and load: safetensors files for dicts of tensors, pickles for anything else.

A path that ends in `.safetensors` gets that format (a length, a JSON header, raw little-endian
bytes), which other programs read and which cannot run code when it is loaded.  Any other path or
stream gets a pickle, in which two names of one tensor stay one and views become tensors of their
own.  `load` reads tensors, containers and numbers, of pickles and of PyTorch's files alike, and runs
nothing; with `weights_only=False` it reads any pickle: only from people whose programs you would run.
"""
import io
import json
import os
import pickle
import struct
import sys

from . import _C, _asked, _torch_files, _unpickle

SUFFIX = ".safetensors"
# Names of types in safetensors headers.
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
           "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
_MAX_HEADER = 100_000_000
_MAX_RANK = 16


class SafetensorError(ValueError):
    """A safetensors file that is damaged, or breaks a rule of the format."""


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


def _unique(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name is there twice")
    return made


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def _header(data):
    """The header of a file as a dict, and where it ends."""
    if len(data) < 8:
        raise SafetensorError("not a safetensors file: it ends before its header")
    length, = struct.unpack("<Q", data[:8])
    if length > min(_MAX_HEADER, len(data) - 8):
        raise SafetensorError("not a safetensors file: its header is longer than the file")
    text = data[8:8 + length]
    try:
        if text[:1] != b"{":
            raise ValueError("it does not begin with {")
        header = json.loads(text.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(f"not a safetensors file: its header is damaged ({error})") from None
    return header, 8 + length


def _entry(key, entry, dtypes):
    """(begin, end, name, dtype, shape) of one tensor."""
    def numbers(value, count=None):
        return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value) and count in (None, len(value))

    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry) or \
            not numbers(entry["shape"]) or not numbers(entry["data_offsets"], 2) or not isinstance(entry["dtype"], str):
        raise SafetensorError(f"tensor {key!r}: its entry in the header is damaged")
    if entry["dtype"] not in dtypes:
        raise SafetensorError(f"tensor {key!r} has type {entry['dtype']}, which janus does not have")
    if len(entry["shape"]) > _MAX_RANK:
        raise SafetensorError(f"tensor {key!r} has {len(entry['shape'])} dims, at most {_MAX_RANK} are supported")
    begin, end = entry["data_offsets"]
    dtype = dtypes[entry["dtype"]]
    count = dtype.itemsize
    for size in entry["shape"]:
        count *= size
    if end - begin != count:
        raise SafetensorError(f"tensor {key!r} does not fit its place in the file")
    return begin, end, key, dtype, entry["shape"]


def load_safetensors(stream):
    """The dict of names to tensors in a file; SafetensorError if it is damaged.  The tensors must lie
    one after another and fill the file."""
    data = stream.read()
    header, start = _header(data)
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(value, str) for value in notes.values()):
        raise SafetensorError("__metadata__ must be a dict of strings")
    dtypes = dict(_dtype_names())
    entries = [_entry(key, entry, dtypes) for key, entry in header.items()]
    body, at, made = memoryview(data)[start:], 0, {}
    for begin, end, key, dtype, shape in sorted(entries, key=lambda entry: entry[:2]):
        if begin != at:
            raise SafetensorError(f"tensor {key!r}: its place overlaps another's, or there is a gap before it")
        if end > len(body):
            raise SafetensorError(f"tensor {key!r} does not fit its place in the file")
        made[key] = _from_bytes(body[begin:end], dtype, shape)
        at = end
    if at != len(body):
        raise SafetensorError(f"{len(body) - at} bytes of the file belong to no tensor")
    return {key: made[key] for key in header}


def save(obj, f):
    """Saves an object to a path or a binary stream."""
    f = _asked.file_of("janus.save", f, "writing", "write")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as stream:
            if os.fspath(f).endswith(SUFFIX):
                save_safetensors(obj, stream)
            else:
                pickle.dump(obj, stream)
    else:
        pickle.dump(obj, f)


def _load_stream(stream, weights_only):
    if not weights_only:
        return pickle.load(stream)
    at = stream.tell() if hasattr(stream, "seekable") and stream.seekable() else None
    memory = io.BytesIO(stream.read())
    if _torch_files.is_zip(memory.read(4)):
        return _torch_files.load(memory)
    memory.seek(0)
    value = _unpickle.Machine().load(memory)
    if at is not None:  # another pickle may follow
        stream.seek(at + memory.tell())
    return value


def load(f, map_location=None, *, weights_only=True):
    """Loads what `save` saved, from a path or a binary stream, or a file of PyTorch's.

    `map_location` is accepted, tensors come to host memory.  weights_only: tensors, containers,
    numbers and strings; anything else raises pickle.UnpicklingError, and nothing of the file is run.
    With weights_only=False pickles may hold any object: whoever made the file decides what runs.
    Damaged safetensors files raise janus.io.SafetensorError, a ValueError."""
    f = _asked.file_of("janus.load", f, "reading", "read")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            if os.fspath(f).endswith(SUFFIX):
                return load_safetensors(stream)
            return _load_stream(stream, weights_only)
    return _load_stream(f, weights_only)
