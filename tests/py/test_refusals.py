# SPDX-License-Identifier: Apache-2.0
"""Operands of a dtype that PyTorch refuses are refused, in a decorated function as in a plain one."""
import itertools

import pytest

import janus
import janus.nn.functional as F

DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool")
INDEX = ("int32", "int64")

# An op, what its operand of the dtype is, and the dtypes that PyTorch takes there.
OPS = {
    "index_select": (lambda x, v: x.index_select(0, v), INDEX),
    "index_add": (lambda x, v: x.index_add(0, v, x[:2]), INDEX),
    "embedding": (lambda x, v: F.embedding(v, x), INDEX),
    "one_hot": (lambda x, v: F.one_hot(v, 3), ("int64",)),
    "nll_loss": (lambda x, v: F.nll_loss(x[:2], v), ("int64", "uint8")),
    "nll_loss with weights": (lambda x, v: F.nll_loss(x[:2], v, janus.ones(2)), ("int64", "uint8")),
    "index_fill_": (lambda x, v: x.clone().index_fill_(0, v, 3.5), ("int64",)),
    "index_copy_": (lambda x, v: x.clone().index_copy_(0, v, x[:2]), ("int64",)),
    "masked_fill": (lambda x, v: x.masked_fill(v, 0.5), ("bool",)),
    "masked_select": (lambda x, v: x.masked_select(v), ("bool",)),
    "scatter": (lambda x, v: x.scatter(1, janus.tensor([[0, 1]]), v.reshape(1, 2)), ("float32",)),
    "scatter_add": (lambda x, v: x.scatter_add(1, janus.tensor([[0, 1]]), v.reshape(1, 2)), ("float32",)),
    "index_add's source": (lambda x, v: x.index_add(0, janus.tensor([1]), v.reshape(1, 2)), ("float32",)),
    "x[index] = source": (lambda x, v: x.clone().__setitem__(janus.tensor([0]), v), ("float32",)),
    "prelu": (lambda x, v: F.prelu(x, v), ("float32",)),
}


def outcome(f, *args):
    try:
        result = f(*args)
    except (RuntimeError, IndexError, TypeError) as e:
        return type(e), str(e)
    return None if result is None else (result.dtype, result.tolist())


@pytest.mark.parametrize("name", OPS)
def test_dtypes(name):
    """Each dtype is taken or refused as PyTorch does, decorated and plain."""
    op, taken = OPS[name]
    x = janus.arange(6.0).reshape(3, 2)
    for dtype in DTYPES:
        v = janus.tensor([0, 1]).to(getattr(janus, dtype))
        graph = janus.function(lambda x, v: op(x, v), verify="never")
        want = outcome(op, x, v)
        assert (want is not None and isinstance(want[0], type) and issubclass(want[0], Exception)) == (dtype not in taken), \
            (dtype, want)
        for _ in range(3):
            assert outcome(graph, x, v) == want, dtype


@pytest.mark.parametrize("value", [65504.0, -65504.0, 65505.0, 1e5, 1e39, float("inf"), float("nan")])
def test_numbers_of_halves(value):
    """What is stored as it is must fit into the dtype; infinities do."""
    fits = abs(value) <= 65504.0 or value in (float("inf"), float("-inf")) or value != value
    x = janus.zeros(3, dtype=janus.float16)
    stores = [lambda: janus.full((2,), value, dtype=janus.float16), lambda: janus.full_like(x, value),
              lambda: x.clone().fill_(value), lambda: x.masked_fill(x == 0, value), lambda: x.new_full((2,), value)]
    for store in stores:
        if fits:
            stored = store()[0].item()
            assert stored == value or (stored != stored and value != value)
        else:
            with pytest.raises(RuntimeError, match="without overflow"):
                store()


def test_dims_of_numbers():
    """A tensor without dims has the dims 0 and -1, once."""
    x = janus.tensor(1.5)
    for a, b in itertools.product(range(-3, 3), repeat=2):
        fine = a in (0, -1) and b in (0, -1)
        for op in (lambda: x.transpose(a, b), lambda: x.swapaxes(a, b)):
            if fine:
                assert op().shape == ()
            else:
                with pytest.raises(IndexError, match="Dimension out of range"):
                    op()
    for op in (x.flip, x.squeeze):
        assert op(0).shape == ()
        with pytest.raises(IndexError):
            op(1)
        with pytest.raises(RuntimeError, match="multiple times"):
            op((0, -1))
    with pytest.raises(IndexError):
        x.roll(1, 0)
    with pytest.raises(IndexError):
        x.median(5)


def test_views_are_none_by_copy():
    """view_as() raises where view() does; a value of more dims than its place has leading dims of 1 only."""
    x = janus.arange(6.0).reshape(2, 3).t()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.view_as(janus.zeros(6))
    assert x.reshape_as(janus.zeros(6)).tolist() == [0, 3, 1, 4, 2, 5]
    for tracked in (False, True):
        y, v = janus.zeros(3, 2) * 1.0, janus.ones(3, 1, requires_grad=tracked)
        with pytest.raises(RuntimeError):
            y[:, 1] = v
        y[:, 1] = v.reshape(1, 3)
        assert y.sum() == 3


def test_masks_as_indices():
    """index_put() takes masks as x[mask] = v does; a single value is cast, several are not."""
    for accumulate in (False, True):
        x = janus.zeros(3, 2)
        assert x.index_put((janus.tensor([True, False, True]),), janus.tensor(2.0), accumulate).sum() == 8
        with pytest.raises(IndexError, match="shape of the mask"):
            x.index_put((janus.tensor([True]),), janus.tensor(2.0), accumulate)
    y = janus.zeros(3)
    y[janus.tensor([True, False, True])] = janus.tensor([1.5], dtype=janus.float64)
    assert y.tolist() == [1.5, 0.0, 1.5]
    with pytest.raises(RuntimeError):
        y[janus.tensor([True, False, True])] = janus.tensor([1.0, 2.0], dtype=janus.float64)
    with pytest.raises(RuntimeError, match="boolean masks"):
        y[janus.tensor([1, 0, 1], dtype=janus.uint8)] = 2.0
