# SPDX-License-Identifier: Apache-2.0
"""Dims of arguments that differ between calls: decorated programs give what undecorated ones give, whatever the sizes, and those that
are listed as such need three conversions at most."""
import contextlib
import io
import math
import random

import janus
import janus.nn as nn
import janus.nn.functional as F
import pytest
from compared import close
from shares import LIGHT
from texts import names_of

LENGTHS = [3, 5, 7, 4, 9, 12, 2, 1, 30, 17, 5, 0, 6, 8, 2, 33]
if LIGHT:
    LENGTHS = [3, 5, 7, 2, 1, 12]

# x: [n, 4], y: [n], z: [3, n], m: [k, n, 4] with k and n varying, i: indices [n]; each is the result of a program of its own.
GENERAL = {
    "pointwise": "x * 2 + 1", "unary": "x.exp() + x.abs().sqrt()", "sum": "x.sum(), x.sum(0), x.sum(1)", "mean": "x.mean(), x.mean(0)",
    "softmax": "x.softmax(0), y.log_softmax(-1)", "max": "x.max(0).values, x.argmax(1)", "cumsum": "x.cumsum(0)",
    "matmul": "x @ w, z @ x, x.transpose(0, 1) @ x", "linear": "F.linear(x, w)", "batched": "m @ m.transpose(1, 2)", "broadcast": "z + y, x * y[:, None]",
    "with one": "x + janus.ones(1, 4), z * janus.ones(3, 1)", "where": "janus.where(x > 0, x, -x)", "masked": "x.masked_fill(x > 0, 0.0)",
    "cat": "janus.cat([x, x]), janus.cat([x, x[:, :1]], 1)", "stack": "janus.stack([y, y]), janus.stack([x, x], 1)",
    "reshape": "x.reshape(-1) * 1, m.reshape(-1, 4) * 1, m.reshape(m.size(0), -1) * 1", "view": "x.view(x.size(0), 2, 2) * 1, x.view(-1, 2) * 1",
    "flatten": "m.flatten(1) * 1, m.flatten() * 1", "sizes": "x.view(x.shape[0] * 2, -1) + 0, m.view(m.shape[1], m.shape[0], 4) + 0",
    "expand": "y.expand(3, -1) * 1, y[None].expand(2, y.size(0)) * 1", "unsqueeze": "y.unsqueeze(0) * 2, y[:, None] * 2",
    "new": "janus.zeros(x.size(0)), janus.ones(x.shape), janus.full((2, len(x)), 3.0)", "like": "janus.zeros_like(x), janus.ones_like(y)",
    "arange": "janus.arange(x.size(0)), janus.arange(len(y)) * 2", "tril": "janus.tril(janus.ones(y.size(0), y.size(0)))",
    "last": "x[-1] * 2, z[:, -1] * 2", "but first": "y[:] * 2", "gather": "x[i], y[i], F.embedding(i, x)", "one_hot": "F.one_hot(i % 3, 3)",
    "by size": "x.sum() / x.size(0), y * len(y), y / y.numel(), x.sum() / x.shape[0] ** 0.5", "numbers": "x.size(0), x.shape[0] * 2 + 1, len(y), x.numel()",
    "shape": "x.shape, m.size(), tuple(x.shape), list(x.shape), x.dim()",
    "condition": "x * 2 if x.size(0) > 6 else x + 1", "compared": "x.size(0) == y.size(0), x.shape[0] > 4, len(y) % 2",
    "least": "min(x.size(0), 8), max(len(y), 6)", "sort": "y.sort().values, y.topk(2).values", "layer_norm": "F.layer_norm(x, (4,))",
    "loss": "F.mse_loss(x, x * 2), F.cross_entropy(x, i % 4)", "dropout": "F.dropout(x, 0.5)", "dict": "{'n': len(x), 'x': x * 2}",
    "list": "[a * 2 for a in (x, y)]", "std": "x.std(0), x.var()", "norm": "x.norm(), F.normalize(x, dim=1)",
    "attention": "F.scaled_dot_product_attention(m, m, m)", "conv": "F.conv1d(janus.cat([z, z, z], 1)[None], janus.ones(2, 3, 2)) * 1",
}
# Graphs or not, whatever it is, they must be right.
OTHER = {
    "formatted": "f'{x.size(0)} rows', str(len(y))", "draws": "janus.rand_like(x), janus.randn_like(y)", "einsum": "janus.einsum('ij,ik->jk', x, x)",
    "views": "x.reshape(-1), m.reshape(-1, 4), m.reshape(m.size(0), -1), x.view(x.size(0), 2, 2)",
    "crop": "z[:, :6] * 2, y[:1000]", "tail": "z[:, -4:] * 2", "differences": "z[:, 1:] - z[:, :-1], y[1:], y[:-5]", "step": "z[:, ::2] * 2, y[1::3]",
    "between": "y[len(y) // 4 : len(y) // 2] * 2, z[:, x.size(0) - 2 :] * 1, x[: 2 * len(y) - 20] * 2, m[:, : m.size(1) - 3] + 0, y[-len(y) // 2 :] * 1",
    "beyond": "x[: m.size(0)] * 2, y[m.size(0) :] * 2, z[:, m.size(0) : m.size(0) + 3] * 1",
    "half": "y[: y.size(0) // 2] * 2, y[y.size(0) // 2 :] * 2", "chunk": "[c * 2 for c in z.chunk(2, 1)]", "split": "[c.sum() for c in x.split(2)]",
    "unbind": "[r.sum() for r in x]", "unbound": "janus.stack(x.unbind(0)).sum(0)", "transposed": "x.T, m.transpose(1, 2), x.permute(1, 0)",
    "strides": "x.stride(), m.stride(0), x.T.is_contiguous()", "squeeze": "x.squeeze(), y.squeeze()", "repeat": "y.repeat(2), y.repeat(y.size(0), 1)",
    "eye": "janus.eye(x.size(0)), janus.eye(2, len(y))", "linspace": "janus.linspace(0, 1, x.size(0))", "pad": "F.pad(y, (0, 2)), F.pad(y, (0, 40 - len(y)))",
    "roll": "y.roll(1), y.flip(0)", "narrow": "y.narrow(0, 0, 2), y.narrow(0, 1, y.size(0) - 1)", "nonzero": "y.nonzero(), y[y > 0]",
    "tolist": "x.tolist(), [int(n) for n in x.shape]", "item": "y[x.size(0) - 1].item()", "minimum": "z[:, : min(z.size(1), 6)] * 2",
    "random": "janus.randn(x.size(0), 2), janus.randperm(len(y))", "bounded": "janus.zeros(max(len(y), 6), 6), janus.zeros(8, min(len(y), 8))",
    "arithmetic": "y[: 2 * y.size(0) - 50] * 2, janus.zeros(2 * len(y) + 3), janus.arange(1, len(y) + 1)", "diagonal": "janus.diag(y), janus.tril(z, len(y) - 4)",
    "one of them": "(x if len(x) > 5 else x[:1]) * 2", "pool": "F.avg_pool1d(z[None], 2) * 1, F.adaptive_avg_pool1d(z[None], 2) * 1",
    "raises": "x.view(6, -1) * 1", "wrong": "x + janus.ones(5, 4)", "out of range": "y[5]", "keys": "{x.size(0): 1}, {x.shape: 2}",
    "sets": "len(set(x.shape)), 4 in x.shape, x.shape.index(4)", "sliced": "x.shape[:1], x.shape[-1:], (*x.shape, 1), x.shape + (2,)",
    "type": "type(x.shape), isinstance(x.size(0), int), type(x.size(0))", "identity": "x.size(0) is None, x.shape is x.shape",
    "text": "f'{x.shape} {x.size()}', repr(x.shape), '%d' % x.size(0), 'x' * len(y)", "math": "math.sqrt(x.size(0)), math.ceil(len(y) / 2), divmod(len(y), 2)",
    "float": "float(len(y)), x * float(x.size(0)), int(len(y) * 0.5)", "tensor": "janus.tensor(len(y)), janus.tensor([len(y), 2])", "range": "list(range(len(y))), sum(range(x.size(0)))",
}
BODIES = {
    "print": "    print(x.shape, x.size(0), len(y))\n    return x + 1",
    "loop": "    h = janus.zeros(4)\n    for t in range(x.size(0)):\n        h = (h + x[t]).tanh()\n    return h",
    "loop back": "    h = janus.zeros(4)\n    for t in reversed(range(x.size(0))):\n        h = (h + x[t]).tanh()\n    return h",
    "outputs": "    out = []\n    for t in range(x.size(0)):\n        out.append(x[t].tanh())\n    return janus.stack(out)",
    "rows": "    s = 0\n    for r in x:\n        s = s + r.tanh()\n    return s",
    "numbered": "    s = 0\n    for k, r in enumerate(x):\n        s = s + r * k\n    return s, len(x)",
    "beside": "    s = 0\n    for r, v in zip(x, y):\n        s = s + r * v\n    return s",
    "parts": "    s = janus.zeros(3)\n    for c in z.unbind(1):\n        s = (s + c).tanh()\n    return s, len(z.unbind(1)), z.unbind(1)[0]",
    "list of rows": "    rows = x.unbind(0)\n    return rows, len(rows), isinstance(rows, tuple)",
    "two lists": "    a, b = [], []\n    for t in range(x.size(0)):\n        a.append(x[t])\n        if t % 2:\n            b.append(y[t])\n    return janus.stack(a).sum(), janus.stack(b).sum()",
    "stacked along 1": "    out = []\n    for t in range(x.size(0)):\n        out.append(x[t] * 2)\n    return janus.stack(out, 1) * 2, janus.stack(out, dim=-1).sum(0)",
    "while": "    n = len(y)\n    while n > 3:\n        n = n // 2\n    return n, x * n",
    "written": "    a = janus.zeros(x.size(0), 4)\n    a[0] = 1.0\n    a[:, 1] = y\n    return a + x",
    "in place": "    a = x * 1\n    a += 1\n    a.mul_(2)\n    a[1:] = 0\n    return a",
    "through a view": "    a = x * 1\n    a.view(-1)[0] = 5.0\n    a.reshape(-1).mul_(2)\n    return a",
    "assertion": "    assert x.shape[1] == 4 and x.size(0) == y.size(0)\n    B, C = x.shape\n    return x.view(B, C) * 2",
    "early": "    if len(y) < 4:\n        return y\n    return x * 2, len(y)",
    "raise": "    if len(y) == 7:\n        raise ValueError(f'{len(y)} rows')\n    return x * 2",
    "ones": "    if x.size(0) == 1:\n        return x.squeeze(0)\n    return x.mean(0)",
    "backward": "    v = w.clone().requires_grad_()\n    (x @ v).pow(2).sum().backward()\n    return v.grad",
    "scattered": "    v = y.clone().requires_grad_()\n    janus.zeros(5).scatter_add(0, (i * 0)[: len(i) // 2], v * v).sum().backward()\n    return v.grad",
    "heads": "    B, T, C = m.size()\n    q = m.view(B, T, 2, C // 2).transpose(1, 2)\n    a = (q @ q.transpose(-2, -1)) / (C // 2) ** 0.5\n"
             "    a = a.masked_fill(janus.tril(janus.ones(T, T)) == 0, float('-inf')).softmax(-1)\n    return (a @ q).transpose(1, 2).contiguous().view(B, T, C)",
}


