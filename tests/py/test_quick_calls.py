# SPDX-License-Identifier: Apache-2.0
"""A call that is remembered gives what it gave when it was bound, and other calls are not taken for it."""
import math

import pytest

import janus

np = pytest.importorskip("numpy")

CALLS = {
    "add": lambda x, y: janus.add(x, y), "add alpha": lambda x, y: x.add(y, alpha=0.5), "mul": lambda x, y: x * 1.5,
    "rsub": lambda x, y: 2 - x, "greater": lambda x, y: x > y, "equal": lambda x, y: x == 0.25, "pow": lambda x, y: x ** 2,
    "sum": lambda x, y: x.sum(), "sum of a dim": lambda x, y: x.sum(1), "sum keepdim": lambda x, y: x.sum(dim=0, keepdim=True),
    "sum of dims": lambda x, y: x.sum((0, 1)), "mean": lambda x, y: x.mean(), "max": lambda x, y: x.max(),
    "max of a dim": lambda x, y: x.max(1).values, "argmax": lambda x, y: x.argmax(1), "var": lambda x, y: x.var(),
    "matmul": lambda x, y: x @ y.t(), "reshape": lambda x, y: x.reshape(2, -1), "view": lambda x, y: x.view(12),
    "transpose": lambda x, y: x.transpose(0, 1), "permute": lambda x, y: x.permute(1, 0), "unsqueeze": lambda x, y: x.unsqueeze(0),
    "expand": lambda x, y: x.unsqueeze(0).expand(2, 3, 4), "flatten": lambda x, y: x.flatten(), "narrow": lambda x, y: x.narrow(1, 1, 2),
    "select": lambda x, y: x.select(1, 2), "clamp": lambda x, y: x.clamp(-0.5, 0.5), "clamp min": lambda x, y: x.clamp(min=0.1),
    "softmax": lambda x, y: x.softmax(-1), "where": lambda x, y: janus.where(x > y, x, y), "where number": lambda x, y: janus.where(x > 0, x, 0.0),
    "cat": lambda x, y: janus.cat([x, y], 1), "stack": lambda x, y: janus.stack((x, y)), "tanh": lambda x, y: x.tanh(),
    "gelu": lambda x, y: x.gelu(), "gelu tanh": lambda x, y: x.gelu(approximate="tanh"), "double": lambda x, y: x.double(),
    "to": lambda x, y: x.to(janus.float32), "contiguous": lambda x, y: x.t().contiguous(), "clone": lambda x, y: x.clone(),
    "masked_fill": lambda x, y: x.masked_fill(x > 0, -1.0), "lerp": lambda x, y: janus.lerp(x, y, 0.25),
    "row": lambda x, y: x[1], "element": lambda x, y: x[1, -2], "slices": lambda x, y: x[0:2, 1::2], "ellipsis": lambda x, y: x[..., 1],
    "new dim": lambda x, y: x[None, :, 1], "all": lambda x, y: x[:], "chunk": lambda x, y: sum(x.chunk(3, 1)),
    "split": lambda x, y: x.split([1, 3], 1)[1] * x.split(3, 1)[0][:, :1], "unbind": lambda x, y: x.unbind(1)[3],
}


