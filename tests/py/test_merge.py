# SPDX-License-Identifier: Apache-2.0
"""janus.merge: models of one architecture, called together, are the models called one after the other."""
import random

import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F


class MLP(nn.Module):
    def __init__(self, act="relu"):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(6, 8), nn.Linear(8, 3), act

    def forward(self, x):
        return self.b(getattr(F, self.act)(self.a(x)))


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.n, self.d = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Linear(4 * 9, 5)

    def forward(self, x):
        return self.d(F.max_pool2d(F.relu(self.n(self.c(x))), 2).flatten(1))


class BatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.n = nn.Linear(6, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return {"y": self.n(self.l(x)), "mean": (self.n.running_mean + 0, 3)}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.n, self.q, self.o = nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        h = self.e(x)
        q, k, v = self.q(self.n(h)).chunk(3, -1)
        return (h + self.o(F.softmax(q @ k.transpose(-1, -2) * 0.3, -1) @ v)).mean(1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.o = nn.LSTMCell(5, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = c = janus.zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            h, c = self.c(x[:, t], (h, c))
        return self.o(h), c


class Tree(nn.Module):
    """A recursion whose depth the data decides."""

    def __init__(self):
        super().__init__()
        self.l, self.o = nn.Linear(4, 4), nn.Linear(4, 2)

    def down(self, x, n):
        if n == 0 or x.abs().sum() < 0.1:
            return x
        return janus.tanh(self.l(self.down(x * 0.5, n - 1)))

    def forward(self, x):
        return self.o(self.down(x, 3))


def ints(*shape):
    return janus.randint(0, 9, shape)


@pytest.fixture(autouse=True)
def graphs_are_not_compared(monkeypatch):
    monkeypatch.setenv("JANUS_VERIFY", "never")


KINDS = {"mlp": (MLP, lambda: janus.randn(5, 6)), "gelu": (lambda: MLP("gelu"), lambda: janus.randn(1, 6)),
         "vector": (MLP, lambda: janus.randn(6)), "conv": (Conv, lambda: janus.randn(2, 2, 6, 6)),
         "batchnorm": (BatchNorm, lambda: janus.randn(4, 6)), "attention": (Attention, lambda: ints(2, 4)),
         "recurrent": (Recurrent, lambda: janus.randn(2, 3, 5)), "tree": (Tree, lambda: janus.randn(4))}


def leaves(y):
    if isinstance(y, dict):
        return [leaf for v in y.values() for leaf in leaves(v)]
    if isinstance(y, (list, tuple)):
        return [leaf for v in y for leaf in leaves(v)]
    return [y]


def close(a, b):
    a, b = leaves(a), leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        if isinstance(x, janus.Tensor):
            assert x.dtype == y.dtype and x.requires_grad == y.requires_grad
            assert janus.allclose(x, y, rtol=1e-4, atol=1e-5), (x, y)
        else:
            assert x == y


def make(kind, n, seed=0):
    janus.manual_seed(seed)
    return [KINDS[kind][0]() for _ in range(n)]


def loss_of(results):
    return sum([y.pow(2).sum() for y in leaves(results) if isinstance(y, janus.Tensor) and y.requires_grad])


def grads(models, results):
    for model in models:
        model.zero_grad()
    loss_of(results).backward()
    return [p.grad if p.grad is None else p.grad.clone() for model in models for p in model.parameters()]


def same_grads(a, b):
    for x, y in zip(a, b):
        assert (x is None) == (y is None)
        assert x is None or janus.allclose(x, y, rtol=1e-3, atol=1e-4), (x, y)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("n", [1, 2, 9])
def test_results_and_gradients_are_those_of_each_model(kind, n):
    models, copies = make(kind, n), make(kind, n)
    merged = janus.merge(models)
    for k in range(4):
        xs = [KINDS[kind][1]() for _ in range(n)]
        given = xs if k % 2 == 0 else xs[0]
        ys = merged(given)
        want = [m(x) for m, x in zip(copies, xs if k % 2 == 0 else [xs[0]] * n)]
        assert isinstance(ys, list)
        close(ys, want)
        same_grads(grads(models, ys), grads(copies, want))
        for a, b in zip(models, copies):
            close(list(a.buffers()), list(b.buffers()))
        with janus.no_grad():
            close(merged(given), [m(x) for m, x in zip(copies, xs if k % 2 == 0 else [xs[0]] * n)])


@pytest.mark.parametrize("kind", ["mlp", "attention", "recurrent", "conv"])
def test_one_subgraph_is_left(kind):
    models = make(kind, 4)
    merged = janus.merge(models)
    with janus.no_grad():
        xs = [KINDS[kind][1]() for _ in range(4)]
        for _ in range(4):
            merged(xs)
    text = merged.graphs()[-1]
    assert text.count("invoke") == 4 and text.count("= linear") <= 2 * (1 + 3 * (kind == "recurrent")), text


OPS = [lambda x, w: janus.tanh(x @ w), lambda x, w: F.relu(x + w), lambda x, w: x * w.sum(0), lambda x, w: (w @ x).t(),
       lambda x, w: F.softmax(x - w, 0), lambda x, w: F.linear(x, w, w[0]), lambda x, w: x.cumsum(0) * w[:, :1],
       lambda x, w: F.layer_norm(x, (4,), w[1], w[2]), lambda x, w: janus.cat([x[:2], w[2:]]), lambda x, w: x.roll(1, 0) + w.max(),
       lambda x, w: janus.einsum("ij,kj->ik", x, w), lambda x, w: janus.where(x > w, x, w * 0.5),
       lambda x, w: x.reshape(2, 8).sum(1, keepdim=True).expand(2, 8).reshape(4, 4) * w, lambda x, w: x.std(1, keepdim=True) + w,
       lambda x, w: F.conv1d(x.unsqueeze(0), w.unsqueeze(2)).squeeze(0), lambda x, w: w[janus.argsort(x[0])],
       lambda x, w: x.index_select(0, (w[0] > 0).long()), lambda x, w: w * 2 if x.sum() > 0 else w - x]


@pytest.mark.parametrize("seed", range(30))
def test_generated_architectures(seed):
    rng = random.Random(seed)
    ops = [rng.choice(OPS) for _ in range(rng.randint(1, 6))]
    n = rng.choice([2, 3, 8, 11])
    tied = rng.random() < 0.3

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.ParameterList([nn.Parameter(janus.randn(4, 4)) for _ in ops])
            if tied:
                self.w[-1] = self.w[0]

        def forward(self, x):
            for op, w in zip(ops, self.w):
                x = op(x, w)
            return x

    janus.manual_seed(seed)
    models = [Net() for _ in range(n)]
    merged = janus.merge(models)
    if rng.random() < 0.3:
        models[1].w[0].requires_grad_(False)
    for k in range(4):
        xs = [janus.randn(4, 4, requires_grad=True) for _ in range(n)]
        one_each = rng.random() < 0.7
        ys, want = merged(xs if one_each else xs[0]), [m(x) for m, x in zip(models, xs if one_each else [xs[0]] * n)]
        close(ys, want)
        got = grads(models, ys), [x.grad for x in xs]
        for x in xs:
            x.grad = None
        same_grads(got[0], grads(models, want))
        same_grads(got[1], [x.grad for x in xs])


def test_training_all_as_one_loop():
    models, copies = make("mlp", 8), make("mlp", 8)
    merged = janus.merge(models)
    opt = janus.optim.Adam([p for m in models for p in m.parameters()], lr=0.01)
    opts = [janus.optim.Adam(m.parameters(), lr=0.01) for m in copies]

    @janus.function
    def step(x, ys):
        opt.zero_grad()
        losses = [F.mse_loss(p, y) for p, y in zip(merged(x), ys)]
        sum(losses).backward()
        opt.step()
        return losses

    for k in range(12):
        x, ys = janus.randn(4, 6), [janus.randn(4, 3) for _ in range(8)]
        got, want = step(x, ys), []
        for m, o, y in zip(copies, opts, ys):
            o.zero_grad()
            want.append(F.mse_loss(m(x), y))
            want[-1].backward()
            o.step()
        close([y.detach() for y in got], [y.detach() for y in want])
    for a, b in zip(models, copies):
        for p, q in zip(a.parameters(), b.parameters()):
            assert janus.allclose(p, q, rtol=1e-3, atol=1e-4)
    assert step.stats()["graph"] >= 8


def test_parameters_changed_between_calls():
    models = make("mlp", 8)
    merged = janus.merge(models)
    x = janus.randn(5, 6)
    for k in range(10):
        with janus.no_grad():
            if k == 3:
                models[2].a.weight.mul_(2)
            if k == 5:
                models[4].b.bias = nn.Parameter(janus.randn(3))
            if k == 6:
                models[1].b.weight.data = janus.randn(3, 8)
            if k == 7:
                models[6].load_state_dict(models[0].state_dict())
            if k == 8:
                models[7] .a = nn.Linear(6, 8)
            close(merged(x), [m(x) for m in models])


def test_a_model_that_goes_another_way():
    """One in training mode, or a condition decided another way, is not like the others."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.scale = nn.Linear(6, 3), None

        def forward(self, x):
            y = self.l(x)
            if self.training:
                y = y * 2
            return y if self.scale is None else y * self.scale

    models = [Net() for _ in range(9)]
    merged = janus.merge(models)
    x = janus.randn(2, 6)
    for k in range(8):
        if k == 3:
            models[5].eval()
        if k == 5:
            models[0].scale = 3
        close(merged(x), [m(x) for m in models])


def test_random_numbers_effects_and_exceptions(capsys):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.calls = nn.Linear(6, 3), 0

        def forward(self, x, scale=1.0):
            self.calls += 1
            if scale < 0:
                raise KeyError(self.calls)
            print("called", self.calls)
            return F.dropout(self.l(x) * scale, 0.5, True)

    janus.manual_seed(0)
    models = [Net() for _ in range(8)]
    merged = janus.merge(models)
    x = janus.randn(4, 6)
    for k in range(5):
        janus.manual_seed(k)
        got = merged(x, scale=2.0)
        said = capsys.readouterr().out
        janus.manual_seed(k)
        want = [m(x, scale=2.0) for m in models]
        assert said == f"called {2 * k + 1}\n" * 8 and capsys.readouterr().out == f"called {2 * k + 2}\n" * 8
        close(got, want)
    with pytest.raises(KeyError, match="11"):
        merged(x, scale=-1.0)
    assert [m.calls for m in models] == [11] + [10] * 7


def test_functions_and_what_they_close_over():
    def of(w):
        def f(x, y):
            return {"a": x @ w, "b": [y, janus.tanh(x).sum()]}
        return f

    ws = [janus.randn(6, 3, requires_grad=True) for _ in range(8)]
    fs = [of(w) for w in ws]
    merged = janus.merge(fs)
    for k in range(4):
        x = janus.randn(2, 6)
        close(merged(x, tuple(range(8))), [f(x, tuple(range(8))) for f in fs])
        close(merged(x, list(range(8))), [f(x, i) for i, f in enumerate(fs)])


def test_inside_another_function_and_nested():
    models, others = make("mlp", 8), make("mlp", 8, seed=1)
    inner, outer = janus.merge(models), janus.merge(others)

    @janus.function
    def f(x):
        return outer([F.pad(y, (0, 3)) for y in inner(x)])

    for k in range(4):
        x = janus.randn(2, 6)
        close(f(x), [b(F.pad(a(x), (0, 3))) for a, b in zip(models, others)])
    assert f.stats()["graph"] >= 2


def test_errors():
    wider = MLP()
    wider.a = nn.Linear(6, 8, bias=False)
    a, b = nn.Linear(4, 3), nn.Linear(4, 3)
    with pytest.raises(ValueError, match=r"a.bias is None in models\[1\] and a tensor of .* in models\[0\]"):
        janus.merge([MLP(), wider])
    with pytest.raises(ValueError, match=r"weight is a tensor of janus.float32 and shape \(3, 5\) in models\[2\]"):
        janus.merge([a, b, nn.Linear(5, 3)])
    with pytest.raises(ValueError, match=r"the model is .*Linear.* in models\[1\]"):
        janus.merge([MLP(), a])
    with pytest.raises(ValueError, match=r"act is 'gelu' in models\[1\] and 'relu' in models\[0\]"):
        janus.merge([MLP(), MLP("gelu")])
    with pytest.raises(ValueError, match=r"models\[1\] has 1, which models\[0\] has not"):
        janus.merge([nn.Sequential(a), nn.Sequential(b, nn.ReLU())])
    with pytest.raises(ValueError, match=r"whose code is another"):
        janus.merge([lambda x: x + 1, lambda x: x * 2])
    with pytest.raises(ValueError, match=r"models\[1\] is"):
        janus.merge([a, lambda x: x])
    with pytest.raises(ValueError, match="at least one"):
        janus.merge([])
    with pytest.raises(TypeError, match=r"janus.merge: expected a Module or a function as models\[1\], got "):
        janus.merge([a, 3])
    with pytest.raises(ValueError, match="a list of 3, expected an item for each of 2"):
        janus.merge([a, b])([1, 2, 3])
    assert len(janus.merge(iter([a, b]))) == 2 and "2 x Linear" in repr(janus.merge([a, b]))


@pytest.mark.parametrize("f", [lambda m, x: x, lambda m, x: (m(x),) * 2, lambda m, x: (m(x), m.weight), lambda m, x: m(x).t(),
                               lambda m, x: (lambda y: (y, y.view(-1)))(m(x)), lambda m, x: m(x).chunk(3, -1)])
def test_names_of_results(f):
    """What a model returns may be its argument, a parameter, or have two names, as it may without merge."""
    models = [nn.Linear(6, 3) for _ in range(8)]
    merged = janus.merge([lambda x, m=m: f(m, x) for m in models])
    for _ in range(4):
        x = janus.randn(2, 6)
        got, want = merged(x), [f(m, x) for m in models]
        close(got, want)
        got, want = leaves(got) + [x], leaves(want) + [x]
        assert [[a is b for b in got] for a in got] == [[a is b for b in want] for a in want]
        with janus.no_grad():
            for y in (got, want):
                if y[0] is not x and y[0]._base is None:
                    y[0].detach().zero_()
        close(got[:-1], want[:-1])


def test_tools_take_what_merge_made(tmp_path, capsys):
    """explain, dump, stats, graphs, clear and check of merged models are those of a function."""
    models = [MLP() for _ in range(3)]
    f = janus.merge(models)
    x = janus.randn(2, 6)
    for _ in range(4):
        f(x)
    assert f.stats()["calls"] == 4 and f.stats()["graph"] == 3
    text = janus.explain(f)
    assert "4 calls, 3 as graphs" in text and "self.b(" in text
    janus.dump(f, tmp_path / "merged.html")
    janus.dump(f, tmp_path / "merged.jir")
    assert (tmp_path / "merged.jir").read_text() == f.graphs()[0]
    janus.check(f, x)
    f.clear()
    assert not f.graphs()
    with pytest.raises(TypeError):
        janus.explain(models[0])
    with pytest.raises(TypeError):
        janus.explain(3)


@pytest.mark.parametrize("given", [MLP(), lambda x: x, {"a": MLP(), "b": MLP()}, "ab", None, 3], ids=lambda g: type(g).__name__)
def test_what_is_no_list_of_models_is_said_to_be_none(given):
    with pytest.raises(TypeError, match=f"expected a list of models, got {type(given).__name__}"):
        janus.merge(given)


def test_any_iterable_of_models_is_taken_and_explain_calls_them_by_their_class():
    for models in ([MLP(), MLP()], (MLP(), MLP()), iter([MLP(), MLP()]), nn.ModuleList([MLP(), MLP()])):
        merged = janus.merge(models)
        assert len(merged) == 2 and str(janus.explain(merged)).startswith("Merged(2 x MLP)")
