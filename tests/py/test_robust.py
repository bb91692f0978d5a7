# SPDX-License-Identifier: Apache-2.0
"""What cannot be done raises what PyTorch raises; nothing hangs or takes all memory."""
import pytest

import janus

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("call", [
    lambda: janus.zeros(2 ** 40, 2 ** 40), lambda: janus.zeros(2 ** 62), lambda: janus.ones(2 ** 31, 2 ** 31, 4),
    lambda: janus.ones(1).expand(2 ** 45).clone(), lambda: janus.ones(2 ** 20, 1) @ janus.ones(1, 2 ** 26),
    lambda: janus.arange(0, 2 ** 60), lambda: janus.eye(2 ** 35),
])
def test_too_large(call):
    with pytest.raises((MemoryError, RuntimeError)):
        call()


def test_empty_tensors():
    x = janus.zeros(0, 3)
    assert x.sum().item() == 0 and x.sum(0).tolist() == [0, 0, 0] and x.sum(1).shape == (0,)
    assert (x + 1).shape == (0, 3) and (x @ janus.ones(3, 2)).shape == (0, 2) and x.t().shape == (3, 0)
    assert x.reshape(3, 0).shape == (3, 0) and x[:, 1:].shape == (0, 2) and janus.cat([x, janus.ones(1, 3)]).shape == (1, 3)
    assert np.isnan(x.mean().item()) and x.tolist() == [] and x.any().item() is False and x.all().item() is True
    assert [piece.shape for piece in x.chunk(2, 0)] == [(0, 3)] and x.unbind(1)[0].shape == (0,)
    for call in (x.max, x.argmax, lambda: x.max(0)):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    leaf = janus.zeros(0, requires_grad=True)
    (leaf * 2).sum().backward()
    assert leaf.grad.shape == (0,)


@pytest.mark.parametrize("key, error", [
    (3, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), ("a", (IndexError, TypeError)), (1.5, (IndexError, TypeError)),
    (slice(None, None, -1), ValueError), (slice(None, None, 0), ValueError), ((Ellipsis, 5), IndexError),
    ([0, 3], IndexError), ((slice(None), [0, 9]), IndexError),
])
def test_keys_that_do_not_fit(key, error):
    x = janus.ones(3, 4)
    with pytest.raises(error):
        x[key]
    with pytest.raises(error):
        x[key] = 0.0
    assert x.sum().item() == 12


@pytest.mark.parametrize("call, error", [
    (lambda x: x + janus.ones(4, 3), RuntimeError), (lambda x: x @ janus.ones(3, 4), RuntimeError),
    (lambda x: x.reshape(5), RuntimeError), (lambda x: x.view(-1, -1), RuntimeError), (lambda x: x.sum(2), IndexError),
    (lambda x: x.transpose(0, 2), IndexError), (lambda x: x.permute(0, 0), RuntimeError),
    (lambda x: x.unsqueeze(4), IndexError), (lambda x: x.expand(2, 4), RuntimeError), (lambda x: x.item(), RuntimeError),
    (lambda x: bool(x), RuntimeError), (lambda x: x.chunk(0), RuntimeError), (lambda x: x.split(-1), RuntimeError),
    (lambda x: x.split([1, 1]), RuntimeError), (lambda x: x.chunk(2, 5), IndexError), (lambda x: x.sum("a"), TypeError),
    (lambda x: x.add(), TypeError), (lambda x: x.add("a"), TypeError), (lambda x: x.nothing(), AttributeError),
    (lambda x: janus.cat([]), (RuntimeError, ValueError)), (lambda x: janus.cat([x, janus.ones(2)]), RuntimeError),
    (lambda x: janus.stack([x, janus.ones(2)]), RuntimeError), (lambda x: x.backward(), RuntimeError),
    (lambda x: janus.arange(3) // 0, (RuntimeError, ZeroDivisionError)), (lambda x: x.gather(0, janus.ones(1, 1)), (RuntimeError, IndexError)),
    (lambda x: janus.nn.functional.embedding(janus.tensor([9]), x), IndexError), (lambda x: janus.zeros(-1), RuntimeError),
    (lambda x: x.softmax(3), IndexError),
])
def test_calls_that_do_not_fit(call, error):
    for _ in range(3):  # the second and third time the call may be remembered
        with pytest.raises(error):
            call(janus.ones(3, 4))


def test_not_a_number():
    x = janus.tensor([1.0, float("nan"), 3.0])
    assert np.isnan(x.sum().item()) and np.isnan(x.max().item()) and x.argmax().item() == 1
    assert (x == x).tolist() == [True, False, True] and x.isnan().tolist() == [False, True, False]
    assert x.relu().tolist()[0] == 1.0 and np.isnan(x.relu().tolist()[1])
    y = janus.tensor([0.0], requires_grad=True)
    y.sqrt().backward()
    assert y.grad.tolist() == [float("inf")]