def values(seed):
    random = np.random.default_rng(seed)
    return [janus.tensor(random.standard_normal((3, 4)).astype(np.float32)) for _ in range(2)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tracked", [False, True])
def test_repeated_calls_agree(name, tracked):
    call, seen = CALLS[name], []
    for round_ in range(5):
        x, y = values(round_ % 2)
        x.requires_grad = tracked
        result = call(x, y)
        if tracked and result.dtype.is_floating_point:
            (result * result).sum().backward()
        seen.append((result.detach().numpy(), result.requires_grad, None if x.grad is None else x.grad.numpy()))
    for one, other in ((0, 2), (2, 4), (1, 3)):
        assert seen[one][0].dtype == seen[other][0].dtype and seen[one][1] == seen[other][1]
        np.testing.assert_array_equal(seen[one][0], seen[other][0])
        assert (seen[one][2] is None) == (seen[other][2] is None)
        if seen[one][2] is not None:
            np.testing.assert_array_equal(seen[one][2], seen[other][2])
    if tracked and seen[0][0].dtype.kind == "f":
        assert seen[0][1] and seen[0][2] is not None


def test_attributes_are_part_of_a_call():
    x = janus.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = janus.ones(2, 2)
    for _ in range(3):
        for alpha in (0.5, 2.0, -0.0, 0.0):
            assert x.add(y, alpha=alpha).tolist() == [[1 + alpha, 2 + alpha], [3 + alpha, 4 + alpha]]
        for low in (0.0, 1.5, 2.5):
            assert x.clamp(min=low).tolist() == [[max(v, low) for v in row] for row in x.tolist()]
        assert x.sum(0).tolist() == [4.0, 6.0] and x.sum(1).tolist() == [3.0, 7.0]
        assert x.sum(0, True).shape == (1, 2) and x.sum(0, False).shape == (2,)
        assert x.reshape(4).shape == (4,) and x.reshape([4, 1]).shape == (4, 1) and x.reshape((1, 4)).shape == (1, 4)


def test_operands_are_told_apart():
    x, y = janus.tensor([1.0, 2.0]), janus.tensor([10.0, 20.0])
    for _ in range(4):
        assert janus.sub(x, x).tolist() == [0.0, 0.0]
        assert janus.sub(x, y).tolist() == [-9.0, -18.0]
        assert janus.sub(y, x).tolist() == [9.0, 18.0]
    for n in range(5):
        assert (x * n).tolist() == [n, 2.0 * n] and (x > n).tolist() == [1 > n, 2 > n]
        assert (janus.tensor([1, 2]) * n).tolist() == [n, 2 * n]
        assert (janus.tensor([1, 2]) * (n + 0.5)).dtype is janus.float32
        assert janus.maximum(x, janus.tensor(float(n))).tolist() == [max(1.0, n), max(2.0, n)]


def test_strides_are_part_of_a_call():
    x = janus.arange(6, dtype=janus.float32).reshape(2, 3)
    for _ in range(4):
        assert x.t().sum(0).tolist() == [3.0, 12.0]
        assert x.reshape(3, 2).sum(0).tolist() == [6.0, 9.0]
        assert x.t().reshape(6).tolist() == [0, 3, 1, 4, 2, 5]
        with pytest.raises(RuntimeError):
            x.t().view(6)


def test_in_place_calls():
    for round_ in range(4):
        x = janus.ones(3)
        version = x._version
        assert x.add_(2.0) is x and x.mul_(x) is x and x._version == version + 2
        assert x.tolist() == [9.0] * 3
        y = x.expand(2, 3).contiguous()
        row = y[0]
        row.add_(1.0)
        assert y.tolist() == [[10.0] * 3, [9.0] * 3]
        x[:2].sub_(x[1:])  # overlapping
        assert x.tolist() == [0.0, 0.0, 9.0]
        leaf = janus.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError):
            leaf.add_(1.0)
        with janus.no_grad():
            leaf.add_(1.0)
        assert leaf.tolist() == [2.0] * 3
        z = leaf * 1.0
        z.add_(leaf)
        z.sum().backward()
        assert leaf.grad.tolist() == [2.0] * 3
        with pytest.raises(RuntimeError):
            janus.arange(3).add_(0.5)


def test_gradients_of_pieces_share_a_buffer():
    x = janus.arange(24, dtype=janus.float64).reshape(2, 12).requires_grad_()
    a, b, c = x.chunk(3, 1)
    (a * 2 + b * 3 + c * c + x[:, 1:5] * 4).sum().backward()
    want = np.concatenate([np.full((2, 4), 2.0), np.full((2, 4), 3.0), 2 * np.arange(24.0).reshape(2, 12)[:, 8:]], 1)
    want[:, 1:5] += 4
    np.testing.assert_array_equal(x.grad.numpy(), want)
    y = (x * 1.0)
    first, = janus.autograd.grad((y[0] ** 3).sum(), y, create_graph=True)
    assert first.shape == (2, 12)
    second, = janus.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy()[0], 6 * x.detach().numpy()[0])


def test_numbers_that_do_not_fit():
    x = janus.ones(2)
    for _ in range(4):
        with pytest.raises((OverflowError, RuntimeError)):
            x.reshape(2 ** 70)
        assert math.isinf((x * 1e300).tolist()[0])
        with pytest.raises((OverflowError, RuntimeError)):
            janus.arange(2) * 2 ** 70


