# SPDX-License-Identifier: Apache-2.0
"""Windows of max_pool2d, generated, of which some lie in the padding alone: they are -inf and have no gradient."""
import itertools
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

import janus
import janus.nn.functional as F

np = pytest.importorskip("numpy")
HERE = pathlib.Path(__file__).parent
EMULATED = os.path.join(os.environ.get("JANUS_BUILD", ""), ".libs", "libjanus_cuda_emulated.so")
sys.path.insert(0, str(HERE))
from references import nn as reference  # noqa: E402

PAIRS = [(1, 1), (2, 1), (2, 3), (3, 3)]
SETTINGS = [(size, (k0, k1), (s, 3 - s), (p0, p1), (d, e))
            for size, (k0, k1), s, d, e in itertools.product([(1, 1), (1, 4), (2, 2), (3, 5)], PAIRS, (1, 2),
                                                             (1, 2, 3, 5), (1, 3))
            for p0, p1 in itertools.product(range(k0 // 2 + 1), range(k1 // 2 + 1))
            if all(size[i] + 2 * p >= dil * (k - 1) + 1 for i, (k, p, dil) in enumerate(zip((k0, k1), (p0, p1), (d, e))))]


def loss(x, w, kernel, stride, padding, dilation):
    y = F.max_pool2d(x, kernel, stride, padding, dilation)
    return y, (janus.where(y > -1e30, y, 0) * 2 + y.clamp(-3, 3) * w).sum()


def compare(device, dtype):
    """Against the reference in NumPy; returns how many settings have such windows."""
    found = graphs = 0
    for size, *settings in SETTINGS:
        x = np.random.default_rng(len(settings)).standard_normal((2, 2) + size).astype(np.float32).round(1)
        kernel, stride, padding, dilation = settings
        y, at = reference.max_pool2d(x, kernel, stride, padding, dilation, False)
        found += bool((at == -1).any())
        dy = np.where(at == -1, 0, 2 + (abs(y) <= 3))
        dx = np.zeros((2, 2, size[0] * size[1]))
        for n, c in np.ndindex(2, 2):
            keep = at[n, c] != -1
            np.add.at(dx[n, c], at[n, c][keep], dy[n, c][keep])
        step = janus.function(lambda x, w, s=tuple(settings): loss(x, w, *s))
        for f in (lambda x, w: loss(x, w, *settings), step, step, step, step, step):
            t = janus.tensor(x.tolist(), dtype=dtype, device=device).requires_grad_()
            got, total = f(t, janus.tensor(1.0, dtype=dtype, device=device))
            np.testing.assert_allclose(got.detach().cpu().float().numpy(), y, rtol=2e-3, err_msg=str((size, settings)))
            total.backward()
            np.testing.assert_allclose(t.grad.cpu().float().numpy(), dx.reshape(x.shape), rtol=2e-3,
                                       err_msg=str((size, settings)))
        graphs += step.stats()["graph"] > 1
    assert graphs == len(SETTINGS)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_windows_in_the_padding(dtype):
    assert compare("cpu", getattr(janus, dtype)) >= 20


@pytest.mark.parametrize("more", [
    {"JANUS_ISA": "generic"}, {"JANUS_ISA": "avx2"},
    pytest.param({"JANUS_CUDA_MODULE": EMULATED}, id="emulated",
                 marks=pytest.mark.skipif(not os.path.exists(EMULATED), reason="no emulated module was built"))],
    ids=str)
def test_elsewhere(more):
    """By other instruction sets and on a device, each in a process of its own."""
    device = "cuda" if "JANUS_CUDA_MODULE" in more else "cpu"
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import test_pool_padding as t; " \
           f"assert t.compare({device!r}, t.janus.float32) >= 20"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **more}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gradient_of_the_gradient():
    x = janus.tensor([[[[3.0]]]]).requires_grad_()
    y = F.max_pool2d(x * x, (2, 1), 1, (1, 0), (2, 1))
    assert y.tolist() == [[[[-float("inf")]]]]
    g, = janus.autograd.grad(y, x, create_graph=True)
    assert g.tolist() == [[[[0.0]]]]
    g.sum().backward()
    assert x.grad.tolist() == [[[[0.0]]]]


@pytest.mark.parametrize("rows", range(2, 9))
def test_windows_of_two_by_two(rows):
    """Planes of 2 x 2 windows in f32 have a kernel of their own: largest elements, and where they were taken from,
    are those of f64, whatever is equal, infinite or NaN."""
    for width in range(2, 40):
        rng = np.random.default_rng(100 * rows + width)
        x = rng.choice([0, -0.0, 1, -1, 2, np.inf, -np.inf, np.nan], (2, 2, rows, width), p=[.2, .1, .2, .2, .1, .05, .05, .1])
        found = []
        for dtype in (janus.float32, janus.float64):
            t = janus.tensor(x.tolist(), dtype=dtype).requires_grad_()
            y = F.max_pool2d(t, 2)
            weights = janus.arange(1, y.numel() + 1, dtype=dtype).reshape(y.shape)
            y.backward(weights)
            found.append((y.detach().double().numpy(), t.grad.double().numpy()))
        for a, b in zip(*found):
            assert np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b)), (rows, width)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_graphs_that_read_no_indices(numerics):
    """A graph whose pooling nobody goes backward through makes no indices: the same numbers, NaNs and ties among them."""
    def f(x):
        return F.max_pool2d(x * 1.0, 2) + 1.0

    g = janus.function(f, numerics=numerics, measure=False, verify="never")
    for h, w in itertools.product((2, 3, 5, 8), (2, 3, 7, 8, 9, 10, 17, 20, 34)):
        x = janus.randn(2, 3, h, w)
        x.view(-1)[::7] = float("nan")
        x.view(-1)[3::5] = x.view(-1)[2]
        with janus.no_grad():
            for _ in range(3):
                got = g(x)
            assert repr(got.tolist()) == repr(f(x).tolist()), (h, w)
    assert g.stats()["graph"]
    x = janus.randn(2, 3, 8, 8).requires_grad_()
    for h in (f, g, g, g):
        x.grad = None
        h(x).sum().backward()
        want = x.grad.tolist() if h is f else want
        assert x.grad.tolist() == want


def of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


@pytest.mark.parametrize("width", [2, 7, 8, 10, 16, 18, 22, 32])
@pytest.mark.parametrize("height", [2, 8, 10])
def test_the_largest_of_2_by_2_is_the_scans_to_the_bit(height, width):
    """Zeros of both signs, infinities and NaNs: with the indices, which a gradient reads, and without."""
    r = random.Random(height * 100 + width)
    odd = [of_bits(b) for b in (0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7fc00002, 0xffc00003)] + [1.0, -1.0]
    planes = [[[r.choice(odd) for _ in range(width)] for _ in range(height)] for _ in range(12)]
    wanted, f = [], janus.function(lambda x: F.max_pool2d(x, 2))
    for p in planes:
        for i in range(0, height - 1, 2):
            for j in range(0, width - 1, 2):
                m = p[i][j]
                for v in (p[i][j + 1], p[i + 1][j], p[i + 1][j + 1]):
                    m = v if v > m or v != v else m
                wanted.append(struct.pack("<f", m))
    for x in (janus.tensor([planes]), janus.tensor([planes], requires_grad=True)):
        for pool in (lambda x: F.max_pool2d(x, 2), f, f, f):
            assert [struct.pack("<f", v) for v in pool(x).detach().flatten().tolist()] == wanted
