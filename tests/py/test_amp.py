# SPDX-License-Identifier: Apache-2.0
"""float16 and bfloat16 as types to compute in, autocast and GradScaler, imperatively."""
import math
import threading
import warnings

import numpy as np
import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F

HALVES = [janus.float16, janus.bfloat16]
f16, bf16, f32, f64 = janus.float16, janus.bfloat16, janus.float32, janus.float64


def test_text_and_values():
    x = janus.tensor([[1.5, -0.1], [65504.0, 2.0]], dtype=f16)
    assert repr(x[0]) == "tensor([ 1.5000, -0.1000], dtype=janus.float16)"
    assert x.tolist() == [[1.5, -0.0999755859375], [65504.0, 2.0]] and x[0, 0].item() == 1.5
    assert janus.tensor(0.1, dtype=bf16).item() == 0.10009765625
    assert janus.tensor(1e6, dtype=f16).item() == math.inf and janus.tensor(1e6, dtype=bf16).item() == 999424.0


def test_numpy_and_dlpack():
    x = janus.tensor([1.5, -0.1], dtype=f16)
    assert x.numpy().dtype == np.float16 and janus.from_numpy(np.array([2.5], np.float16)).dtype is f16
    assert janus.from_dlpack(x).dtype is f16 and np.from_dlpack(x).tolist() == x.tolist()
    y = x.bfloat16()
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        y.numpy()
    assert janus.from_dlpack(y).dtype is bf16 and janus.from_dlpack(y).tolist() == y.tolist()


@pytest.mark.parametrize("a, b, want", [
    (f16, f16, f16), (bf16, bf16, bf16), (f16, bf16, f32), (f16, f32, f32), (bf16, f32, f32), (f16, f64, f64),
    (f16, janus.int64, f16), (bf16, janus.bool, bf16), (janus.uint8, bf16, bf16)])
def test_promotion(a, b, want):
    x, y = janus.ones(2, dtype=a), janus.ones(2, dtype=b)
    assert (x + y).dtype is want and (y * x).dtype is want and janus.where(x > 0, x, y).dtype is want
    assert janus.cat([x, y]).dtype is want
    assert (x + y.sum().to(b)).dtype is (a if a.is_floating_point else want)


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers(dtype):
    x = janus.tensor([0.001, 0.002, 3.0], dtype=dtype)
    for y in (x + 1, x * 0.1, 2 / x, 1 - x, x ** 2, x // 2, x.clamp(0.1), x.pow(0.5)):
        assert y.dtype is dtype
    want = (x.float() * 1e6).to(dtype)
    assert (x * 1e6).tolist() == want.tolist() and (x * janus.tensor(1e6)).tolist() == want.tolist()
    assert ((x * 1e-9) / 1e-9).isfinite().all()
    assert (x == x.tolist()[1]).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", HALVES)
def test_results_are_rounded_once(dtype):
    janus.manual_seed(1)
    x, w = janus.randn(7, 300).to(dtype), janus.randn(300, 5).to(dtype)
    for f in (lambda a, b: a @ b, lambda a, b: a.sum(1), lambda a, b: a.softmax(-1), lambda a, b: F.gelu(a),
              lambda a, b: a.var(1), lambda a, b: F.layer_norm(a, (300,)), lambda a, b: a[:, ::2] * a[:, 1::2],
              lambda a, b: b.t() @ a.t(), lambda a, b: a.mean(), lambda a, b: a.expand(2, 7, 300).sum(0)):
        assert f(x, w).tolist() == f(x.float(), w.float()).to(dtype).tolist()


def test_means_of_many():
    x = janus.ones(300, 300, dtype=f16, requires_grad=True)
    y = (x * x).mean()
    y.backward()
    assert y.item() == 1 and x.grad[0, 0].item() == pytest.approx(2 / 90000, rel=0.01)


@pytest.mark.parametrize("dtype", HALVES)
def test_random_numbers_stay_below(dtype):
    janus.manual_seed(0)
    x = janus.rand(200000, dtype=dtype)
    assert x.dtype is dtype and x.max().item() < 1 and x.min().item() >= 0
    assert abs(x.float().mean().item() - 0.5) < 0.01
    assert F.dropout(x, 0.5).dtype is dtype and janus.randn(5, dtype=dtype).dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_modules(dtype, tmp_path):
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3),
                          nn.LayerNorm(3))
    model = model.half() if dtype is f16 else model.bfloat16()
    assert {p.dtype for p in model.parameters()} == {dtype} and model[1].num_batches_tracked.dtype is janus.int64
    x = janus.randn(2, 1, 4, 4).to(dtype)
    loss = model(x).square().mean()
    loss.backward()
    assert loss.dtype is dtype and {p.grad.dtype for p in model.parameters()} == {dtype}
    janus.save(model.state_dict(), tmp_path / "m.safetensors")
    back = janus.load(tmp_path / "m.safetensors")
    assert all(back[k].dtype is v.dtype and back[k].tolist() == v.tolist() for k, v in model.state_dict().items())
    assert {p.dtype for p in model.float().parameters()} == {f32}


