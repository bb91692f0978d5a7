# SPDX-License-Identifier: Apache-2.0
"""Trace graphs of backward(): histories that come again, fork, change in the middle, are watched, fail."""
import gc
import random
import threading
import weakref

import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F
from compared import close

# The first time a history is remembered, the second it gets a graph, from the third on it is followed.
TIMES = 5


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setenv("JANUS_AT_ONCE", "1")


def coexecuted(f):
    return janus.function(f, ladder=("coexecution",))


def traced(f):
    return f.stats()["traced"]


def compare(step, make, times=TIMES):
    """step(*make(seed)) gives tensors: equal to what the undecorated step gives, each time.  Nodes that ran in graphs."""
    f = coexecuted(step)
    for seed in range(times):
        want, got = step(*make(seed)), f(*make(seed))
        assert len(want) == len(got)
        for i, (w, g) in enumerate(zip(want, got)):
            assert close(w, g), f"time {seed}, result {i}: {w} undecorated, {g} co-executed"
    return traced(f)


UNARY = [janus.tanh, janus.sigmoid, janus.relu, lambda x: x * 1.5, lambda x: 0.3 - x, lambda x: x ** 2, janus.exp,
         lambda x: F.softmax(x, dim=-1), lambda x: x.transpose(0, 1).contiguous().transpose(0, 1), lambda x: x.clone(),
         lambda x: x.reshape(-1).reshape(4, 4), lambda x: F.layer_norm(x, (4,)), lambda x: x[1:3].repeat(2, 1),
         lambda x: janus.cat([x[:, 2:], x[:, :2]], dim=1), lambda x: x.flip(0), lambda x: janus.where(x > 0, x, x * 0.1),
         lambda x: x / (x.abs() + 1), lambda x: x - x.mean(dim=0), lambda x: x.max(dim=1, keepdim=True)[0] + x,
         lambda x: x[0] + x, lambda x: x[:, 1:2] * x, lambda x: x[None][0], lambda x: x.cumsum(0) * 0.5,
         lambda x: janus.cat([c * (i + 1) for i, c in enumerate(x.chunk(2, dim=1))], dim=1),
         lambda x: x[:2].repeat(2, 1) * x[2:].repeat(2, 1) + x[:, 3:4], lambda x: x + x[1:3][1][2:4].sum(),
         lambda x: x.clamp(-1, 1), lambda x: janus.log(x * x + 1), lambda x: janus.stack(list(x.unbind(0)))]
BINARY = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a @ b, lambda a, b: a / (b * b + 1),
          janus.maximum, lambda a, b: a.matmul(b.t()), lambda a, b: F.linear(a, b)]


def program(rng):
    """A random program over a 4x4 tensor, two weights, a bias and a table; every choice is made here."""
    plan = []
    for k in range(rng.randrange(3, 14)):
        plan.append(rng.choice([("unary", rng.randrange(len(UNARY)), -1 - rng.randrange(2)),
                                ("binary", rng.randrange(len(BINARY)), rng.randrange(k + 1)),
                                ("weight", rng.randrange(2), 0), ("row", rng.randrange(4), 0), ("table", rng.randrange(5), 0)]))

    def step(x, w, v, b, table):
        values = [x]
        for kind, which, other in plan:
            last = values[-1]
            if kind == "unary":
                y = UNARY[which](values[max(other, -len(values))])
            elif kind == "binary":
                y = BINARY[which](last, values[other])
            elif kind == "weight":
                y = janus.tanh(last @ (w, v)[which] + b)
            elif kind == "row":
                y = last * w[which]
            else:
                y = last + F.embedding(janus.tensor([which, 0, which, 3]), table)
            values.append(janus.tanh(y))
        loss = sum((y * y).mean() for y in values[-3:])
        loss.backward()
        return [loss.detach()] + [t.grad for t in (x, w, v, b, table)]

    return step


def inputs(seed):
    generator = janus.Generator()  # of its own: threads make inputs, too
    generator.manual_seed(seed)
    shapes = ((4, 4), (4, 4), (4, 4), (4,), (5, 4))
    return [janus.randn(*s, generator=generator).requires_grad_() for s in shapes]


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed):
    compare(program(random.Random(seed)), inputs)


def test_random_programs_are_traced():
    assert sum(compare(program(random.Random(seed)), inputs) for seed in range(20)) > 500


@pytest.mark.parametrize("seed", range(6))
def test_histories_that_end_alike(seed):
    """Loops of more lengths than are looked for at once, in any order, with and without ops of no history in between."""
    rng = random.Random(seed)
    turns = [(rng.randrange(1, 12), rng.randrange(3), rng.random() < 0.3) for _ in range(60)]

    def step(x, w, v, b, table):
        grads = []
        for length, aside, twice in turns:
            for k in range(aside):
                w.detach() * k, (v * 2.0).tanh()
            h = x
            for _ in range(length):
                h = janus.tanh(h @ w + b)
            loss = (h @ v).mean()
            loss.backward(retain_graph=twice)
            if twice:
                loss.backward()
            grads += [loss.detach()] + [t.grad.clone() for t in (x, w, v, b)]
            x.grad = w.grad = v.grad = b.grad = None
        return grads

    assert compare(step, inputs, 3) > 500


