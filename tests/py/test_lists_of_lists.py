# SPDX-License-Identifier: Apache-2.0
"""Lists whose length only the graph knows, one made of another: values and gradients over many lengths, with a bound on
the number of conversions; and recurrent networks of several layers and directions."""
import itertools

import janus
import janus.nn as nn
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


def plain(x, w):
    out = []
    for t in range(len(x)):
        out.append(x[t] @ w)
    return janus.stack(out)


def carried(x, w):
    h, out = janus.zeros(2, 4), []
    for t in range(len(x)):
        h = janus.tanh(x[t] @ w + h)
        out.append(h)
    return janus.stack(out)


def backwards(x, w):
    h, out = janus.zeros(2, 4), []
    for t in reversed(range(len(x))):
        h = (x[t] @ w + h).sigmoid()
        out.append(h)
    return janus.stack(out).flip(0)


def pieces(x, w):
    out = []
    for t in range(len(x)):
        out.append((x[t] @ w).unsqueeze(0))
    return janus.cat(out)


STAGES = {"plain": plain, "carried": carried, "backwards": backwards, "pieces": pieces}
ENDS = {"sum": lambda y, x: y.sum(), "product": lambda y, x: (y * x).mean(), "last": lambda y, x: y[len(y) - 1].pow(2).sum()}


def compare(make, lengths, conversions, verify, graphs=True):
    (f, params), (p, others) = make(lambda f: janus.function(f, verify=verify, measure=False)), make(lambda f: f)
    for n in lengths:
        janus.manual_seed(n)
        x = janus.rand(n, 2, 4) - 0.5
        want, got = p(x), f(x)
        assert got == pytest.approx(want, rel=1e-4, abs=1e-6), n
        for a, b in zip(params, others):
            assert a.grad.reshape(-1).tolist() == pytest.approx(b.grad.reshape(-1).tolist(), rel=1e-3, abs=1e-5), n
    stats = f.stats()
    assert stats["disproved"] == 0
    assert stats["conversions"] <= conversions, janus.explain(f)
    if graphs and verify == "never":
        assert stats["graph"] >= len(lengths) - conversions, janus.explain(f)


@pytest.mark.parametrize("one_weight", [False, True])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("stages", [s for n in (1, 2, 3) for s in itertools.product(STAGES, repeat=n)
                                    if n < 3 or len(set(s)) == 3], ids="-".join)
def test_stages(stages, end, one_weight):
    def make(function):
        janus.manual_seed(0)
        ws = [(janus.rand(4, 4) - 0.5).requires_grad_() for _ in stages]
        ws = [ws[0]] * len(ws) if one_weight else ws

        @function
        def step(x):
            for w in ws:
                w.grad = None
            y = x
            for name, w in zip(stages, ws):
                y = STAGES[name](y, w)
            loss = ENDS[end](y, x)
            loss.backward()
            return loss.item()
        return step, ws
    known = "pieces" not in stages  # where pieces are joined each length has a graph of its own
    compare(make, [3, 4, 5, 7, 6, 9, 4], 3 if known else 9, "never", graphs=known)


LAYERS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("layers,directions", [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("kind", LAYERS)
def test_recurrent_networks(kind, layers, directions, verify):
    def make(function):
        janus.manual_seed(0)
        net = LAYERS[kind](4, 3, layers, bidirectional=directions == 2)
        optimizer = janus.optim.SGD(net.parameters(), lr=0.1)

        @function
        def step(x):
            optimizer.zero_grad()
            loss = net(x)[0].pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.item()
        return step, list(net.parameters())
    compare(make, [3, 4, 5, 7, 6, 9, 4, 12], 3, verify)