def test_normalisation_with_float32_parameters():
    x = janus.randn(2, 3, 4, 4).half()
    bn, ln = nn.BatchNorm2d(3), nn.LayerNorm(4)
    y, z = bn(x), ln(x)
    assert y.dtype is f16 and z.dtype is f16 and bn.running_mean.dtype is f32
    (y.sum() + z.sum()).backward()
    assert bn.weight.grad.dtype is f32 and ln.bias.grad.dtype is f32


@pytest.mark.parametrize("make", [
    lambda p: janus.optim.SGD(p, lr=0.1), lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: janus.optim.Adam(p, lr=0.1), lambda p: janus.optim.AdamW(p, lr=0.1),
    lambda p: janus.optim.RMSprop(p, lr=0.1), lambda p: janus.optim.Adagrad(p, lr=0.1),
    lambda p: janus.optim.Adadelta(p, lr=1.0)])
@pytest.mark.parametrize("dtype", HALVES)
def test_optimizers(make, dtype):
    w = janus.tensor([1.0, -2.0, 3.0], dtype=dtype, requires_grad=True)
    optimizer = make([w])
    for _ in range(5):
        optimizer.zero_grad()
        w.square().sum().backward()
        optimizer.step()
    assert w.dtype is dtype and w.grad.dtype is dtype and w.isfinite().all() and w[0].item() < 1


# ---- autocast


def test_lists_of_ops():
    x, w, h = janus.randn(3, 4), janus.randn(4, 4), janus.randn(3, 4).bfloat16()
    image, kernel = janus.randn(1, 1, 5, 5), janus.randn(2, 1, 3, 3)
    with janus.autocast("cpu"):
        for y in (x @ w, janus.mm(x, w), F.linear(x, w), F.conv2d(image, kernel), janus.einsum("ij,jk->ik", x, w),
                  janus.addmm(janus.zeros(4), x, w), x[None].bmm(w[None]), F.conv1d(x[None], w[:, :3, None])):
            assert y.dtype is bf16
        target = janus.tensor([0, 1, 2])
        for y in (F.cross_entropy(h, target), F.mse_loss(h, h), F.l1_loss(h, h), F.smooth_l1_loss(h, h),
                  F.huber_loss(h, h), F.kl_div(h, h), F.binary_cross_entropy_with_logits(h, h), h.prod(),
                  F.binary_cross_entropy(h.sigmoid(), h.sigmoid()), F.nll_loss(h, target), F.nll_loss(h, target, w[0])):
            assert y.dtype is f32
        for y in (h.softmax(-1), h.sum(), h.exp(), h + h, h.tanh(), F.layer_norm(h, (4,))):
            assert y.dtype is bf16
        assert (x + h).dtype is f32 and janus.cat([x, h]).dtype is f32 and (x.double() @ w.double()).dtype is f64
        assert (janus.ones(2, 2, dtype=janus.int64) @ janus.ones(2, 2, dtype=janus.int64)).dtype is janus.int64
    with janus.autocast("cuda"):
        assert (x @ w).dtype is f32