def test_fork_and_divergence():
    """One function, several ways through it: in the beginning, the middle and the end of the history."""

    def step(x, w, v, b, table, way):
        h = janus.tanh(x @ w + b)
        if way & 1:
            h = janus.sigmoid(h * 2.0)
        h = h @ v
        if way & 2:
            h = h + h[1]
        if way & 4:
            h = h * w
        loss = h.sum() if way & 8 else (h * h).mean()
        loss.backward()
        return [loss.detach()] + [t.grad for t in (x, w, v, b)]

    order = random.Random(3)
    ways = [order.randrange(16) for _ in range(80)]
    assert compare(step, lambda seed: inputs(seed) + [ways[seed]], 80) > 200


def test_numbers_vary_without_new_graphs():
    def step(x, w, v, b, table, scale, power):
        loss = ((x * scale + w / scale) ** power).tanh().sum() * (scale + 1)
        loss.backward()
        return [loss.detach(), x.grad, w.grad]

    f_nodes = compare(step, lambda seed: inputs(seed) + [0.5 + seed, 2.0], 8)
    assert f_nodes >= 6 * 5  # all but the first times
    assert compare(step, lambda seed: inputs(seed) + [0.5, 2 + seed % 2], 8) > 0


def test_shapes_change():
    def step(n):
        w = janus.full((3, n), 0.1, requires_grad=True)
        loss = janus.tanh(w * janus.arange(float(n))).sum() + (w @ w.t()).mean()
        loss.backward()
        return [loss.detach(), w.grad]

    assert compare(step, lambda seed: [1 + seed % 3], 15) > 0


def test_gradients_add_up():
    def step(x, w, v, b, table):
        for _ in range(4):
            (janus.tanh(x @ w + b) * v[2]).sum().backward()
        first = w.grad
        (janus.tanh(x @ w + b) * v[2]).sum().backward()
        assert w.grad is first
        return [x.grad, w.grad, v.grad, b.grad]

    assert compare(step, inputs) > 0


def test_same_tensor_in_two_places():
    def step(x, w, v, b, table, same):
        other = w if same else v
        loss = (janus.tanh(x @ w) @ other).mean()
        loss.backward()
        return [x.grad, w.grad, v.grad]

    compare(step, lambda seed: inputs(seed) + [seed % 3 == 0], 12)


def test_retained_and_used_up():
    def step(x, w):
        loss = (janus.tanh(x @ w) * w).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        return [x.grad, w.grad]

    assert compare(step, lambda seed: inputs(seed)[:2]) > 0


def test_overwritten_values_are_seen():
    def step(x, w, overwrite):
        h = x * w
        y = (h.tanh() * h).sum()
        if overwrite:
            with janus.no_grad():
                w.mul_(2.0)
            with pytest.raises(RuntimeError, match="modified"):
                y.backward()
            return [x.grad]
        y.backward()
        return [x.grad, w.grad]

    compare(step, lambda seed: inputs(seed)[:2] + [seed in (3, 5)], 8)


def test_hooks_and_watched_values():
    def step(x, w, watch):
        seen = []
        h = janus.tanh(x @ w)
        if watch == 1:
            h.register_hook(lambda g: seen.append(g.clone()))
        elif watch == 2:
            h.register_hook(lambda g: g * 2)
        elif watch == 3:
            h.retain_grad()
        elif watch == 4:
            w.register_hook(lambda g: seen.append(g.clone()))
        (h * w).sum().backward()
        return [x.grad, w.grad, h.grad] + seen

    compare(step, lambda seed: inputs(seed)[:2] + [seed % 5 if seed > 2 else 0], 18)


