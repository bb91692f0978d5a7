# SPDX-License-Identifier: Apache-2.0
"""What takes rows apart, of lengths around those of its lanes and blocks: softmax, its logarithm, logsumexp, layer_norm."""
import os
import subprocess
import sys

import pytest

import janus

np = pytest.importorskip("numpy")

LENGTHS = (17, 31, 32, 33, 63, 64, 65, 95, 97, 255, 256, 257, 300, 768, 1000, 4095, 4096, 4097, 9000)
DTYPES = {"f32": (janus.float32, 2e-5), "f64": (janus.float64, 1e-11)}


def of_numpy(x):
    """softmax, log_softmax, logsumexp and layer_norm of rows."""
    top = x.max(1, keepdims=True)
    total = np.exp(x - top).sum(1, keepdims=True)
    lse = np.log(total) + top
    norm = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return np.exp(x - top) / total, x - lse, lse[:, 0], norm


def of_janus(x):
    return (x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1),
            janus.nn.functional.layer_norm(x, (x.shape[-1],)))


@pytest.mark.parametrize("name", DTYPES)
def test_rows_are_right(name):
    dtype, near = DTYPES[name]
    for n in LENGTHS:
        janus.manual_seed(n)
        x = (janus.randn(3, n, dtype=janus.float64) * 4 + 1).to(dtype)
        found = of_janus(x)
        for got, want in zip(found, of_numpy(x.numpy().astype(np.float64))):
            np.testing.assert_allclose(got.numpy(), want, rtol=10 * near, atol=near)
        for k in range(3):  # two at once, and what is left
            for got, alone in zip(found, of_janus(x[k:k + 1])):
                assert janus.equal(got[k:k + 1], alone)


@pytest.mark.parametrize("isa", ["generic", "avx2"])
def test_of_other_instruction_sets(isa):
    code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import test_long_rows as t; " \
           "[t.test_rows_are_right(name) for name in t.DTYPES]"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "JANUS_ISA": isa}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", DTYPES)
def test_gradients_are_right(name):
    dtype, near = DTYPES[name]
    for n in LENGTHS:
        janus.manual_seed(n)
        x = janus.nn.Parameter(janus.randn(2, n, dtype=janus.float64).to(dtype))
        dy = janus.randn(2, n, dtype=janus.float64).to(dtype)
        found = [janus.autograd.grad(y, [x], dy[:, 0].contiguous() if y.dim() == 1 else dy)[0].numpy() for y in of_janus(x)]
        wide, d = x.detach().numpy().astype(np.float64), dy.numpy().astype(np.float64)
        soft, _, _, norm = of_numpy(wide)
        std = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        want = [soft * (d - (d * soft).sum(1, keepdims=True)), d - soft * d.sum(1, keepdims=True), soft * d[:, :1],
                (d - d.mean(1, keepdims=True) - norm * (d * norm).mean(1, keepdims=True)) / std]
        for got, expected in zip(found, want):
            np.testing.assert_allclose(got, expected, rtol=100 * near, atol=100 * near)


@pytest.mark.parametrize("n", [20, 33, 64, 70, 300])
def test_what_is_not_finite(n):
    """At each place of a row: what is infinitely small weighs nothing, all else leaves nothing to be told."""
    inf, nan = float("inf"), float("nan")
    for at in {0, 1, n // 2, 31 % n, 32 % n, n - 1}:
        x = np.linspace(-3, 3, n, dtype=np.float32)[None].repeat(5, 0)
        x[0, at], x[1, at], x[2, at], x[3] = -inf, inf, nan, -inf
        x[4, at], x[4, (at + 1) % n] = inf, nan
        soft, logs, lse, _ = (y.numpy() for y in of_janus(janus.tensor(x)))
        row = np.delete(x[0].astype(np.float64), at)
        np.testing.assert_allclose(np.delete(soft[0], at), np.exp(row) / np.exp(row).sum(), rtol=1e-4)
        assert soft[0, at] == 0 and logs[0, at] == -inf and abs(lse[0] - np.log(np.exp(row).sum())) < 1e-4
        assert np.isnan(soft[1:]).all() and np.isnan(logs[2:]).all() and np.isnan(logs[1, at])
        assert lse[1] == inf and np.isnan(lse[2]) and lse[3] == -inf and np.isnan(lse[4])
