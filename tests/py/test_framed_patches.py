# SPDX-License-Identifier: Apache-2.0
"""Convolutions of stride 1 of small images, whose taps are planes of a framed copy: against sums over taps in f64."""
import itertools

import pytest

import janus

np = pytest.importorskip("numpy")
F = janus.nn.functional

# widths of rows shorter than a piece of a copy, equal to one, longer, and longer than are copied in pieces
SIZES = ((1, 1), (3, 2), (5, 7), (4, 4), (12, 4), (2, 8), (8, 8), (4, 9), (3, 16), (16, 16), (6, 31), (1, 32), (8, 48), (2, 140), (50, 50))
KERNELS = ((1, 1), (3, 3), (1, 3), (2, 1), (5, 4))


def summed(x, w, b, padding, dilation, groups):
    """The convolution by its definition."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    o, cg, kh, kw = w.shape
    oh, ow = x.shape[2] - dilation[0] * (kh - 1), x.shape[3] - dilation[1] * (kw - 1)
    y = np.zeros((x.shape[0], o, oh, ow)) + b.astype(np.float64)[None, :, None, None]
    for g in range(groups):
        fs = slice(g * o // groups, (g + 1) * o // groups)
        for r, s in itertools.product(range(kh), range(kw)):
            part = x[:, g * cg:(g + 1) * cg, r * dilation[0]:r * dilation[0] + oh, s * dilation[1]:s * dilation[1] + ow]
            y[:, fs] += np.einsum("nchw,oc->nohw", part, w[fs, :, r, s].astype(np.float64))
    return y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_patches_of_framed_images(size, dtype):
    rng = np.random.default_rng(size[0] * 1000 + size[1])
    near = 1e-5 if dtype == "float32" else 1e-12
    done = 0
    for kernel, padding, dilation in itertools.product(KERNELS, ((0, 0), (1, 1), (0, 2)), ((1, 1), (2, 1))):
        if any(n + 2 * p <= d * (k - 1) for n, p, d, k in zip(size, padding, dilation, kernel)):
            continue
        for groups in (1, 2):
            x = rng.standard_normal((2, 4, *size)).astype(dtype)
            w = rng.standard_normal((6, 4 // groups, *kernel)).astype(dtype)
            b = rng.standard_normal(6).astype(dtype)
            y = F.conv2d(janus.tensor(x), janus.tensor(w), janus.tensor(b), 1, padding, dilation, groups).numpy()
            np.testing.assert_allclose(y, summed(x, w, b, padding, dilation, groups), rtol=near, atol=10 * near)
            done += 1
    assert done >= 8


@pytest.mark.parametrize("width", [4, 8, 16, 32, 48])
def test_positions_have_the_bits_that_they_have_in_a_wider_image(width):
    """Rows that are whole vectors, or parts of one, read their taps where they lie; those one longer are made patches of."""
    rng = np.random.default_rng(width)
    for rows, channels, filters, kernel, bias in itertools.product((1, 2, 4, 7), (1, 3), (1, 2, 3, 5, 6, 8, 11), ((3, 3), (1, 2), (2, 5)), (True, False)):
        height = rows + kernel[0] - 1
        x = rng.standard_normal((2, channels, height, width + kernel[1])).astype("float32")
        w = janus.tensor(rng.standard_normal((filters, channels, *kernel)).astype("float32"))
        b = janus.tensor(rng.standard_normal(filters).astype("float32")) if bias else None
        more = F.conv2d(janus.tensor(x), w, b).numpy()
        y = F.conv2d(janus.tensor(np.ascontiguousarray(x[..., :-1])), w, b).numpy()
        assert y.tobytes() == np.ascontiguousarray(more[..., :width]).tobytes(), (rows, channels, filters, kernel, bias)
        if kernel[1] == 3:  # the same of an image without the zeros that stand around it
            padded = np.zeros_like(x[..., :-1])
            padded[..., 1:-1] = x[..., 1:-2]
            inner = F.conv2d(janus.tensor(np.ascontiguousarray(padded[..., 1:-1])), w, b, 1, (0, 1)).numpy()
            assert inner.tobytes() == F.conv2d(janus.tensor(padded), w, b).numpy().tobytes()