def test_functions_of_the_program_in_the_middle():
    class Twice(janus.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + 0 * x

    def step(x, w):
        h = janus.tanh(x @ w + 1) * w
        h = Twice.apply(h)
        (janus.tanh(h @ w) * h + 1).mean().backward()
        return [x.grad, w.grad]

    assert compare(step, lambda seed: inputs(seed)[:2]) > 0


def test_writes_in_place():
    def step(x, w):
        h = janus.tanh(x @ w) * 1
        h[1] = w[0] * 2
        h.add_(1.0)
        h[:, 2:].mul_(0.5)
        (h * w).sum().backward()
        return [x.grad, w.grad]

    compare(step, lambda seed: inputs(seed)[:2])


def test_seeds_and_several_roots():
    def step(x, w, seed):
        h = janus.tanh(x @ w)
        h.backward(janus.full((4, 4), 0.5 + seed))
        a, b = janus.tanh(x @ w) * w, (x * x) @ w
        g = janus.autograd.grad([a.sum(), b.mean()], [x, w])
        return [x.grad, w.grad, *g]

    assert compare(step, lambda seed: inputs(seed)[:2] + [seed]) > 0


def test_created_graphs():
    def step(x, w):
        (g,) = janus.autograd.grad((janus.tanh(x @ w) ** 2).sum(), x, create_graph=True)
        ((g * g).sum() + janus.tanh(w).sum()).backward()
        return [x.grad, w.grad]

    compare(step, lambda seed: inputs(seed)[:2])


def test_exact_numerics_have_none():
    def step(x, w):
        (janus.tanh(x @ w) * w).sum().backward()
        return [x.grad, w.grad]

    f = janus.function(step, ladder=("coexecution",), numerics="exact")
    for seed in range(TIMES):
        want, got = step(*inputs(seed)[:2]), f(*inputs(seed)[:2])
        assert all(janus.equal(w, g) for w, g in zip(want, got))
    assert traced(f) == 0


def test_optimizers_and_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Embedding(6, 8)
            self.lstm = nn.LSTMCell(8, 8)
            self.out = nn.Linear(8, 3)

        def forward(self, words):
            h = c = janus.zeros(1, 8)
            for i in range(words.shape[0]):
                h, c = self.lstm(self.rows(words[i:i + 1]), (h, c))
            return self.out(h)

    def train(decorate):
        janus.manual_seed(5)
        net = Net()
        optimizer = janus.optim.Adam(net.parameters(), lr=0.05)

        def step(words, target):
            loss = F.cross_entropy(net(words), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        step = decorate(step)
        losses = [step(janus.tensor([k % 5, 3, 1][: 2 + k % 2]), janus.tensor([k % 3])) for k in range(30)]
        return losses, [p.detach().clone() for p in net.parameters()], step

    want, wp, _ = train(lambda f: f)
    got, gp, f = train(coexecuted)
    assert want == pytest.approx(got, rel=1e-3, abs=1e-4) and traced(f) > 500
    assert all(janus.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(wp, gp))


def test_an_exception_in_the_middle():
    def step(x, w, bad):
        (janus.tanh(x @ w) * w).sum().backward()
        h = janus.tanh(x @ w) * x
        if bad:
            h @ janus.ones(3, 3)
        h.sum().backward()
        return [x.grad, w.grad]

    f = coexecuted(step)
    for seed in range(8):
        a, b = inputs(seed)[:2], inputs(seed)[:2]
        if seed in (3, 6):
            for g, args in ((step, a), (f, b)):
                with pytest.raises(RuntimeError):
                    g(*args, True)
        else:
            step(*a, False), f(*b, False)
        assert all(close(p.grad, q.grad) for p, q in zip(a, b))
    assert traced(f) > 0


def test_what_is_saved_is_given_up():
    class Watched:
        pass

    def step(x, w):
        h = janus.tanh(x @ w)
        h.mark = Watched()
        loss = (h * h).sum()
        loss.backward()
        return weakref.ref(h.mark)

    f = coexecuted(step)
    for seed in range(TIMES):
        dead = f(*inputs(seed)[:2])
        gc.collect()
        assert dead() is None


def test_threads():
    def step(x, w, v, b, table, k):
        h = x
        for _ in range(k):
            h = janus.tanh(h @ w + b) * v[k % 4]
        h.sum().backward()
        return [t.grad for t in (x, w, v, b)]

    f, wrong = coexecuted(step), []

    def run(first):
        for seed in range(first, first + 60):
            args = [seed % 3 + 1]
            want, got = step(*inputs(seed), *args), f(*inputs(seed), *args)
            if not all(close(a, b) for a, b in zip(want, got)):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(1000 * i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_large_work_lets_go_of_the_lock():
    """Many products in one graph: another thread goes on meanwhile, and uses up a history of its own."""

    def step(x, w):
        h = x
        for _ in range(12):
            h = janus.tanh(h @ w)
        h.sum().backward()
        return [x.grad, w.grad]

    def make(seed):
        generator = janus.Generator()
        generator.manual_seed(seed)
        return [janus.randn(128, 128, generator=generator).mul(0.1).requires_grad_() for _ in range(2)]

    results = []
    thread = threading.Thread(target=lambda: results.append(compare(program(random.Random(1)), inputs, 30)))
    thread.start()
    assert compare(step, make) > 0
    thread.join()
    assert results


def test_a_block_of_deferred_has_them_too(monkeypatch):
    monkeypatch.delenv("JANUS_AT_ONCE")

    def step(x, w):
        (janus.tanh(x @ w) * w[1]).sum().backward()
        return [x.grad, w.grad]

    with janus.deferred() as block:
        for seed in range(TIMES):
            got, want = step(*inputs(seed)[:2]), inputs(seed)[:2]
            assert all(close(a, b) for a, b in zip(got, step(*want)))
    assert block.stats()["traced"] > 0
