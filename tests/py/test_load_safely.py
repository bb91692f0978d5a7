# SPDX-License-Identifier: Apache-2.0
"""janus.load of files from strangers: nothing of them runs, and what is wrong with them is one error."""
import collections
import io
import json
import os
import pickle
import random
import struct
import zipfile

import janus
import janus.io
import janus.nn as nn
import pytest

UnpicklingError = pickle.UnpicklingError
SafetensorError = janus.io.SafetensorError


def load(data, **options):
    return janus.load(io.BytesIO(data), **options)


def plain(value):
    """A value with its tensors as lists, to compare."""
    if isinstance(value, janus.Tensor):
        return type(value).__name__, value.dtype, tuple(value.shape), value.requires_grad, value.tolist()
    if isinstance(value, dict):
        return type(value), [(plain(k), plain(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [plain(item) for item in value]
    return type(value), value


def everything():
    shared = nn.Parameter(janus.tensor([1.0, 2.0]))
    state = collections.OrderedDict(w=shared, b=[shared, janus.tensor([[True], [False]])])
    state._metadata = {"": {"version": 1}}
    return {"state": state, "epoch": 3, "big": 2**80, "lr": 1e-3, "inf": float("inf"), "none": None, "yes": True,
            "text": "é\0", "bytes": b"\0\xff", "array": bytearray(b"ab"), "c": 1 + 2j, "set": {1, 2}, "frozen": frozenset("a"),
            "empty": ((), [], {}, set()), "t": (1, (2, (3, 4, 5, 6))), 7: "int key", (1, "a"): "tuple key",
            "dtype": janus.bfloat16, "half": janus.ones(2, 3).half(), "zero": janus.zeros(0, 3), "scalar": janus.tensor(5),
            "u8": janus.tensor([1, 255], dtype=janus.uint8), "size": janus.ones(4, 5).shape, "device": janus.device("cpu")}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_data_is_read_as_by_pickle(protocol):
    value = everything()
    data = pickle.dumps(value, protocol)
    loaded = load(data)
    assert plain(loaded) == plain(pickle.loads(data)) == plain(value)
    assert loaded["state"]["w"] is loaded["state"]["b"][0] and loaded["state"]._metadata == {"": {"version": 1}}


def test_what_optimizers_and_modules_save():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = janus.optim.Adam(net.parameters())
    net(janus.ones(4, 3)).sum().backward()
    optimizer.step()
    stream = io.BytesIO()
    janus.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, stream)
    stream.seek(0)
    loaded = janus.load(stream)
    net.load_state_dict(loaded["net"])
    optimizer.load_state_dict(loaded["optimizer"])


def test_one_pickle_after_another():
    stream = io.BytesIO(pickle.dumps([1]) + pickle.dumps([2]))
    assert janus.load(stream) == [1] and janus.load(stream) == [2]


class Calls:
    """Pickles as a call."""

    def __init__(self, function, *args, state=None):
        self.what = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.what


def evil():
    """Pickles that would do something if they were run as they stand."""
    yield pickle.dumps(Calls(os.putenv, "JANUS_EVIL", "1"))
    yield pickle.dumps(Calls(eval, "__import__('os').putenv('JANUS_EVIL', '1')"))
    yield pickle.dumps(nn.Linear(2, 2))
    yield pickle.dumps(collections.Counter("a"))
    yield pickle.dumps(os.getcwd)
    yield pickle.dumps(janus.Tensor)
    yield pickle.dumps([collections.OrderedDict])
    yield pickle.dumps(Calls(collections.OrderedDict, state={"clear": 3}))
    yield pickle.dumps(Calls(set, [1], state={"x": 3}))
    for module, name in (("os", "system"), ("builtins", "exec"), ("janus", "save"), ("janus._tensor", "_C"),
                         ("janus.io", "open"), ("builtins", "getattr"), ("torch", "load")):
        yield f"c{module}\n{name}\n(S'true'\ntR.".encode()
        yield f"(S'true'\ni{module}\n{name}\n.".encode()
        yield b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode() + b"\x93."
    yield b"\x80\x02\x82\x01."  # the extension registry
    yield b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb."  # a state for a class
    yield b"\x80\x02ccollections\nOrderedDict\nN}X\x07\x00\x00\x00__doc__K\x01s\x86b."
    yield b"\x80\x02cjanus._tensor\n_rebuild\n(cjanus._C\nTensor\nC\x04abcd(K\x02K\x02tcjanus\nfloat32\n\x89}tR."
    yield b"\x80\x02ccollections\nOrderedDict\n(I1\nI2\ntR."
    yield b"P0\n."
    yield b"K\x01Q."


@pytest.mark.parametrize("data", list(evil()))
def test_nothing_runs(data):
    with pytest.raises(UnpicklingError, match="weights_only=False"):
        load(data)
    assert "JANUS_EVIL" not in os.environ and collections.OrderedDict.__doc__ != 1


def test_anything_runs_where_it_is_asked_for():
    assert load(pickle.dumps(Calls(int, "3")), weights_only=False) == 3


def test_nested_deep():
    assert load(b"]" * 100_000 + b"a" * 99_999 + b".")
    for data in (b")" + b"\x85" * 100_000 + b"N\x86\x85.", b"})" + b"\x85" * 100_000 + b"Ns.", b"]" * 100_000 + b"."):
        try:
            load(data)
        except UnpicklingError:
            pass


def mutations(data, n, seed):
    """Files like this one: bytes changed, taken out, put in, cut off."""
    rng = random.Random(seed)
    for _ in range(n):
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(len(out)) if out else 0
            kind = rng.randrange(6)
            if kind == 0 and out:
                out[at] = rng.randrange(256)
            elif kind == 1 and out:
                out[at] ^= 1 << rng.randrange(8)
            elif kind == 2:
                del out[at:at + rng.randrange(1, 9)]
            elif kind == 3:
                out[at:at] = rng.randbytes(rng.randrange(1, 9))
            elif kind == 4:
                piece = out[at:at + rng.randrange(1, 40)]
                to = rng.randrange(len(out) + 1)
                out[to:to] = piece
            elif rng.random() < 0.3:
                del out[at:]
        yield bytes(out)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mutated_pickles():
    good = 0
    for protocol in (2, 4):
        for data in mutations(pickle.dumps(everything(), protocol), 2500, protocol):
            try:
                load(data)
                good += 1
            except UnpicklingError:
                pass
    assert good > 50


class FloatStorage:
    """Stands for torch's, in pickles made here."""


class LongStorage:
    """Stands for torch's."""


def torch_file(tensors, storages, damage=None):
    """A zip as torch.save writes it, of {name: (storage, offset, shape, strides)}."""
    out = io.BytesIO()

    def text(s):
        return b"X" + struct.pack("<I", len(s)) + s.encode()

    def number(n):
        return b"\x8a\x09" + n.to_bytes(9, "little", signed=True)

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    body = b"\x80\x02ccollections\nOrderedDict\n)R("
    for name, (key, offset, shape, strides) in tensors.items():
        kind, values = storages[key]
        body += text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + f"ctorch\n{kind}\n".encode() + \
            text(key) + text("cpu") + number(len(values)) + b"tQ" + number(offset) + numbers(shape) + numbers(strides) + \
            b"\x89ccollections\nOrderedDict\n)RtR"
    body += b"u."
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", damage(body) if damage else body)
        archive.writestr("archive/byteorder", "little")
        for key, (kind, values) in storages.items():
            code = "f" if kind == "FloatStorage" else "q"
            archive.writestr(f"archive/data/{key}", struct.pack(f"<{len(values)}{code}", *values))
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


STORAGES = {"0": ("FloatStorage", [float(i) for i in range(12)]), "1": ("LongStorage", [7, 8, 9])}
TENSORS = {"w": ("0", 0, [3, 4], [4, 1]), "wt": ("0", 0, [4, 3], [1, 4]), "part": ("0", 5, [2], [3]), "n": ("1", 2, [], []),
           "none": ("1", 3, [0, 2], [2, 1])}


def test_torch_files():
    loaded = load(torch_file(TENSORS, STORAGES))
    assert loaded["w"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert loaded["wt"].tolist() == loaded["w"].t().tolist() and loaded["part"].tolist() == [5, 8]
    assert loaded["n"].item() == 9 and loaded["none"].shape == (0, 2) and loaded["n"].dtype == janus.int64
    loaded["w"][0, 1] = 100  # tensors of one storage share it
    assert loaded["wt"][1, 0] == 100


@pytest.mark.parametrize("tensor", [("0", 1, [3, 4], [4, 1]), ("0", 0, [3, 4], [5, 1]), ("0", -1, [2], [1]), ("0", 0, [-1], [1]),
                                    ("0", 0, [2], [-1]), ("0", 13, [0], [1]), ("0", 0, [2, 2], [1]), ("0", 0, [1] * 17, [1] * 17),
                                    ("0", 0, [2**62, 2**62], [0, 0]), ("0", 2**63, [1], [1])])
def test_torch_tensors_beyond_their_storage(tensor):
    with pytest.raises(UnpicklingError):
        load(torch_file({"x": tensor}, STORAGES))


def test_damaged_torch_files():
    data = torch_file(TENSORS, STORAGES)
    for damage in (lambda body: body.replace(b"ctorch._utils\n_rebuild_tensor_v2", b"cos\nsystem"),
                   lambda body: body.replace(b"FloatStorage", b"CharStorage"), lambda body: body[:-1],
                   lambda body: body.replace(b"storage", b"sturage")):
        with pytest.raises(UnpicklingError):
            load(torch_file(TENSORS, STORAGES, damage))
    for changed in mutations(data, 1500, 3):
        try:
            load(changed)
        except UnpicklingError:
            pass


def safetensors(header, body, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def load_st(data):
    return janus.io.load_safetensors(io.BytesIO(data))


def entry(begin, end, shape=None, dtype="U8", **more):
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end], **more}


BAD = {
    "overlap": safetensors({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6)),
    "same place": safetensors({"a": entry(0, 4), "b": entry(0, 4)}, bytes(4)),
    "gap": safetensors({"a": entry(0, 2), "b": entry(4, 6)}, bytes(6)),
    "gap in front": safetensors({"a": entry(1, 2)}, bytes(2)),
    "trailing": safetensors({"a": entry(0, 2)}, bytes(3)),
    "trailing alone": safetensors({}, bytes(3)),
    "missing": safetensors({"a": entry(0, 4)}, bytes(3)),
    "backwards": safetensors({"a": entry(4, 0, [0])}, bytes(4)),
    "duplicate": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],'
                             b'"data_offsets":[0,1]}}', bytes(1)),
    "duplicate inside": safetensors(b'{"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "list": safetensors(b"[]", b""),
    "blank first": safetensors(b' {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "nothing": b"",
    "no header": struct.pack("<Q", 0),
    "endless": struct.pack("<Q", 2**64 - 1) + b"{}",
    "nested": safetensors(b"[" * 100_000, b""),
    "nested dicts": safetensors(b'{"a":' * 100_000, b""),
    "long number": safetensors(b'{"a":{"dtype":"U8","shape":[' + b"9" * 10_000 + b'],"data_offsets":[0,1]}}', bytes(1)),
    "infinite": safetensors(b'{"a":{"dtype":"U8","shape":[Infinity],"data_offsets":[0,1]}}', bytes(1)),
    "no UTF-8": safetensors(b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "metadata": safetensors({"__metadata__": {"a": 1}}, b""),
    "metadata list": safetensors({"__metadata__": []}, b""),
    **{f"shape {shape!r}": safetensors({"a": entry(0, 1, shape)}, bytes(1))
       for shape in ("1", 1, [1.0], ["1"], [True], [-1], [[1]], [-1, -1], [2**64, 2**64], [1] * 17, {"0": 1}, [2])},
    **{f"offsets {offsets!r}": safetensors({"a": {"dtype": "U8", "shape": [1], "data_offsets": offsets}}, bytes(1))
       for offsets in ([0], [0, 1, 1], [0.0, 1.0], ["0", "1"], [False, True], None, "01", [-1, 0], [2**64, 2**64 + 1], {})},
    **{f"dtype {dtype!r}": safetensors({"a": entry(0, 1, dtype=dtype)}, bytes(1)) for dtype in ("U9", None, 3, ["U8"], {})},
    **{f"entry {value!r}": safetensors({"a": value}, b"") for value in (None, [], 3, {}, {"dtype": "U8"})},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_safetensors(name, tmp_path):
    with pytest.raises(SafetensorError):
        load_st(BAD[name])
    path = tmp_path / "x.safetensors"
    path.write_bytes(BAD[name])
    with pytest.raises(SafetensorError):
        janus.load(path)
    other = pytest.importorskip("safetensors")
    if name not in ("duplicate", "duplicate inside", "blank first") and "[1, 1, 1, 1" not in name:
        with pytest.raises(other.SafetensorError):
            other.deserialize(BAD[name])


def test_good_safetensors():
    data = safetensors({"__metadata__": {"format": "pt"}, "b": entry(2, 6, [2, 2]), "a": entry(0, 2), "e": entry(2, 2, [0, 5]),
                        "x": entry(6, 14, [], "F64")}, bytes([1, 2, 3, 4, 5, 6]) + struct.pack("<d", 2.5))
    loaded = load_st(data)
    assert list(loaded) == ["b", "a", "e", "x"] and loaded["b"].tolist() == [[3, 4], [5, 6]] and loaded["x"].item() == 2.5
    assert loaded["e"].shape == (0, 5)


def test_mutated_safetensors():
    stream = io.BytesIO()
    janus.io.save_safetensors({"a": janus.ones(3), "b": janus.arange(4), "c": janus.zeros(0, 2)}, stream)
    good = 0
    for data in mutations(stream.getvalue(), 5000, 1):
        try:
            good += bool(load_st(data))
        except SafetensorError:
            pass
    assert good > 100
