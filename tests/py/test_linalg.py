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


ORDERS = [1, -1, float("inf"), -float("inf")]
OF_NUMPY = {
    "det": [(lambda m, a: m.det(a), (n, n)) for n in (1, 2, 5)] + [(lambda m, a: m.det(a), (2, 3, 3))],
    "matrix_power": [(lambda m, a, k=k: m.matrix_power(a, k), (2, 3, 3)) for k in (-2, -1, 0, 1, 2, 5)],
    "multi_dot": [(lambda m, a, *b: m.multi_dot([a, *b]), *shapes) for shapes in (
        ((2, 3), (3, 4)), ((10, 2), (2, 30), (30, 3), (3, 1)), ((3,), (3, 4), (4, 2)), ((2, 3), (3, 4), (4,)), ((3,), (3, 4), (4,)))],
    "norm": [(lambda m, a: m.norm(a), shape) for shape in ((5,), (3, 4), (2, 3, 4))] +
            [(lambda m, a, o=o: m.norm(a, o), (5,)) for o in (0, 2, 3, 0.5, *ORDERS)] +
            [(lambda m, a, o=o, d=d: m.norm(a, o, d), (3, 4, 2)) for o in ("fro", *ORDERS) for d in ((0, 1), (-1, 0))] +
            [(lambda m, a, o=o: m.norm(a, o, 1), (3, 4)) for o in (2, 3, *ORDERS)],
}


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("name", OF_NUMPY)
def test_as_numpy_has_it(name, decorated):
    np = pytest.importorskip("numpy")
    for f, *shapes in OF_NUMPY[name]:
        janus.manual_seed(3)
        parts = [janus.randn(*shape, dtype=janus.float64) for shape in shapes]
        g = janus.function(lambda *a: f(linalg, *a), measure=False) if decorated else lambda *a: f(linalg, *a)
        for _ in range(3):
            got = g(*parts)
        want = f(np.linalg, *[p.numpy() for p in parts])
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-9, err_msg=str(shapes))


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((4, 3), (4, 3)), ((2, 1, 3), (1, 5, 3)), ((3, 2), (3, 2))], ids=str)
def test_cross(shapes):
    np = pytest.importorskip("numpy")
    a, b = (janus.randn(*shape, dtype=janus.float64) for shape in shapes)
    dim = 0 if shapes[0][-1] != 3 else -1
    np.testing.assert_allclose(linalg.cross(a, b, dim=dim).numpy(), np.cross(a.numpy(), b.numpy(), axis=dim), rtol=1e-9, atol=1e-12)


def test_gradients_of_determinants_and_norms():
    for f in (linalg.det, lambda a: linalg.matrix_power(a, -2), lambda a: linalg.norm(a, 3, 0), linalg.matrix_norm,
              lambda a: linalg.multi_dot([a, a, a[:, 0]])):
        a = (matrices(3, ()) + janus.eye(3, dtype=janus.float64) * 2).requires_grad_()
        weights = janus.randn(f(a).shape, dtype=janus.float64)
        (f(a) * weights).sum().backward()
        for i, j in itertools.product(range(3), range(3)):
            with janus.no_grad():
                step = janus.zeros(3, 3, dtype=janus.float64)
                step[i, j] = 1e-6
                slope = ((f(a + step) - f(a - step)) * weights).sum().item() / 2e-6
            assert abs(slope - a.grad[i, j].item()) < 1e-5 * (1 + abs(slope))


def test_what_has_no_norm():
    with pytest.raises(NotImplementedError, match="singular values"):
        linalg.matrix_norm(janus.ones(2, 2), 2)
    with pytest.raises(RuntimeError, match="length 3"):
        linalg.cross(janus.ones(2), janus.ones(2))
    with pytest.raises(RuntimeError, match="at least 2 tensors"):
        linalg.multi_dot([janus.ones(2, 2)])
    with pytest.raises(RuntimeError, match="floating point"):
        linalg.vector_norm(janus.ones(2, dtype=janus.int64))
