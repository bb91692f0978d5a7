# SPDX-License-Identifier: Apache-2.0
"""Samplers, datasets made of others, and what DataLoader makes of them; against PyTorch where it is installed."""
import itertools

import janus
import pytest

try:
    import torch
except ImportError:
    torch = None

LIBS = [lib for lib in (janus, torch) if lib is not None]


def stream(D, n):
    class Stream(D.IterableDataset):
        def __iter__(self):
            return iter(range(n))

        def __len__(self):
            return n
    return Stream()


def batches(loader):
    return [batch.tolist() for batch in loader]


@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("n, size, drop", list(itertools.product((1, 5, 6), (1, 2, 3, 7), (False, True))))
def test_batches(lib, n, size, drop):
    D, data = lib.utils.data, list(range(n))
    wanted = [data[i:i + size] for i in range(0, n, size) if not drop or i + size <= n]
    sampler = D.BatchSampler(D.SequentialSampler(data), size, drop)
    assert list(sampler) == wanted and len(sampler) == len(wanted)
    for loader in (D.DataLoader(data, size, drop_last=drop), D.DataLoader(data, batch_sampler=sampler),
                   D.DataLoader(stream(D, n), size, drop_last=drop)):
        assert batches(loader) == wanted and len(loader) == len(wanted)
    shuffled = D.DataLoader(data, size, shuffle=True, drop_last=drop)
    assert [len(batch) for batch in shuffled] == [len(batch) for batch in wanted]
    if not drop:
        assert sorted(sum(batches(shuffled), [])) == data


@pytest.mark.parametrize("lib", LIBS)
def test_one_by_one(lib):
    D = lib.utils.data
    for loader in (D.DataLoader([3, 4, 5], batch_size=None), D.DataLoader(stream(D, 3), batch_size=None)):
        assert len(list(loader)) == len(loader) == 3


@pytest.mark.parametrize("lib", LIBS)
def test_random_samplers(lib):
    D, data = lib.utils.data, list("abcdefg")
    for count in (1, 7, 10, 14):
        sampler = D.RandomSampler(data, num_samples=count)
        drawn = list(sampler)
        assert len(drawn) == len(sampler) == count
        assert all(len(set(drawn[i:i + 7])) == len(drawn[i:i + 7]) for i in range(0, count, 7))
        drawn = list(D.RandomSampler(data, replacement=True, num_samples=count))
        assert len(drawn) == count and set(drawn) <= set(range(7))
    assert sorted(D.SubsetRandomSampler([5, 2, 9])) == [2, 5, 9] and len(D.SubsetRandomSampler([5, 2, 9])) == 3
    weighted = D.WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 40)
    assert set(weighted) == {1, 3} and len(weighted) == 40
    assert sorted(D.WeightedRandomSampler([1.0, 1.0, 0.0, 3.0], 3, replacement=False)) == [0, 1, 3]


def test_a_generator_decides_what_is_drawn():
    D, data = janus.data, list(range(30))
    makes = (lambda g: D.RandomSampler(data, generator=g), lambda g: D.RandomSampler(data, True, 50, g),
             lambda g: D.SubsetRandomSampler(data, g), lambda g: D.WeightedRandomSampler([1.0, 2.0], 50, generator=g),
             lambda g: (x.item() for x in D.DataLoader(data, shuffle=True, generator=g)))
    for make in makes:
        first, again = (list(make(janus.Generator().manual_seed(7))) for _ in range(2))
        assert first == again


@pytest.mark.parametrize("lib", LIBS)
def test_datasets_of_datasets(lib):
    D = lib.utils.data
    rows = D.TensorDataset(lib.arange(3))
    both = rows + D.TensorDataset(lib.arange(3, 5))
    assert isinstance(both, D.ConcatDataset) and len(both) == 5
    assert [both[i][0].item() for i in (0, 2, 3, 4, -1, -5)] == [0, 2, 3, 4, 4, 0]
    with pytest.raises(ValueError):
        both[-6]
    with pytest.raises(IndexError):
        both[5]
    chain = stream(D, 2) + stream(D, 3)
    assert isinstance(chain, D.ChainDataset) and list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    assert D.StackDataset([1, 2], "ab")[1] == (2, "b") and len(D.StackDataset([1, 2], "ab")) == 2
    assert D.StackDataset(x=[1, 2], y="ab")[0] == {"x": 1, "y": "a"}


@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("error, make", [
    (ValueError, lambda D: D.BatchSampler([1], 0, False)), (ValueError, lambda D: D.BatchSampler([1], True, False)),
    (ValueError, lambda D: D.BatchSampler([1], 2, 0)), (ValueError, lambda D: D.RandomSampler([1], num_samples=0)),
    (TypeError, lambda D: D.RandomSampler([1], replacement=1)), (ValueError, lambda D: D.RandomSampler([])),
    (ValueError, lambda D: D.WeightedRandomSampler([1.0], 0)), (ValueError, lambda D: D.WeightedRandomSampler([[1.0]], 1)),
    (ValueError, lambda D: D.WeightedRandomSampler([1.0], 1, 0)), (AssertionError, lambda D: D.ConcatDataset([])),
    (AssertionError, lambda D: D.ConcatDataset([stream(D, 2)])), (ValueError, lambda D: D.StackDataset()),
    (ValueError, lambda D: D.StackDataset([1], [1, 2])), (ValueError, lambda D: D.StackDataset([1], x=[1])),
    (ValueError, lambda D: D.DataLoader([1], batch_sampler=[[0]], batch_size=2)),
    (ValueError, lambda D: D.DataLoader([1], batch_sampler=[[0]], shuffle=True)),
    (ValueError, lambda D: D.DataLoader([1], batch_sampler=[[0]], drop_last=True)),
    (ValueError, lambda D: D.DataLoader([1], batch_size=None, drop_last=True)),
    (ValueError, lambda D: D.DataLoader([1], sampler=[0], shuffle=True)),
    (ValueError, lambda D: D.DataLoader(stream(D, 2), shuffle=True)),
    (ValueError, lambda D: D.DataLoader(stream(D, 2), sampler=[0])),
    (ValueError, lambda D: D.DataLoader(stream(D, 2), batch_sampler=[[0]])),
])
def test_wrong_arguments(lib, error, make):
    with pytest.raises(error):
        make(lib.utils.data)
