# SPDX-License-Identifier: Apache-2.0
"""Results of two runs of a program, compared."""
import math

import janus


def close(a, b, rel=1e-4, least=1e-5):
    """Whether two results are equal in all but rounding: types, lengths, keys and their order, shapes, strides, dtypes and
    what requires grad are the same, floats differ by at most `least` + `rel` times the first; NaN is equal to NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, janus.Tensor):
        if (a.shape, a.stride(), a.dtype, a.requires_grad) != (b.shape, b.stride(), b.dtype, b.requires_grad):
            return False
        a, b = a.detach(), b.detach()
        return bool(janus.allclose(b, a, rtol=rel, atol=least, equal_nan=True)) if a.dtype.is_floating_point else a.tolist() == b.tolist()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, rel, least) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(close(a[k], b[k], rel, least) for k in a)
    if isinstance(a, float):
        return a == b or abs(a - b) <= least + rel * abs(a) or math.isnan(a) and math.isnan(b)
    return a == b


def check_trained(f, trees, layer, seen, before=lambda: None):
    """f(tree, x) decorated and not, once for each tree: what `seen` sees of its result, a tensor or a tuple that begins
    with one, and the gradients of its sum by x and the layer's parameters.  `before` runs before each call."""
    g = janus.function(f, verify="never", measure=False)
    for i, tree in enumerate(trees):
        both = []
        for h in (f, g):
            janus.manual_seed(i)
            before()
            layer.zero_grad()
            x = janus.randn(3, requires_grad=True)
            r = h(tree, x)
            (r[0] if isinstance(r, tuple) else r).sum().backward()
            both.append([seen(r), [None if p.grad is None else p.grad.contiguous() for p in [x, *layer.parameters()]]])
        assert close(both[0], both[1]), (i, both)