def test_lists_of_tensors():
    x, y = janus.arange(3.0), janus.ones(3)
    leaf = janus.ones(3, requires_grad=True)
    for join in (janus.cat, janus.stack):
        for _ in range(4):
            for parts in ((x, y), [y, x], (x, x), [x], (x,) * 8, [x, y] * 5, (x, y[:2]) if join is janus.cat else (y, y + 1)):
                want = (np.concatenate if join is janus.cat else np.stack)([p.numpy() for p in parts])
                np.testing.assert_array_equal(join(parts).numpy(), want)
            leaf.grad = None
            (join((x, leaf, leaf)) * join([y + 1, x, y])).sum().backward()
            assert leaf.grad.tolist() == [1.0, 2.0, 3.0]
            with pytest.raises(RuntimeError):
                join((x, janus.ones(2, 2)))
            with pytest.raises((TypeError, RuntimeError)):
                join((x, 3))
            assert join((x, y.double())).dtype == janus.float64
    assert janus.cat((x.reshape(1, 3), y.reshape(1, 3)), dim=1).tolist() == [[0.0, 1.0, 2.0, 1.0, 1.0, 1.0]]


def test_views_of_numbers():
    """A view of a number has no tensor to be a view of."""
    for _ in range(4):
        assert janus.detach(1.5).item() == 1.5
        assert janus.permute(2, ()).item() == 2
        assert janus.expand(3, (2, 2)).tolist() == [[3, 3], [3, 3]]


def test_strides_of_small_sizes_count():
    """Sizes of 0 and 1 have strides of their own, which views hand on."""
    for _ in range(4):
        for x in (janus.ones(2, 4, 6)[:0], janus.ones(1, 4, 6).expand(2, 4, 6)[:0], janus.ones(4, 2).t()[:1], janus.ones(2, 1, 4),
                  janus.ones(1, 2, 4).transpose(0, 1)):
            n = x.dim()
            assert x.transpose(0, n - 1).stride() == x.stride()[-1:] + x.stride()[1:-1] + x.stride()[:1]


def test_as_strided_stays_inside():
    x = janus.arange(6.0)
    assert x.as_strided((2, 2), (1, 2), 1).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    for sizes, strides, offset in (((2**63 - 1,), (1,), 0), ((2**40, 2**40), (2**40, 1), 0), ((2,), (2**62,), 2**62), ((7,), (1,), 0)):
        with pytest.raises(RuntimeError):
            x.as_strided(sizes, strides, offset)


def test_a_learned_call_still_asks_whether_the_number_fits():
    x, y = janus.tensor([1, 2, 3], dtype=janus.int32), janus.ones(3)
    calls = [
        lambda v: x.masked_fill(x > 0, v),
        lambda v: x.clone().masked_fill_(x > 0, v),
        lambda v: y.masked_fill(y > 0, v),
        lambda v: janus.where(y > 0, y, v),
    ]
    for f in calls:
        for _ in range(4):
            f(1.5)
        with pytest.raises(RuntimeError, match="without overflow"):
            f(1e300)
        assert f(2.0) is not None


def test_a_bound_that_is_no_number_is_not_learned():
    """clamp() with a NaN is another op, which later bounds must not be given to."""
    x = janus.tensor([0.5, -0.3, 2.0, -3.0])
    for bound in (1.0, math.nan, math.nan, math.nan):
        for clamp in (x.clamp, lambda lo, hi: janus.clamp(x, lo, hi), lambda lo, hi: janus.clamp(x, min=lo, max=hi)):
            clamp(-1.0, bound)
            assert clamp(-1.0, 1.0).tolist() == [0.5, x[1].item(), 1.0, -1.0]
            clamp(bound, 1.0)
            assert clamp(-1.0, 1.0).tolist() == [0.5, x[1].item(), 1.0, -1.0]