def made(body):
    text = f"def f(x, y, z, m, i, w):\n{body}\n"
    return names_of(text, janus=janus, F=F, math=math)["f"]


def arguments(n, k):
    janus.manual_seed(n * 40 + k)
    return (janus.randn(n, 4), janus.randn(n), janus.randn(3, n), janus.randn(k, n, 4), janus.randint(0, n, (n,)) if n else janus.zeros(0, dtype=janus.int64),
            janus.randn(4, 4))


def outcome(f, args):
    out = io.StringIO()
    janus.manual_seed(1)
    try:
        with contextlib.redirect_stdout(out):
            result = f(*args)
    except (RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError) as e:
        return type(e), str(e), out.getvalue()
    return result, out.getvalue(), janus.rand(1).item()


def compare(f, **options):
    g = janus.function(f, measure=False, **options)
    for at, n in enumerate(LENGTHS):
        args = arguments(n, LENGTHS[-at - 1])
        want, got = outcome(f, args), outcome(g, args)
        assert close(want, got), f"n = {n}: {want} != {got}"
    assert g.stats()["disproved"] == 0
    return g.stats()


def general(stats):
    """One graph of the first sizes, one of all, and those with a size of 0 or 1."""
    small = sum(n < 2 for n in LENGTHS)
    return stats["conversions"] <= 3 + 2 * small and stats["graph"] >= len(LENGTHS) - 4 - 3 * small


