# SPDX-License-Identifier: Apache-2.0
"""Indexing against NumPy: every key reads and writes the same elements."""
import numpy as np
import pytest

import janus

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
MASK = X % 3 == 0
ROWS = np.array([True, False, True])
I, J = np.array([2, 0, 1]), np.array([[0, 1], [2, -1]])

KEYS = [1, -1, (1, 2), (1, 2, 3), slice(None), slice(1, 3), slice(None, None, 2), slice(-2, None), (slice(None), 1),
        (Ellipsis, 0), (0, Ellipsis), (Ellipsis,), None, (None, 1), (slice(None), None, 2), (Ellipsis, None),
        (slice(0, 2), slice(1, None, 2), slice(None, -1)), I, (I, I), (slice(None), I), (slice(None), slice(None), J),
        ([0, 2],), (I, slice(None), slice(1, 3)), (slice(None), J, J), MASK, ROWS, (slice(None), [True, False, True, False]),
        (I, 1), (slice(1), I, slice(None, None, 2)), slice(2, 1), (J,), ()]


def convert(key):
    if isinstance(key, tuple):
        return tuple(convert(k) for k in key)
    return janus.tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_get(key):
    got = janus.tensor(X)[convert(key)]
    np.testing.assert_array_equal(got.numpy(), X[key])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_set(key):
    want = X.copy()
    got = janus.tensor(X)
    want[key] = -1
    got[convert(key)] = -1
    np.testing.assert_array_equal(got.numpy(), want)
    value = np.arange(want[key].size, dtype=np.float32).reshape(want[key].shape)
    want[key] = value
    got[convert(key)] = janus.tensor(value)
    np.testing.assert_array_equal(got.numpy(), want)


def test_basic_keys_give_views():
    t = janus.tensor(X)
    for key in (1, slice(1, 3), (Ellipsis, 0), None, (slice(None), 1)):
        assert t[key]._shares_storage(t)
    assert not t[janus.tensor([0, 1])]._shares_storage(t)
    t[1][2] = 7
    assert t[1, 2].tolist() == [7] * 5
    t[0].fill_(1)
    assert t[0].sum() == 20


def test_broadcast_and_cast_when_writing():
    t = janus.zeros(2, 3)
    t[:] = janus.arange(3)
    assert t.tolist() == [[0, 1, 2]] * 2
    t[:, 1] = janus.tensor([[5.0, 6.0]])
    assert t[:, 1].tolist() == [5, 6]
    t[0] = [1, 2, 3]
    t[1, janus.tensor([0, 2])] = 9
    assert t.tolist() == [[1, 2, 3], [9, 6, 9]]


def test_bad_keys():
    t = janus.ones(2, 3)
    for key, kind in [(2, IndexError), ((0, 0, 0), IndexError), (1.0, TypeError), ("a", TypeError),
                      (slice(None, None, -1), ValueError), (janus.tensor([5]), IndexError),
                      (janus.tensor([0.5]), IndexError), (janus.tensor([True]), IndexError)]:
        with pytest.raises(kind):
            t[key]
    with pytest.raises(RuntimeError):
        t[0] = janus.ones(4)
    with pytest.raises(IndexError):
        janus.tensor(1.0)[0]


def test_iteration():
    t = janus.tensor(X)
    assert [r.tolist() for r in t] == X.tolist()
    assert [float(v) for v in t[0, 0]] == X[0, 0].tolist()
    a, b, c = t
    assert (c == t[2]).all()
    with pytest.raises(TypeError):
        iter(janus.tensor(1.0))
