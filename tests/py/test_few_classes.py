# SPDX-License-Identifier: Apache-2.0
"""Softmax of rows of a few numbers, which are computed side by side: right, and to the bit what a row alone gives."""
import pytest

import janus

np = pytest.importorskip("numpy")

ROWS = (1, 2, 3, 4, 5, 15, 16, 17, 40, 70)
DTYPES = {"f32": (janus.float32, 1e-5), "f64": (janus.float64, 1e-12)}


def data(rows, n, dtype):
    janus.manual_seed(17 * rows + n)
    return (janus.randn(rows, n) * 5).to(dtype), janus.randn(rows, n).to(dtype)


def grad(x, dy, axis=-1):
    p = janus.nn.Parameter(x)
    return janus.autograd.grad(p.softmax(axis), [p], dy)[0]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 15, 16, 17])
def test_rows_are_right_whatever_lies_beside_them(n, name):
    dtype, near = DTYPES[name]
    for rows in ROWS:
        x, dy = data(rows, n, dtype)
        y, dx = x.softmax(-1), grad(x, dy)
        wide = x.numpy().astype(np.float64)
        want = np.exp(wide - wide.max(1, keepdims=True))
        want /= want.sum(1, keepdims=True)
        np.testing.assert_allclose(y.numpy(), want, rtol=near, atol=near)
        d = dy.numpy().astype(np.float64)
        np.testing.assert_allclose(dx.numpy(), want * (d - (d * want).sum(1, keepdims=True)), rtol=100 * near, atol=near)
        for i in range(rows):
            assert janus.equal(x[i].softmax(-1), y[i]) and janus.equal(grad(x[i], dy[i]), dx[i])
        across, dacross = x.t().contiguous(), dy.t().contiguous()
        assert janus.equal(across.softmax(0).t(), y) and janus.equal(grad(across, dacross, 0).t(), dx)


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_what_is_not_finite(rows):
    inf = float("inf")
    x = janus.zeros(rows, 4)
    x[0] = janus.tensor([-inf, 1.0, -inf, 1.0])
    assert x.softmax(-1)[0].tolist() == [0.0, 0.5, 0.0, 0.5]
    for bad in ([-inf] * 4, [inf, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, float("nan")]):
        x[0] = janus.tensor(bad)
        y = x.softmax(-1)
        assert y[0].isnan().any() and (y[1:] == 0.25).all()
