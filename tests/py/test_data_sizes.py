# SPDX-License-Identifier: Apache-2.0
"""Sizes that data decides: masks, nonzero(), parts of tensors up to a number that the graph computes; as CPython has them, 0 and 1
included, and with one graph for all of them."""

import random

import pytest

import janus
import janus.nn.functional as F
from compared import close
from shares import LIGHT
from texts import names_of


# Expressions of a tensor x of 6 rows and 4 columns, and of n, how many of its first column are above zero.
EXPRESSIONS = {
    "mask": "x[x > 0]", "rows of a mask": "x[x[:, 0] > 0] * 2", "columns of a mask": "x[:, x[0] > 0]", "mask and column": "x[x[:, 0] > 0, 1]",
    "bytes": "x[(x > 0).to(janus.uint8)]", "masked_select": "janus.masked_select(x, x > 0.3)", "nonzero": "(x > 0).nonzero(), x.nonzero()",
    "as a tuple": "(x > 0).nonzero(as_tuple=True)", "how many": "(x > 0).nonzero().shape[0], len(x[x > 0]), x[x > 0].numel()",
    "first": "x[:n] * 2", "rest": "x[n:] * 2", "last": "x[-n:] * 2" , "columns": "x[:, :n]", "between": "x[n // 2:n] + 1", "window": "x[:5][n - n:n - n + 2] * 2",
    "window of a number": "janus.cat([x, x])[n:n + 3] * 2, janus.cat([x, x])[n:3 + n] * 1", "made": "janus.zeros(n, 3) + 1, janus.ones(2, n), janus.full((n,), 2.0), janus.arange(n)",
    "part and made": "x[:n] + janus.arange(n).unsqueeze(1), x[:n] * janus.ones(n, 4)", "two parts": "x[:n] * (x + 1)[:n], x[n:] * (x + 1)[n:]",
    "twice": "x[x > 0] * x[x > 0]", "sum": "x[x > 0].sum(), x[:n].mean(0)", "product": "x[:n] @ x.t(), x[:n].t() @ x[:n]",
    "softmax": "F.softmax(x[:n], 1), F.log_softmax(x[:n], 0)", "cat": "janus.cat([x[:n], x]), janus.stack([x[:n], x[:n]])",
    "index_add": "janus.zeros(6, 4).index_add(0, (x[:, 0] > 0).nonzero().squeeze(1), x[x[:, 0] > 0])", "embedding": "F.embedding((x[:, 0] > 0).nonzero().squeeze(1), x)",
    "turned": "x.t()[:, :n].contiguous(), x[:n].t()", "layout": "x[:n].is_contiguous(), x[:, :n].is_contiguous(), x[:, :n].stride(), x[:, :n].contiguous()",
    "squeezed": "x[:n].squeeze(), x[:n, :1].squeeze(1), x[:n].unsqueeze(0).squeeze()", "flat": "x[:n].reshape(-1), x[:n].reshape(-1, 2), x[:n].flatten()",
    "viewed": "x[:n].view(n, 2, 2), x[:n].view(2 * n, -1)", "greatest": "x[:n].max()", "along": "x[:n].max(0)[0], x[:n].argmax(0)", "expanded": "x[0].expand(n, 4) * 1",
    "sorted": "x[:n].sort(0)[0], x[:n].topk(1, 0)[0]", "where": "janus.where(x[:n] > 0, x[:n], x[:n] * 0.1)", "norm": "F.layer_norm(x[:n], (4,)), F.batch_norm(x[:n], None, None, training=True)",
    "loss": "F.mse_loss(x[:n], x[:n] * 2), F.cross_entropy(x[:n], janus.zeros(n, dtype=janus.int64))", "std": "x[:n].std(0), x[:n].var(1)", "cumsum": "x[:n].cumsum(0)",
    "decided": "(x[:n] * 2 if n > 2 else x * 3), n == 0, n > 1", "rounds": "[i * 1.0 for i in range(3) if i < n], sum([x[i].sum() for i in range(n)])", "outer": "x[:n, 0].unsqueeze(1) * x[:n, 1]",
    "power": "x.abs() ** n, x * n, x + n, janus.full_like(x, n)", "limit": "x.clamp(max=n)", "chosen": "x[n - 1], x[:, n % 4]",
}
BODIES = {
    "written": "    y = x.clone()\n    y[y > 0] = y[y > 0] * 3\n    return y",
    "filled": "    y = x.clone()\n    y[y > 0] = 5.0\n    y[x[:, 0] > 0] = x[0]\n    return y",
    "gradient": "    w = x.clone().requires_grad_()\n    (w[w > 0] ** 2).sum().backward()\n    return w.grad",
    "gradient of a part": "    w = x.clone().requires_grad_()\n    n = int((x[:, 0] > 0).sum())\n    (w[:n] ** 2 @ w[:n].t()).sum().backward()\n    return w.grad",
    "none": "    t = (x[:, 0] > 0).nonzero().squeeze(1)\n    if t.numel() == 0:\n        return x.sum(0)\n    return x[t].mean(0)",
    "routed": "    out, load = janus.zeros_like(x), []\n    for e in range(3):\n        row, = (x.argmax(1) == e).nonzero(as_tuple=True)\n        load.append(row.numel())\n"
              "        if row.numel() == 0:\n            continue\n        out = out.index_add(0, row, x[row] * (e + 2))\n    return out, load",
    "in place": "    n = int((x[:, 0] > 0).sum())\n    y = x.clone()\n    y[:n] += 1\n    y[:n].mul_(2)\n    return y",
    "again": "    y = x\n    for _ in range(2):\n        y = y[y[:, 0] > y[:, 0].mean()] * 1.5\n    return y",
}
PLAIN = {"sorted", "norm", "squeezed", "viewed", "greatest", "along", "layout", "chosen", "std", "last", "rounds", "again", "in place", "loss", "turned", "columns", "flat", "decided", "limit"}  # may need more graphs than one


