# SPDX-License-Identifier: Apache-2.0
"""DataLoader and what it uses; save and load."""
import io
import json
import pickle
import struct

import janus
import janus.nn as nn
import pytest
from janus.data import DataLoader, Dataset, TensorDataset, default_collate, random_split


class Squares(Dataset):
    def __getitem__(self, index):
        return index * index

    def __len__(self):
        return 7


def test_loader_batches_in_order():
    assert [batch.tolist() for batch in DataLoader(Squares(), batch_size=3)] == [[0, 1, 4], [9, 16, 25], [36]]
    loader = DataLoader(Squares(), batch_size=3, drop_last=True)
    assert len(loader) == 2 and [batch.tolist() for batch in loader] == [[0, 1, 4], [9, 16, 25]]
    assert list(DataLoader(Squares(), batch_size=None)) == [0, 1, 4, 9, 16, 25, 36]
    assert list(DataLoader(Squares(), batch_size=4, collate_fn=sum)) == [14, 77]


def test_shuffle_is_a_permutation_that_the_seed_decides():
    def order(seed):
        janus.manual_seed(seed)
        return [int(batch) for batch in DataLoader(Squares(), shuffle=True)]

    assert sorted(order(1)) == [0, 1, 4, 9, 16, 25, 36]
    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(6)}) > 1


def test_wrong_loader_arguments():
    with pytest.raises(ValueError, match="mutually exclusive"):
        DataLoader(Squares(), shuffle=True, sampler=[1, 2])
    with pytest.raises(ValueError, match="positive integer"):
        DataLoader(Squares(), batch_size=0)


def test_tensor_dataset_and_split():
    data = TensorDataset(janus.arange(4), janus.arange(8).reshape(4, 2))
    x, y = next(iter(DataLoader(data, batch_size=2)))
    assert x.tolist() == [0, 1] and y.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(AssertionError):
        TensorDataset(janus.arange(3), janus.arange(4))
    parts = random_split(Squares(), [0.5, 0.5])
    assert [len(part) for part in parts] == [4, 3]
    assert sorted(value for part in parts for value in (part[i] for i in range(len(part)))) == [0, 1, 4, 9, 16, 25, 36]
    with pytest.raises(ValueError):
        random_split(Squares(), [3, 3])


def test_default_collate():
    joined = default_collate([{"x": janus.ones(2), "n": 1, "s": "a"}, {"x": janus.zeros(2), "n": 2, "s": "b"}])
    assert joined["x"].tolist() == [[1, 1], [0, 0]] and joined["n"].tolist() == [1, 2] and joined["s"] == ["a", "b"]
    pair = default_collate([(1.5, [True]), (2.5, [False])])
    assert pair[0].dtype == janus.float64 and pair[1][0].tolist() == [True, False]
    with pytest.raises(TypeError):
        default_collate([object()])
    with pytest.raises(RuntimeError):
        default_collate([(1, 2), (1,)])


def test_state_dict_as_safetensors(tmp_path):
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    path = tmp_path / "net.safetensors"
    janus.save(net.state_dict(), path)
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert length % 8 == 0 and header["0.weight"]["dtype"] == "F32" and header["0.weight"]["shape"] == [2, 3]
    assert header["1.num_batches_tracked"]["dtype"] == "I64" and header["1.num_batches_tracked"]["shape"] == []
    loaded = janus.load(path)
    twin = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    twin.load_state_dict(loaded)
    assert twin[0].weight.tolist() == net[0].weight.tolist()


def test_safetensors_keep_what_views_show(tmp_path):
    path = str(tmp_path / "view.safetensors")
    base = janus.arange(6, dtype=janus.float64).reshape(2, 3)
    janus.save({"t": base.t(), "empty": janus.zeros(0, 3)}, path)
    loaded = janus.load(path)
    assert loaded["t"].tolist() == [[0, 3], [1, 4], [2, 5]] and loaded["t"].dtype == janus.float64
    assert tuple(loaded["empty"].shape) == (0, 3)
    with pytest.raises(TypeError):
        janus.save({"n": 3}, path)


@pytest.mark.parametrize("damage", [
    lambda data: data[:4],
    lambda data: struct.pack("<Q", 1 << 40) + data[8:],
    lambda data: data[:8] + b"x" + data[9:],
    lambda data: data[:-4],
    lambda data: data.replace(b'"shape":[3]', b'"shape":[4]'),
    lambda data: data.replace(b'"F32"', b'"F99"'),
])
def test_damaged_safetensors(tmp_path, damage):
    path = tmp_path / "x.safetensors"
    janus.save({"a": janus.ones(3)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError):
        janus.load(path)


def test_pickles_keep_identity_and_kind():
    shared = nn.Parameter(janus.tensor([1.0, 2.0]))
    stream = io.BytesIO()
    janus.save({"a": shared, "b": [shared, janus.tensor([True])], "epoch": 3}, stream)
    stream.seek(0)
    loaded = janus.load(stream)
    assert loaded["a"] is loaded["b"][0] and isinstance(loaded["a"], nn.Parameter)
    assert loaded["a"].requires_grad and loaded["a"].tolist() == [1.0, 2.0]
    assert loaded["b"][1].tolist() == [True] and loaded["epoch"] == 3


def test_a_whole_module_in_a_pickle(tmp_path):
    net = nn.Linear(2, 2)
    janus.save(net, tmp_path / "net.pt")
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        janus.load(tmp_path / "net.pt")
    twin = janus.load(tmp_path / "net.pt", weights_only=False)
    assert twin.weight.tolist() == net.weight.tolist() and twin.weight is twin._parameters["weight"]
