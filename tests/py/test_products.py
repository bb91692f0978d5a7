# SPDX-License-Identifier: Apache-2.0
"""Products of every pair of ranks: values, and gradients where only one operand requires them."""
import pytest

import janus

np = pytest.importorskip("numpy")

SHAPES = [((3,), (3, 4)), ((3,), (5, 3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)),
          ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((2, 3), (3, 4))]


def made(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("a, b", SHAPES)
def test_gradients_of_one_operand(a, b):
    x, y = made(*a, seed=1), made(*b, seed=2)
    with_both = None
    for which in ((0, 1), (0,), (1,)):
        operands = [janus.tensor(x.tolist(), dtype=janus.float64), janus.tensor(y.tolist(), dtype=janus.float64)]
        for i in which:
            operands[i].requires_grad_()
        z = operands[0] @ operands[1]
        np.testing.assert_allclose(z.detach().numpy(), x @ y)
        (z * z).sum().backward()
        grads = [None if t.grad is None else t.grad.numpy() for t in operands]
        with_both = with_both or grads
        for i in which:
            np.testing.assert_allclose(grads[i], with_both[i])
    for values, grad in zip((x, y), with_both):
        for at in np.ndindex(values.shape):
            kept, change = values[at], []
            for step in (1e-6, -1e-6):
                values[at] = kept + step
                change.append(((x @ y) ** 2).sum())
            values[at] = kept
            np.testing.assert_allclose(grad[at], (change[0] - change[1]) / 2e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("a, b", [(s, (s[-1], 5)) for s in
                                  [(2, 1, 3), (1, 2, 3), (1, 1, 3), (2, 3, 1), (1, 3), (1, 2, 1, 3), (2, 1, 1, 3)]])
def test_strides_of_single_elements_say_nothing(a, b):
    """A dim of one element may have any stride, and the tensor is contiguous all the same."""
    x, y = made(*a, seed=1), made(*b, seed=2)
    ours = [janus.tensor(v.tolist(), dtype=janus.float64) for v in (x, y)]
    odd = [t.as_strided(list(t.shape), [1 if n == 1 else s for n, s in zip(t.shape, t.stride())]) for t in ours]
    np.testing.assert_allclose((odd[0] @ odd[1]).numpy(), x @ y)
    np.testing.assert_allclose((odd[0] @ ours[1].t().contiguous().t()).numpy(), x @ y)
    np.testing.assert_allclose((odd[0].transpose(-1, -2) @ odd[0]).numpy(), np.swapaxes(x, -1, -2) @ x)


@pytest.mark.parametrize("batches", [(1, 2), (2, 1), (2, 3), (0, 1)])
@pytest.mark.parametrize("graph", [False, True])
def test_bmm_does_not_broadcast(batches, graph):
    """Batches of matrices go one with one; matmul broadcasts."""
    def f(x, y):
        return x.bmm(y)

    f = janus.function(f, verify="never") if graph else f
    same = janus.ones(2, 3, 4), janus.ones(2, 4, 5)
    for _ in range(3):
        assert f(*same).shape == (2, 3, 5)
        with pytest.raises(RuntimeError, match="batches"):
            f(janus.ones(batches[0], 3, 4), janus.ones(batches[1], 4, 5))


@pytest.mark.parametrize("k", [1, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65])
def test_short_dot_products_have_the_bits_of_a_few_columns(k):
    for m in (1, 2, 5, 8):
        for n in (8, 9, 16, 17, 31, 32, 50):
            janus.manual_seed(m * k + n)
            x, w = janus.randn(m, k), janus.randn(n, k)
            y = x @ w.t()
            wide = x.numpy().astype(np.float64) @ w.numpy().astype(np.float64).T
            np.testing.assert_allclose(y.numpy(), wide, rtol=1e-5, atol=1e-5)
            few = janus.cat([x @ w[j:j + 3].t() for j in range(0, n, 3)], 1) if n % 3 != 1 else y
            assert janus.equal(y, few)
            added = janus.ones(m, n)
            assert janus.allclose(janus.addmm(added, x, w.t()), y + 1, atol=1e-5)
