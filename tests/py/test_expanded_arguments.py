# SPDX-License-Identifier: Apache-2.0
"""Arguments that were expanded (steps of 0) have unknown dims like any other: each form of them with each op, in a row of
lengths, beside CPython's."""

import pytest

import janus
import janus.nn.functional as F

FORMS = {
    "row": lambda n: janus.randn(1, n).expand(3, n),
    "column": lambda n: janus.randn(n, 1).expand(n, 3),
    "number": lambda n: janus.randn(1, 1).expand(3, n),
    "in front": lambda n: janus.randn(n, 2).expand(3, n, 2),
    "between": lambda n: janus.randn(n, 1, 2).expand(n, 3, 2),
    "of the length": lambda n: janus.randn(1, 2).expand(n, 2),
    "transposed": lambda n: janus.randn(1, n).expand(3, n).t(),
    "with gaps": lambda n: janus.randn(1, n + 3)[:, :n].expand(3, n),
    "broadcast": lambda n: janus.broadcast_to(janus.randn(n), (3, n)),
}
OPS = {
    "times": lambda x: x * 2 + 1,
    "sum": lambda x: x.sum(-1),
    "softmax": lambda x: x.softmax(-1),
    "itself": lambda x: x @ x.transpose(-1, -2),
    "linear": lambda x: F.relu(x.transpose(-1, -2).contiguous()) - 1,
    "reshape": lambda x: x.reshape(-1) * 3,
    "part": lambda x: x[1:] + x[:-1],
    "mask": lambda x: x.masked_fill(x > 0, 0.0),
    "copy": lambda x: x.clone().add_(1),
    "joined": lambda x: janus.cat([x, x], 0),
    "lengths": lambda x: x.mean() * x.size(0) + x.size(-1),
    "steps": lambda x: x.sum() + x.stride(0) * 0 + (1 if x.is_contiguous() else 2),
}
LENGTHS = [5, 7, 4, 9, 6, 11, 8, 12, 10, 13]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("op", OPS)
def test_lengths(form, op):
    f = janus.function(OPS[op], measure=False)
    for n in LENGTHS:
        janus.manual_seed(n)
        x = FORMS[form](n)
        got, want = f(x), OPS[op](x)
        assert got.shape == want.shape and got.stride() == want.stride()
        assert janus.allclose(got, want, rtol=1e-5, atol=1e-6)
    assert f.stats()["conversions"] <= 3, str(janus.explain(f))
    assert f.stats()["graph"] >= 5, str(janus.explain(f))


def test_expanded_or_not():
    """What is expanded in one call and whole in the next is not taken for the same."""

    def f(x):
        return x * 2, x.stride(), x.is_contiguous()

    g = janus.function(f, measure=False)
    for round in range(3):
        for n in LENGTHS[:6]:
            for x in (janus.randn(1, n).expand(4, n), janus.randn(4, n), janus.randn(4, 1).expand(4, n), janus.randn(n, 4).t()):
                got, want = g(x), f(x)
                assert janus.equal(got[0], want[0]) and got[1:] == want[1:]


def test_gradients():
    w = janus.randn(3, requires_grad=True)

    def f(x, w):
        return (x * w[:, None]).tanh().sum()

    g = janus.function(f, measure=False)
    for n in LENGTHS:
        x = janus.randn(1, n).expand(3, n)
        want = janus.autograd.grad(f(x, w), w)[0]
        got = janus.autograd.grad(g(x, w), w)[0]
        assert janus.allclose(got, want, rtol=1e-5, atol=1e-6)
    assert g.stats()["conversions"] <= 3