@pytest.mark.parametrize("name", GENERAL)
def test_one_graph_for_all_sizes(name):
    assert general(compare(made("    return " + GENERAL[name]), verify="never"))


@pytest.mark.parametrize("name", [*OTHER, *BODIES])
def test_right_whatever_the_size(name):
    compare(made(BODIES[name] if name in BODIES else "    return " + OTHER[name]), verify="never")


@pytest.mark.parametrize("name", [*GENERAL, *OTHER, *BODIES][::3])
def test_verified(name):
    body = BODIES.get(name) or "    return " + (GENERAL.get(name) or OTHER[name])
    compare(made(body))


def trained(model, batches, loss, decorate):
    optimizer = janus.optim.Adam(model.parameters(), lr=0.01)

    def step(*batch):
        optimizer.zero_grad()
        value = loss(model, *batch)
        value.backward()
        optimizer.step()
        return value

    if decorate:
        step = janus.function(step, verify="never", measure=False)
    return [step(*b).item() for b in batches], step


def check_training(make, batches, loss, conversions):
    results = []
    for decorate in (False, True):
        janus.manual_seed(2)
        results.append(trained(make(), batches, loss, decorate))
    (want, _), (got, step) = results
    assert got == pytest.approx(want, rel=1e-4)
    assert step.stats()["conversions"] <= conversions


