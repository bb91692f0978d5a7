# SPDX-License-Identifier: Apache-2.0
"""PyTorch's files: a zip of one pickle and the storages that it names.  Read by the rules of
`_unpickle`: nothing of the file runs, and torch need not be there."""
import io
import zipfile

from . import _C
from ._unpickle import Builder, Machine, UnpicklingError, fail, numel

_STORAGES = {"DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16",
             "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32", "ByteStorage": "uint8",
             "BoolStorage": "bool"}


class _Storage:
    """One storage of the file, as a vector; tensors of it share that."""
    __slots__ = ("vector",)

    def __init__(self, vector):
        self.vector = vector


def is_zip(head):
    """Whether a file that begins so is a zip."""
    return head[:4] == b"PK\x03\x04"


def _rebuild(storage, offset, shape, strides, requires_grad=False, _hooks=None, _metadata=None):
    count = numel(shape)
    if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
        fail("a tensor without a storage")
    if not isinstance(strides, tuple) or len(strides) != len(shape) or \
            any(type(step) is not int or step < 0 for step in strides):
        fail("a tensor of negative or odd strides")
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides))
    if offset > storage.vector.numel() or (count and last >= storage.vector.numel()):
        fail("a tensor that reaches beyond its storage")
    made = storage.vector.as_strided(tuple(shape), strides, offset)
    return made.detach().requires_grad_() if requires_grad else made


def _parameter(data, requires_grad=True, _hooks=None):
    from .nn import Parameter
    if not isinstance(data, _C.Tensor):
        fail("a parameter without a tensor")
    return Parameter(data, bool(requires_grad))


def load(stream):
    """What a PyTorch file holds; UnpicklingError where it is damaged or holds more than data."""
    try:
        with zipfile.ZipFile(stream) as archive:
            return _load(archive)
    except UnpicklingError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, EOFError, RuntimeError, OSError) as error:
        fail(f"the zip is damaged ({error})")
    except Exception as error:  # zlib.error, struct.error: zipfile lets them through
        if isinstance(error, MemoryError):
            raise
        fail(f"the zip is damaged ({type(error).__name__}: {error})")
    return None


def _vector(data, dtype):
    made = _C.empty(len(data) // dtype.itemsize, dtype=dtype, device="cpu")
    if data:
        memoryview(made).cast("B")[:] = data
    return made


def _load(archive):
    roots = [name[:-len("data.pkl")] for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(roots) != 1:
        fail("a zip that is no file of PyTorch's")
    root, storages = roots[0], {}
    if root + "byteorder" in archive.namelist() and archive.read(root + "byteorder") != b"little":
        fail("storages that are not little-endian")

    def storage(key):
        if not isinstance(key, tuple) or len(key) != 5 or key[0] != "storage" or type(key[2]) is not str:
            fail("something unknown that lies outside the pickle")
        kind, name, count = key[1], key[2], key[4]
        if not isinstance(kind, Builder) or kind.name not in _STORAGES or type(count) is not int or count < 0:
            fail("a storage of an unknown type")
        known = storages.get(name)
        if known is None:
            dtype = getattr(_C, _STORAGES[kind.name])
            info = archive.getinfo(f"{root}data/{name}")
            if info.file_size != count * dtype.itemsize or info.compress_type != zipfile.ZIP_STORED:
                fail("a storage whose size is wrong")
            known = storages[name] = _Storage(_vector(archive.read(info), dtype))
        return known

    names = {("torch", kind): Builder(kind) for kind, dtype in _STORAGES.items() if hasattr(_C, dtype)}
    names["torch._utils", "_rebuild_tensor_v2"] = Builder("_rebuild_tensor_v2", _rebuild)
    names["torch._utils", "_rebuild_parameter"] = Builder("_rebuild_parameter", _parameter)
    names["torch", "Size"] = Builder("Size", lambda *args: _C.Size(*args), True)
    for dtype in set(_STORAGES.values()):
        if hasattr(_C, dtype):
            names["torch", dtype] = getattr(_C, dtype)
    with archive.open(root + "data.pkl") as pickled:
        return Machine(names, storage).load(io.BytesIO(pickled.read()))