def test_contexts():
    x = janus.randn(2, 2)
    assert not janus.is_autocast_enabled("cpu") and janus.get_autocast_dtype("cpu") is bf16
    with janus.autocast("cpu", dtype=f16):
        assert janus.is_autocast_enabled("cpu") and janus.get_autocast_dtype("cpu") is f16 and (x @ x).dtype is f16
        assert not janus.is_autocast_enabled()
        with janus.autocast("cuda"):
            assert janus.is_autocast_enabled() and janus.is_autocast_enabled("cpu")
        with janus.autocast(device_type="cpu", enabled=False):
            assert (x @ x).dtype is f32
        with pytest.raises(KeyError):
            with janus.autocast("cpu"):
                assert (x @ x).dtype is bf16
                raise KeyError
        assert (x @ x).dtype is f16
    assert (x @ x).dtype is f32

    @janus.autocast("cpu")
    def f(x):
        """Doc."""
        return x @ x

    assert f(x).dtype is bf16 and f.__doc__ == "Doc." and (x @ x).dtype is f32
    with janus.cuda.amp.autocast():
        assert janus.is_autocast_enabled()
    with pytest.raises(RuntimeError, match="'tpu' is neither"):
        janus.autocast("tpu")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        context = janus.autocast("cpu", dtype=f32)
    with context:
        assert not janus.is_autocast_enabled("cpu")
    assert janus.amp.autocast is janus.autocast


def test_other_threads_are_left_alone():
    seen = []
    with janus.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(janus.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize("cached", [True, False])
def test_weights(cached):
    w = janus.randn(4, 4, requires_grad=True)
    x = janus.randn(2, 4)

    def loss(a):
        return ((x @ a).tanh() @ a).float().sum()

    with janus.autocast("cpu", cache_enabled=cached):
        assert janus.is_autocast_cache_enabled() is cached
        y = loss(w)
    y.backward()
    once = w.grad.clone()
    assert w.grad.dtype is f32
    a, b = (w.detach().bfloat16().requires_grad_() for _ in range(2))
    z = ((x.bfloat16() @ a).tanh() @ b).float().sum()
    z.backward()
    assert z.item() == y.item() and (a.grad.float() + b.grad.float()).tolist() == once.tolist()
    with janus.autocast("cpu"):
        before = x @ w
        with janus.no_grad():
            w.mul_(2)
        after = x @ w
        janus.clear_autocast_cache()
        assert (x @ w).tolist() == after.tolist()
    assert after.tolist() == (before * 2).tolist()


# ---- GradScaler


def scaled(value):
    w = janus.tensor([1.0, 2.0], requires_grad=True)
    optimizer = janus.optim.SGD([w], lr=0.5)
    scaler = janus.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    return w, optimizer, scaler, lambda: scaler.scale((w * value).sum())


def test_scaler_steps():
    w, optimizer, scaler, loss = scaled(0.25)
    for want in (8.0, 16.0, 16.0, 32.0):
        optimizer.zero_grad()
        loss().backward()
        scaler.step(optimizer)
        assert w.grad.tolist() == [0.25, 0.25]
        scaler.update()
        assert scaler.get_scale() == want
    assert w.tolist() == [0.5, 1.5]


def test_scaler_leaves_steps_out():
    w, optimizer, scaler, loss = scaled(math.inf)
    loss().backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [1.0, 2.0] and scaler.get_scale() == 4.0


def test_scaler_complains():
    w, optimizer, scaler, loss = scaled(1.0)
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.update()
    loss().backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"being called after step"):
        scaler.unscale_(optimizer)
    half = janus.optim.SGD([janus.ones(2, dtype=f16, requires_grad=True)], lr=1)
    half.param_groups[0]["params"][0].grad = janus.ones(2, dtype=f16)
    with pytest.raises(ValueError, match="FP16 gradients"):
        scaler.unscale_(half)


def test_scaler_state():
    w, optimizer, scaler, loss = scaled(1.0)
    loss().backward()
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2,
                     "_growth_tracker": 1}
    other = janus.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state and scaler.is_enabled()


def test_scaler_without_a_device():
    off = janus.amp.GradScaler("cpu", enabled=False)
    x = janus.ones(2)
    assert off.scale(x) is x and off.get_scale() == 1.0 and off.state_dict() == {}
    if not janus.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not janus.cuda.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        janus.amp.GradScaler("cpu")