def test_last_batch_is_smaller():
    def make():
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 3))

    sizes = ([16] * 5 + [7]) * 3
    batches = [(janus.randn(n, 4), janus.randint(0, 3, (n,))) for n in sizes]
    check_training(make, batches, lambda model, x, y: F.cross_entropy(model(x), y), 3)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.qkv, self.out, self.norm, self.head = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 11)

    def forward(self, tokens):
        B, T = tokens.size()
        x = self.words(tokens) + self.places(janus.arange(T))
        B, T, C = x.size()
        q, k, v = self.qkv(self.norm(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, 2, C // 2).transpose(1, 2) for t in (q, k, v))
        a = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
        a = a.masked_fill(janus.tril(janus.ones(T, T)).view(1, 1, T, T) == 0, float("-inf"))
        y = (F.softmax(a, dim=-1) @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.head(x + self.out(y))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.words, self.rnn = nn.Embedding(11, 6), kind(6, 8, batch_first=True, **options)
        self.head = nn.Linear(16 if options.get("bidirectional") else 8, 11)

    def forward(self, tokens):
        return self.head(self.rnn(self.words(tokens))[0])


def next_word(model, x):
    logits = model(x[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), x[:, 1:].reshape(-1))


def test_attention_over_lengths():
    batches = [(janus.randint(0, 11, (2 + n % 3, n)),) for n in [5, 9, 4, 12, 30, 7, 6, 17, 8]]
    check_training(Attention, batches, next_word, 3)


@pytest.mark.parametrize("kind, options, conversions", [(nn.LSTM, {}, 3), (nn.GRU, {}, 3), (nn.RNN, {}, 3), (nn.LSTM, {"num_layers": 2}, 20),
                                                        (nn.LSTM, {"bidirectional": True}, 20)])
def test_recurrent_layers_over_lengths(kind, options, conversions):
    batches = [(janus.randint(0, 11, (2 + n % 3, n)),) for n in [5, 9, 4, 12, 3, 7, 6, 17, 8]]
    check_training(lambda: Recurrent(kind, **options), batches, next_word, conversions)


def test_a_hundred_lengths():
    f = made("    return F.softmax(x @ x.transpose(0, 1) / x.size(0), -1) @ x")
    g = janus.function(f, verify="never", measure=False)
    for n in range(2, 102):
        args = arguments(n, 3)
        assert close(f(*args), g(*args))
    assert g.stats()["conversions"] <= 3 and g.stats()["graph"] >= 97


PARTS = {"rows": lambda a: a[1:], "columns": lambda a: a[:, 1:], "every other": lambda a: a[:, ::2], "turned": lambda a: a.transpose(0, 1),
         "part turned": lambda a: a[:, 2:].transpose(0, 1), "spread": lambda a: a[:, :1].expand(-1, 5), "as it is": lambda a: a}
TAKEN = {"sum": "x * 2, x.sum(0)", "view": "x.view(-1) + 1", "reshape": "x.reshape(-1) + 1", "product": "x @ x.transpose(0, 1)", "flags": "x.is_contiguous(), x * 1",
         "strides": "x.stride(), x + 1", "copy": "x.clone(), x.contiguous() * 2", "itself": "x, x.transpose(0, 1), x[0]", "swap": "x.transpose(0, 1).contiguous() * 1"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("taken", TAKEN)
def test_parts_of_tensors(part, taken):
    f = made(f"    return {TAKEN[taken]}")
    g = janus.function(f, verify="never", measure=False)
    for n in LENGTHS:
        for wide in (6, n + 3):
            x = PARTS[part](janus.arange(1.0 * (n + 2) * wide).reshape(n + 2, wide))
            assert close(outcome(f, (x, 0, 0, 0, 0, 0)), outcome(g, (x, 0, 0, 0, 0, 0)))
    if taken in ("sum", "product") and part != "spread":
        assert g.stats()["graph"] >= len(LENGTHS)


def test_dims_that_were_equal_by_chance_come_apart():
    g = janus.function(lambda a, b: (a.sum() * b, a.size(0), b.size(0)), verify="never", measure=False)
    for n, k in [(3, 3), (5, 5), (7, 7), (4, 6), (9, 8), (10, 10), (6, 4)]:
        a, b = janus.ones(n), janus.ones(k)
        r = g(a, b)
        assert r[0].tolist() == [float(n)] * k and r[1:] == (n, k)
    assert g.stats()["conversions"] <= 4


def gradients(forward, use, n, create_graph=False):
    janus.manual_seed(n)
    x, v = janus.randn(n, 4, requires_grad=True), janus.eye(4).requires_grad_()
    results = forward(x, v)
    loss = use(results).exp() if create_graph else use(results)
    grads = janus.autograd.grad(loss, [x, v], create_graph=create_graph, allow_unused=True)
    if create_graph:
        grads = [*grads, *janus.autograd.grad(sum(g.pow(2).sum() for g in grads if g is not None), [x, v], allow_unused=True)]
    return [r.detach() for r in results], [g if g is None else g.detach().contiguous() for g in grads]


LEAVES = {
    "one": lambda x, v: (x @ v,),
    "two": lambda x, v: (x @ v, (x * 2).exp().sum(1)),
    "four": lambda x, v: (x @ v, x.sum(0), x.reshape(-1) * 3, (x @ v).softmax(0)),
    "chained": lambda x, v: chained(x @ v),
    "branch": lambda x, v: (x @ v if x.size(0) > 6 else x * v.sum(), x.mean() * x.size(0)),
    "crop": lambda x, v: ((x[:6] @ v), x[1:] - x[:-1]),
}
USES = {"all": lambda r: sum(t.pow(2).sum() for t in r), "first": lambda r: r[0].sum(), "last": lambda r: r[-1].sum(),
        "weighted": lambda r: sum((t * janus.arange(t.numel()).reshape(t.shape)).sum() for t in r)}


def chained(a):
    return a, a * 2, (a * 2).tanh()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_what_leaves(leaves, use, create_graph):
    f = LEAVES[leaves]
    g = janus.function(f, verify="never", measure=False)
    for n in [n for n in LENGTHS if n]:
        assert close(gradients(f, USES[use], n, create_graph), gradients(g, USES[use], n, create_graph))
    if not create_graph and leaves != "crop":
        assert g.stats()["graph"] >= len(LENGTHS) // 2


def test_model_alone():
    batches = [(janus.randint(0, 11, (2 + n % 3, n)),) for n in [5, 9, 4, 12, 30, 7, 6, 17, 8]]
    losses = []
    for decorate in (False, True):
        janus.manual_seed(2)
        model = Attention()
        losses.append(trained(janus.function(model, verify="never", measure=False) if decorate else model, batches, next_word, False)[0])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert model.forward.stats()["conversions"] <= 3


# What programs are made of at random: a and b are tensors, n is a number that came from a size.
STATEMENTS = [
    "a = a * 2 + 1", "a = a[1:]", "a = a[:-1]", "a = a[:, :3]", "a = a[:4]", "a = a.transpose(0, 1)", "a = a.reshape(-1, 2)",
    "a = a.reshape(a.size(0), -1)", "a = a.reshape(-1)", "a = a[None]", "a = a.unsqueeze(-1)", "a = a.squeeze()", "a = a.sum(0)", "a = a.mean(-1)",
    "a = a / a.size(0)", "a = a * len(a)", "a = janus.cat([a, a])", "a = janus.cat([a, a[:1]])", "a = janus.stack([a, a])", "a = a + a.max()",
    "a = a.softmax(0)", "a = a.cumsum(0)", "a = a.flatten()", "n = a.size(0)", "n = a.numel()", "n = n + 1", "n = n // 2", "n = n * 2",
    "n = max(n, 5)", "n = min(n, 5)", "n = n % 3", "a = a[:n]", "a = a[n:]", "a = a[-n:]", "a = a * n", "a = a + n / 3", "a = a if n > 6 else a * 2",
    "b = janus.zeros(n)", "b = janus.arange(n) * 1.0", "b = janus.ones(n, 4)", "b = a", "a = a + b", "a = a * b", "a = b", "a = a.view(-1, 2) * 1",
    "a = a.view(n, -1) * 1", "a = a.expand(n, *a.shape)", "a = a.contiguous()", "a[0] = 1.0", "a[:2] = 0.5", "a += 1", "a = a @ b",
    "a = a.permute(*range(a.dim())[::-1])", "a = a.repeat(2, 1)", "a = a.roll(1, 0)", "a = a.flip(0)", "a = a.narrow(0, 0, 2)",
    "a = a.narrow(0, 1, n)", "a = a.chunk(2)[0]", "a = a.split(2)[0]", "a = F.pad(a, (0, 1))", "a = a.unbind(0)[0]", "a = a[-1]", "a = a[n]",
    "a = a[n - 1]", "a = a.tril()", "a = a.diagonal()", "for t in range(n): a = a * 0.5", "for r in a: b = b + r.sum()",
    "a = janus.stack([r * 2 for r in a])", "a = a.index_select(0, janus.arange(2))", "a = a.gather(0, janus.zeros_like(a).long())",
    "a = a.topk(2, 0).values", "a = a.sort(0).values", "a = janus.where(a > 0, a, b)", "a = a.expand_as(b)",
    "a = F.one_hot(a.abs().long() % 4, 4) * 1.0", "a = a.std(0)", "a = F.layer_norm(a, a.shape[-1:])", "a = a.view(*a.shape[:-1], -1) * 1",
    "a = a.new_zeros(n) if hasattr(a, 'new_zeros') else a", "a = a.movedim(0, -1)", "a = a.argmax(0) * 1.0", "a = a.clone()", "b = a.size(-1) * a",
]


@pytest.mark.parametrize("seed", range(8 if LIGHT else 48))
def test_programs_at_random(seed):
    chance = random.Random(seed)
    for k in range(3):
        lines = [f"    a, b, n = {chance.choice(['x', 'y', 'z', 'm', 'w[:2]'])}, y, x.size(0)"]
        lines += ["    " + chance.choice(STATEMENTS) for _ in range(chance.randint(1, 6))]
        lines.append(chance.choice(["    return a, b, n, a.shape", "    return a * 1, n"]))
        f = made("\n".join(lines))
        g = janus.function(f, verify="never", measure=False)
        for n in [3, 5, 7, 4, 9, 2, 6, 1, 11]:
            want, got = (outcome(h, arguments(n, 12 - n)) for h in (f, g))
            assert close(want, got), "\n".join(lines)


class Layers(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed, self.mix, self.out = nn.Embedding(9, width), nn.Linear(2 * width, width), nn.Linear(width, 9)

    def forward(self, tokens):
        e = self.embed(tokens)
        return self.out(janus.tanh(self.mix(janus.cat([e, e.cumsum(0)], dim=1)))).mean(0)


@pytest.mark.parametrize("widths", [(4, 6), (6, 4), (4, 6, 8), (4, 4)])
def test_models_of_several_sizes(widths):
    """One method, models of other widths in turn, texts of any length: a graph a width, not one a length."""
    models = [Layers(w) for w in widths]
    want, f = Layers.forward, janus.function(Layers.forward, verify="never", measure=False)
    for n in [3, 5, 4, 7, 6, 9, 8, 11, 2, 12, 13, 10, 5, 14]:
        for m in models:
            tokens = janus.arange(n) % 9
            assert janus.allclose(f(m, tokens), want(m, tokens), rtol=1e-5, atol=1e-6)
    stats = f.stats()
    assert stats["conversions"] <= 3 * len(models) and stats["imperative"] <= 4 * len(models), (stats, janus.explain(f))


def test_a_tensor_with_the_same_size_is_not_there():
    """What guards teach where the tensor that a dim is compared with could not be read."""
    f = made("    return x[0] + y[0], 1")
    g = janus.function(f, verify="never", measure=False)

    def args(n, there):
        return [janus.ones(n)] if there else [], [janus.ones(n)], 0, 0, 0, 0
    for n in (5, 6, 7, 8, 9):
        assert close(f(*args(n, True)), g(*args(n, True)))
    assert g.stats()["graph"]
    for n in (4, 5, 9):
        assert outcome(f, args(n, False)) == outcome(g, args(n, False))