def inputs():
    """So many of the first column are above zero: 0 to 6."""
    for seed, n in enumerate([3, 2, 4, 0, 6, 1, 5, 3, 1, 0, 2]):
        janus.manual_seed(seed)
        x = janus.randn(6, 4)
        x[:, 0] = x[:, 0].abs() * janus.tensor([1.0 if i < n else -1.0 for i in range(6)])[janus.randperm(6)]
        yield x if seed != 3 else -x.abs()


def outcome(f, x):
    try:
        return f(x)
    except Exception as e:
        return type(e), str(e).split("\n")[0]


def made(body):
    text = f"def f(x):\n{body}\n"
    return names_of(text, janus=janus, F=F)["f"]


def compared(f, **options):
    g = janus.function(f, measure=False, **options)
    for x in inputs():
        kept = x.clone()
        want, got = outcome(f, x), outcome(g, x)
        assert close(want, got), (kept, want, got, str(janus.explain(g)))
        assert janus.equal(x, kept)
    return g.stats()


ALL = {**{k: f"    n = int((x[:, 0] > 0).sum())\n    return {v}" for k, v in EXPRESSIONS.items()}, **BODIES}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("verify", ["never", "rarely"])
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_program(name, verify):
    stats = compared(made(ALL[name]), verify=verify)
    assert stats["disproved"] == 0
    if name not in PLAIN:
        assert stats["graph"] >= 8 and stats["conversions"] <= 2, stats


@pytest.mark.parametrize("name", list(ALL)[::3])
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_exact(name):
    compared(made(ALL[name]), numerics="exact", verify="never")


# Statements on rows r of x, their first column s, which rows they are t, and a sum.
STATEMENTS = (
    "r = r * 2 + 1", "r = r @ x[:4]", "r = F.relu(r)", "s = r.sum(1)", "s = r.mean(1)", "r = r + s.unsqueeze(1)", "r, t, s = r[s > 0], t[s > 0], s[s > 0]",
    "total = total + r.sum()", "total = total + s.sum() * t.numel()", "x = x.index_add(0, t, r)", "m = t.numel() // 2\n    r, t, s = r[:m], t[:m], s[:m]",
    "m = t.numel() // 2\n    r, t, s = r[m:], t[m:], s[m:]", "y = x.clone()\n    y[t] = r\n    x = y", "s = F.softmax(s, 0)", "r = r * janus.arange(len(t)).unsqueeze(1)",
    "r, t, s = r[:1], t[:1], s[:1]", "r, t, s = janus.cat([r, r]), janus.cat([t, t]), janus.cat([s, s])", "total = total + r.reshape(-1).mean()", "r = r.t().contiguous().t()",
    "if len(t) > 1:\n        r = r * 3", "if t.numel() == 0:\n        total = total + 1", "total = total + (r @ r.t()).sum()", "r = r - x[t]", "x = janus.where(x > total, x * 0.5, x)",
    "r.mul_(2)", "total = total + r.squeeze().sum()", "for i in range(len(t)):\n        total = total + s[i]", "r = F.layer_norm(r, (4,))", "s = s.clamp(max=0.5)", "s = (r * x[t]).sum(1)",
    "s = s[janus.arange(len(t)).flip(0)]", "r = r.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)", "s = r.max(1)[0]", "total = total + s.max()",
)


@pytest.mark.parametrize("share", range(4 if LIGHT else 20))
@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
def test_programs_at_random(share):
    for seed in range(share * 10, share * 10 + 10):
        chance = random.Random(seed)
        lines = ["    total = x.sum() * 0", "    t = (x[:, 0] > 0).nonzero().squeeze(1)", "    r = x[t]", "    s = r[:, 0]"]
        if seed % 3 == 0:
            lines[0:0] = ["    leaf = x = x.clone().requires_grad_()"]
        lines += ["    " + chance.choice(STATEMENTS) for _ in range(chance.randint(2, 7))]
        if seed % 3 == 0:
            lines += ["    (total + r.sum() + s.sum()).backward()", "    return r.detach(), s.detach(), t, x.detach(), leaf.grad"]
        else:
            lines += ["    return r, s, t, x, total"]
        f = made("\n".join(lines))
        stats = compared(f, verify=("never", "rarely")[seed % 2], numerics="exact" if seed % 5 == 4 else "fast")
        assert stats["disproved"] == 0, "\n".join(lines)