IN_PLACE = {
    "add alpha": lambda x, y, z: x.add_(y, alpha=-0.5), "sub alpha": lambda x, y, z: janus.sub(x, y, alpha=0.25),
    "add number": lambda x, y, z: x.add_(1.5, alpha=2), "addcmul": lambda x, y, z: x.addcmul_(y, z, value=0.5),
    "addcmul of one": lambda x, y, z: x.addcmul_(y, y, value=0.5), "addcdiv": lambda x, y, z: x.addcdiv_(y, z, value=-0.5),
    "addcdiv root": lambda x, y, z: x.addcdiv_sqrt_(y, z * z, value=-0.5, eps=1e-8), "lerp": lambda x, y, z: x.lerp_(y, 0.25),
    "mul of itself": lambda x, y, z: x.mul_(x), "addcmul of itself": lambda x, y, z: x.addcmul_(x, y),
    "matmul of one": lambda x, y, z: y.t() @ y, "maximum of one": lambda x, y, z: janus.maximum(y, y),
    "where of one": lambda x, y, z: janus.where(x > 0, y, y), "lerp of one": lambda x, y, z: janus.lerp(x, y, y),
    "a row of it": lambda x, y, z: x.add_(y[0], alpha=2.0), "a column of it": lambda x, y, z: x.addcmul_(y[:, :1], z),
    "of a view": lambda x, y, z: x[:, 1:3].add_(y[:, :2], alpha=0.5),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("way", ["plain", "deferred", "tracked"])
def test_repeated_writes_agree(name, dtype, way):
    """The same objects and others of the same types come in turn; the first call of all was bound, not remembered."""
    call = IN_PLACE[name]
    for same in (False, True, False):  # one tensor for two operands or two tensors, after one has been learned
        seen = []
        for round_ in range(6):
            random = np.random.default_rng(round_ % 2)
            x, y, z = (janus.tensor(random.standard_normal((3, 4)).astype(dtype)) for _ in range(3))
            if same:
                z = y
            w = x
            if way == "tracked":
                x.requires_grad = y.requires_grad = True
                w = x * 1.0
            with janus.deferred() if way == "deferred" else janus.enable_grad():
                result = call(w, y, z)
            grads = None
            if way == "tracked" and result.requires_grad:
                result.sum().backward()
                grads = [None if t.grad is None else t.grad.numpy() for t in (x, y)]
            seen.append((result.detach().numpy(), w.detach().numpy(), grads))
        for n in range(2, 6):
            for got, wanted in zip(seen[n][:2], seen[n % 2][:2]):
                np.testing.assert_array_equal(got, wanted)
            for got, wanted in zip(seen[n][2] or (), seen[n % 2][2] or ()):
                np.testing.assert_array_equal(got, wanted)


def test_one_tensor_twice_is_not_taken_for_two():
    """What was learned of f(a, y, y) computes f(a, y, z)."""
    a, y, z = janus.tensor([1.0, 2.0]), janus.tensor([10.0, 20.0]), janus.tensor([3.0, 4.0])
    calls = {
        "where": (lambda p, q: janus.where(a > 1.5, p, q), [[10.0, 20.0], [3.0, 20.0], [10.0, 4.0]]),
        "addcdiv": (lambda p, q: janus.addcdiv(a, p, q), [[2.0, 3.0], [1 + 10 / 3, 7.0], [1.3, 2.2]]),
        "sub": (lambda p, q: janus.sub(p, q), [[0.0, 0.0], [7.0, 16.0], [-7.0, -16.0]]),
        "rsub": (lambda p, q: janus.rsub(p, q), [[0.0, 0.0], [-7.0, -16.0], [7.0, 16.0]]),
        "greater": (lambda p, q: (p > q).float(), [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]),
        "keywords": (lambda p, q: janus.sub(other=q, input=p), [[0.0, 0.0], [7.0, 16.0], [-7.0, -16.0]]),
    }
    for name, (call, wanted) in calls.items():
        for _ in range(4):
            assert call(y, y).tolist() == pytest.approx(wanted[0]), name
        for _ in range(3):
            assert call(y, z).tolist() == pytest.approx(wanted[1]), name
            assert call(z, y).tolist() == pytest.approx(wanted[2]), name
            assert call(y, y).tolist() == pytest.approx(wanted[0]), name


def test_learned_alphas_are_told_apart():
    for _ in range(3):
        for alpha in (0.5, -2.0, 0.0, 1.0, 3, True):
            x = janus.tensor([1.0, 2.0])
            if alpha is True:
                with pytest.raises(RuntimeError, match="Boolean alpha"):
                    x.add_(janus.ones(2), alpha=alpha)
                continue
            assert x.add_(janus.tensor([10.0, 20.0]), alpha=alpha).tolist() == [1 + 10 * alpha, 2 + 20 * alpha]
            assert janus.sub(x, 2.0, alpha=alpha).tolist() == [v - 2 * alpha for v in x.tolist()]
