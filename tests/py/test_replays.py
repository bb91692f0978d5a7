# SPDX-License-Identifier: Apache-2.0
"""Small graphs that decide nothing make the calls of an earlier run again (exec/run/again.c): whatever lies where, and
whatever comes in between, results are those of the program, and what earlier calls gave stays as it is."""
import random
import threading

import janus
import pytest
from janus import nn


def values(*shape, start=0):
    n = 1
    for d in shape:
        n *= d
    return ((janus.arange(n) + start) % 7 * 0.25 - 0.5).reshape(*shape)


W, B, TABLE = values(4, 4), values(4), values(5, 4)
ROW = janus.tensor([1.0, -2.0, 3.0, 0.5])


def cell(x):
    return janus.tanh(x @ W + B)


def layers(x, y):
    return cell(cell(x)) + cell(y)


def products(x, y):
    return x @ W, y @ W.t(), (x * y).sum(1)


def joined(x, y):
    return janus.cat([cell(x), cell(y)], 0)[1:], janus.stack([x, y])


def views(x, y):
    return x[:, 1:] * y[:, :-1], x.t().sum(0), y.reshape(-1)[::2] + 1


def numbers(x, y, k=2):
    return x * k + y / (k + 1), x.sum() - k


def given(x, y):
    return x, [y, x + y], None, 3


def same_place(x, y):
    return x + 1, y * 2, x


def looked_up(x, y):
    i = (y.sum(1) * 0).long()
    return TABLE[i] + x, nn.functional.embedding(i + 1, TABLE)


def norms(x, y):
    return nn.functional.layer_norm(x, (4,)), janus.softmax(y, 1), nn.functional.gelu(x + y)


def loops(x, y):
    for n in range(3):
        x = x * 0.5 + (y if n % 2 else ROW)
    return x


def sums(n, x):
    return x if n == 0 else sums(n - 1, x * 0.5) + sums(n - 1, x + ROW)


def recursive(x, y):
    return sums(3, x) - y


PROGRAMS = [layers, products, joined, views, numbers, given, same_place, looked_up, norms, loops, recursive]


def fresh(k):
    return values(2, 4, start=k), values(2, 4, start=3 * k)


def one_tensor(k):
    x = values(2, 4, start=k)
    return x, x


def of_one_block(k):
    both = values(4, 4, start=k)
    return both[:2], both[2:]


def of_one_block_turned(k):
    both = values(4, 4, start=k)
    return both[2:], both[:2]


def overlapping(k):
    rows = values(3, 4, start=k)
    return rows[:2], rows[1:]


def turned(k):
    return values(4, 2, start=k).t(), values(2, 4)


def spread(k):
    return values(1, 4, start=k).expand(2, 4), values(2, 4)


def longer(k):
    return values(3, 4, start=k), values(3, 4)


def weights(k):
    return W[:2], W[1:3]


def of_another_kind(k):
    return values(2, 4).double(), values(2, 4, start=k).double()


ARGUMENTS = [fresh, one_tensor, of_one_block, of_one_block_turned, overlapping, turned, spread, longer, weights, of_another_kind]


def plain(v):
    if isinstance(v, janus.Tensor):
        return [str(v.dtype), list(v.shape), v.tolist()]
    return [plain(x) for x in v] if isinstance(v, (list, tuple)) else v


