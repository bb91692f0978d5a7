# SPDX-License-Identifier: Apache-2.0
"""janus.linalg: what it solves fits, gradients are those of differences, matrices that are none raise; decorated it is the same."""
import itertools

import janus
import pytest
from janus import linalg

SIZES = [1, 2, 3, 7]
BATCHES = [(), (1,), (4,), (2, 3)]


def matrices(n, batch, seed=0):
    """Any, with zeros where a pivot would be."""
    janus.manual_seed(seed)
    a = janus.randn(*batch, n, n, dtype=janus.float64)
    if n > 1:
        a[..., 0, 0] = 0.0
    return a


def definite(n, batch):
    a = matrices(n, batch, 1)
    return a @ a.transpose(-2, -1) + janus.eye(n, dtype=janus.float64)


RIGHT = {"vector": lambda n, batch: (n,), "vectors": lambda n, batch: (*batch, n), "columns": lambda n, batch: (*batch, n, 2),
         "one": lambda n, batch: (n, 3), "more": lambda n, batch: (5, *batch, n, 1)}


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("right", RIGHT)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_solve(n, batch, right, decorated):
    a = matrices(n, batch)
    b = janus.randn(*RIGHT[right](n, batch), dtype=janus.float64)
    solve = janus.function(linalg.solve, measure=False) if decorated else linalg.solve
    for k in range(3):
        x = solve(a + 0.1 * k, b)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    got = (a + 0.2) @ (x.unsqueeze(-1) if vector else x)
    assert janus.allclose(got.squeeze(-1) if vector else got, b.expand(got.squeeze(-1).shape if vector else got.shape), atol=1e-8)
    assert not decorated or solve.stats()["graph"]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_inverse_and_cholesky(n, batch):
    a, one = matrices(n, batch), janus.eye(n, dtype=janus.float64)
    assert janus.allclose(linalg.inv(a) @ a, one.expand(a.shape), atol=1e-8)
    s = definite(n, batch)
    lower = linalg.cholesky(s)
    assert janus.equal(lower, lower.tril()) and janus.allclose(lower @ lower.transpose(-2, -1), s)
    assert janus.equal(linalg.cholesky(s, upper=True), lower.transpose(-2, -1))
    assert janus.equal(linalg.cholesky(s.tril()), lower)
    b = janus.randn(*batch, 2, n, dtype=janus.float64)
    assert janus.allclose(linalg.solve(a, b, left=False) @ a, b, atol=1e-8)


@pytest.mark.parametrize("f", [lambda a: linalg.solve(a, a[..., 0] * 2 + 1), linalg.inv,
                               lambda a: linalg.cholesky(a @ a.transpose(-2, -1) + janus.eye(3, dtype=a.dtype))],
                         ids=["solve", "inv", "cholesky"])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_gradients(f, batch):
    a = matrices(3, batch, 4)
    weights = janus.randn(*f(a).shape, dtype=janus.float64)
    x = a.clone().requires_grad_()
    (f(x) * weights).sum().backward()
    numbers = a.reshape(-1)
    for i in range(numbers.numel()):
        ends = []
        for step in (1e-6, -1e-6):
            moved = numbers.clone()
            moved[i] += step
            ends.append((f(moved.reshape(a.shape)) * weights).sum().item())
        assert x.grad.reshape(-1)[i].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-5)


WRONG = [
    (lambda: linalg.solve(janus.zeros(2, 2), janus.ones(2)), linalg.LinAlgError, "input matrix is singular"),
    (lambda: linalg.solve(janus.stack([janus.eye(2), janus.ones(2, 2)]), janus.ones(2, 2)), linalg.LinAlgError, "(Batch element 1)"),
    (lambda: linalg.inv(janus.ones(3, 3)), linalg.LinAlgError, "linalg.inv: The diagonal element 2 is zero, the inversion could not be"),
    (lambda: linalg.cholesky(janus.tensor([[1.0, 2.0], [2.0, 1.0]])), linalg.LinAlgError, "leading minor of order 2"),
    (lambda: linalg.cholesky(-janus.eye(2).expand(3, 2, 2)), linalg.LinAlgError, "(Batch element 0): The factorization"),
    (lambda: linalg.solve(janus.ones(2, 3), janus.ones(2)), RuntimeError, "they are 2 by 3 matrices"),
    (lambda: linalg.inv(janus.ones(2)), RuntimeError, "at least 2 dimensions"),
    (lambda: linalg.solve(janus.eye(2), janus.ones(3)), RuntimeError, "(2x2 and 3x1)"),
    (lambda: linalg.solve(janus.eye(2), janus.ones(2).double()), RuntimeError, "A of type Float and B of type Double"),
    (lambda: linalg.cholesky(janus.eye(2).long()), NotImplementedError, "Got Long"),
]


@pytest.mark.parametrize("case, decorated", list(itertools.product(range(len(WRONG)), [False, True])))
def test_what_is_wrong(case, decorated):
    call, error, text = WRONG[case]
    with pytest.raises(error) as e:
        (janus.function(call) if decorated else call)()
    assert text in str(e.value)


def test_none():
    assert linalg.inv(janus.zeros(0, 0)).shape == linalg.cholesky(janus.zeros(0, 0)).shape == (0, 0)
    assert linalg.solve(janus.zeros(2, 0, 0), janus.zeros(2, 0, 3)).shape == (2, 0, 3)