def alike(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 1e-5 * max(1.0, abs(b)) if isinstance(a, float) and isinstance(b, float) else a == b


def called(f, args):
    try:
        with janus.no_grad():
            return f(*args)
    except (RuntimeError, TypeError, IndexError, ValueError) as e:
        return type(e).__name__


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_whatever_lies_where(program, numerics):
    f = janus.function(program, verify="never", measure=False, numerics=numerics)
    rng, kept, before = random.Random(program.__name__), [], janus._C._replays()
    for k in range(10):
        kept.append((called(f, fresh(k)), called(program, fresh(k))))
    assert janus._C._replays() > before
    for k in range(60):
        make = rng.choice(ARGUMENTS) if k % 3 == 0 else fresh
        args = make(k)
        got, expected = called(f, args), called(program, args)
        assert alike(plain(got), plain(expected)), (k, make.__name__)
        if isinstance(got, (list, tuple)):  # the same objects where the program gives its arguments
            assert [any(a is v for a in args) for v in got] == [any(a is v for a in args) for v in expected]
        kept.append((got, expected))
    assert all(alike(plain(got), plain(expected)) for got, expected in kept)


def test_other_numbers_are_seen():
    f = janus.function(numbers, verify="never", measure=False)
    for k in [2] * 8 + [3, 2, 2.5, 2, True, 4, 4, 4, 4, 4, 4, 4, 2, 2]:
        args = *fresh(1), k
        assert alike(plain(called(f, args)), plain(called(numbers, args))), k


def chained(x, y):
    return (x * 2 + y).tanh().exp() - x, (x - y).abs().sqrt().mean()


def test_chains_are_made_again():
    f = janus.function(chained, verify="never", measure=False)
    before = janus._C._replays()
    for k in range(12):
        args = values(80, 50, start=k), values(80, 50, start=2 * k)
        assert alike(plain(called(f, args)), plain(called(chained, args))), k
    assert janus._C._replays() > before


def test_errors_of_kernels_are_raised_and_nothing_is_left():
    def row(i):
        return TABLE[i] * 2

    f = janus.function(row, verify="never", measure=False)
    for k in range(20):
        i = janus.tensor([k % 5, 1 if k % 4 else 9, 0])
        assert alike(plain(called(f, (i,))), plain(called(row, (i,)))), k


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


@pytest.mark.parametrize("make", ARGUMENTS)
def test_merged_models(make):
    janus.manual_seed(0)
    nets = [Net().eval() for _ in range(4)]
    merged = janus.merge(nets)
    for k in range(24):
        a = make(k) if k > 6 and k % 3 == 0 else fresh(k)
        b = fresh(k + 1) if k % 4 else make(k + 1)
        args = [*a, *b]
        if k == 12:
            nets[2].a.weight.data = values(8, 4)
        if k == 15:
            with janus.no_grad():
                nets[1].b.bias.add_(1)
        with janus.no_grad():
            expected = called(lambda: [net(x) for net, x in zip(nets, args)], ())
        got = called(merged, (args,))
        assert alike(plain(got), plain(expected)), k


def test_threads_have_lists_of_their_own():
    f, wrong = janus.function(layers, verify="never", measure=False), []

    def work(seed):
        for k in range(60):
            args = fresh(k + seed)
            if not alike(plain(called(f, args)), plain(called(layers, args))):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(7 * n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_profile_and_more_threads_come_in_between():
    f, n = janus.function(layers, verify="never", measure=False), janus.get_num_threads()
    try:
        for k in range(30):
            args = fresh(k)
            janus.set_num_threads(1 + (k // 8) % 2)
            if k % 9 == 8:
                with janus.profile() as p:
                    got = called(f, args)
                assert p.kinds["kernel"][1] > 0
            else:
                got = called(f, args)
            assert alike(plain(got), plain(called(layers, args))), k
    finally:
        janus.set_num_threads(n)


def test_another_number_of_threads_has_a_list_of_its_own():
    f, n = janus.function(layers, verify="never", measure=False), janus.get_num_threads()
    try:
        for many in (1, 2, 1, 2):
            janus.set_num_threads(many)
            before = janus._C._replays()
            for k in range(40):
                args = fresh(k)
                assert alike(plain(called(f, args)), plain(called(layers, args))), k
            assert janus._C._replays() > before, many
    finally:
        janus.set_num_threads(n)


def test_where_something_is_decided_or_drawn_nothing_is_made_again():
    def decided(x):
        return x * 2 if x.sum() > 0 else x - 1

    def drawn(x):
        return x + janus.rand(3)

    for program in decided, drawn:
        f = janus.function(program, verify="never", measure=False)
        before = janus._C._replays()
        for k in range(12):
            x = values(3, start=k)
            janus.manual_seed(k)
            expected = called(program, (x,))
            janus.manual_seed(k)
            assert alike(plain(called(f, (x,))), plain(expected)), k
        assert janus._C._replays() == before


class Classifier(nn.Module):
    """What comes before, between and behind products: numbers of rows, tables, convolutions, attention."""

    def __init__(self):
        super().__init__()
        self.e, self.c = nn.Embedding(9, 16), nn.Conv2d(1, 8, 3, padding=1)
        self.a, self.n, self.b = nn.Linear(128, 64), nn.LayerNorm(64), nn.Linear(64, 5)

    def forward(self, x):
        e = self.e(x)
        h = nn.functional.relu(self.c(e.unsqueeze(1))).flatten(2).mean(1)
        h = self.n(self.a(h)).reshape(x.shape[0], 4, 16)
        w = nn.functional.softmax(h @ h.transpose(1, 2), -1)
        return self.b((w @ h).flatten(1)), w


def of_classifiers(k, n=8):
    return [(janus.arange(16) * (k + 3) + i).reshape(2, 8) % 9 for i in range(n)]


def merged_classifiers():
    models = [Classifier().eval() for _ in range(8)]
    calls = janus.merge(models)._janus_function_.__wrapped__
    return models, janus.function(calls, verify="never", measure=False)


def changed(k, models, xs):
    """What lies elsewhere, is another number, another object, of another shape, or no number of a row."""
    if k % 50 == 40:
        models[k % 8].a.weight.data = values(64, 128, start=k)
    elif k % 50 == 42:
        with janus.no_grad():
            models[(k + 4) % 8].c.bias.add_(0.25)
    elif k % 50 == 43:
        models[3].b.weight = nn.Parameter(values(5, 64, start=k))
    elif k % 50 == 44:
        xs[6] = xs[1]
    elif k % 50 == 46:
        xs[2], xs[7] = xs[2][:1], xs[7][:1]
    elif k % 50 == 48:
        xs[5] = xs[5] + 9


@pytest.mark.parametrize("threads", [2, 3])
def test_models_are_split_where_there_are_threads(threads):
    janus.manual_seed(0)
    (models, f), n, kernels, kept = merged_classifiers(), janus.get_num_threads(), [], []
    try:
        for many in (1, threads, 1, threads):
            janus.set_num_threads(many)
            replays, of = janus._C._replays(), f.stats()["kernels"]
            for k in range(150):
                xs = of_classifiers(k)
                changed(k, models, xs)
                expected = called(lambda: [m(x) for m, x in zip(models, xs)], ())
                got = called(f, (xs,))
                assert alike(plain(got), plain(expected)), (many, k)
                kept.append((got, expected))
            kernels.append(f.stats()["kernels"] - of)
            assert janus._C._replays() > replays
    finally:
        janus.set_num_threads(n)
    assert all(alike(plain(got), plain(expected)) for got, expected in kept)
    assert kernels[1] > kernels[0] and kernels[3] > kernels[2]  # calls of half of the models


def test_threads_of_the_program_want_parts_at_once():
    """Only one of them gets the pool."""
    janus.manual_seed(1)
    (models, f), n, wrong = merged_classifiers(), janus.get_num_threads(), []
    try:
        janus.set_num_threads(2)
        expected = [plain(called(lambda: [m(x) for m, x in zip(models, of_classifiers(k))], ())) for k in range(5)]

        def work(seed):
            for k in range(120):
                if not alike(plain(called(f, (of_classifiers((k + seed) % 5),))), expected[(k + seed) % 5]):
                    wrong.append((seed, k))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        janus.set_num_threads(n)
    assert not wrong


class Wide(nn.Module):
    """Layers whose weights lists of calls turn, once they have stayed as they are for some runs."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 64), nn.Linear(64, 32), nn.Linear(32, 5)

    def forward(self, x):
        return self.c(self.b(self.a(x)).relu())


def export_to_numpy(net, k):
    numpy = pytest.importorskip("numpy")
    array = net.b.weight.detach().numpy()
    assert isinstance(array, numpy.ndarray)
    return lambda: array.__setitem__(0, k)


def of_a_graph(net, k):
    step = janus.function(lambda w: w.add_(k), verify="never", measure=False)

    def write():
        with janus.no_grad():
            step(net.c.weight)
    return write


def of_an_optimizer(net, k):
    optimizer = janus.optim.SGD(net.parameters(), lr=1.0)
    for p in net.parameters():
        p.grad = janus.full_like(p, k)
    return optimizer.step


def as_often_as_is_counted(net, k):
    def write():
        at = net.b.weight.data
        for _ in range(1 << 16):
            at.add_(k / (1 << 13))
    return write


def put(net, k):
    with janus.no_grad():
        net.a.weight[2] = k


def into_a_view(net, k):
    with janus.no_grad():
        net.a.weight.t()[1:].mul_(k)


def a_closed_view(net, k):
    view = net.b.weight.detach().view(-1)
    return lambda: view.fill_(k / 8)


def once(write):
    return lambda net, k: lambda: write(net, k)


WRITES = {
    "data": once(lambda net, k: net.a.weight.data.add_(k)),
    "new data": once(lambda net, k: setattr(net.b.weight, "data", values(32, 64, start=k))),
    "another parameter": once(lambda net, k: setattr(net.c, "weight", nn.Parameter(values(5, 32, start=k)))),
    "a state": once(lambda net, k: net.load_state_dict({n: v * k for n, v in net.state_dict().items()})),
    "a fill": once(lambda net, k: nn.init.constant_(net.a.weight, k / 8)),
    "rows": once(put), "a view": once(into_a_view), "a view from before": a_closed_view, "numpy": export_to_numpy, "a graph": of_a_graph,
    "an optimizer": of_an_optimizer, "as often as is counted": as_often_as_is_counted}


@pytest.mark.parametrize("rows", [1, 2, 8])
@pytest.mark.parametrize("way", WRITES)
def test_writes_to_weights_that_stayed_for_long_are_seen(way, rows):
    """Whoever writes, and however; between runs that find nothing written, and several times."""
    janus.manual_seed(0)
    nets, xs = [Wide().eval() for _ in range(3)], [janus.randn(rows, 16) for _ in range(3)]
    f = janus.function(janus.merge(nets)._janus_function_.__wrapped__, verify="never", measure=False)
    before = janus._C._replays()
    for turn in range(3):
        write = WRITES[way](nets[turn % 2], turn + 2)
        for k in range(30):
            if k in (14, 15, 29):
                write()
            expected = called(lambda: [net(x) for net, x in zip(nets, xs)], ())
            assert alike(plain(called(f, (xs,))), plain(expected)), (turn, k)
    assert janus._C._replays() > before
