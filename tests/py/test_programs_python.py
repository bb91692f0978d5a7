# SPDX-License-Identifier: Apache-2.0
"""Python as people write it inside of a decorated function: iterators over modules, sets, queues,
partials, objects made inside.  Each program runs undecorated and decorated, with and without
verification, and must have run as a graph where it says so."""
import collections
import contextlib
import functools
import itertools
import operator
import random

import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F
import janus.optim as optim
from compared import close
from texts import names_of

CALLS = 12
PROGRAMS = []


def program(make):
    """`make()` gives the function to decorate; it must become a graph."""
    PROGRAMS.append(make)
    return make


def net():
    janus.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 2))


def plain(value):
    """What is compared: tensors by content, containers and numbers as they are."""
    if isinstance(value, janus.Tensor):
        return ("tensor", type(value), value.dtype, value.requires_grad, value.tolist())
    if isinstance(value, dict):
        return (type(value), [(plain(k), plain(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value), [plain(v) for v in value])
    return (type(value), value)


def runs(function, tensors):
    janus.manual_seed(1)
    return [plain(function(x)) for x in tensors]


def inputs():
    return [janus.arange(12).float().view(3, 4) / (12 - i % 5) for i in range(CALLS)]


@pytest.mark.parametrize("verify", ["never", "rarely"])
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_program(make, verify):
    wanted = runs(make(), inputs())
    function = janus.function(make(), verify=verify, measure=False)
    got = runs(function, inputs())
    assert all(close(a, b) for a, b in zip(wanted, got)), (wanted, got)
    stats = function.stats()
    assert stats["graph"] >= CALLS // 2, janus.explain(function)
    assert stats["disproved"] == 0


# ---- modules ------------------------------------------------------------------------------------


@program
def parameters():
    m = net()
    return lambda x: m(x).sum() + sum((p * p).sum() for p in m.parameters())


@program
def named_parameters():
    m = net()

    def f(x):
        s = m(x).sum()
        for name, p in m.named_parameters():
            if name.endswith("weight"):
                s = s + p.abs().sum()
        return s
    return f


@program
def modules():
    m = net()

    def f(x):
        n = 0
        for layer in m.modules():
            if isinstance(layer, nn.Linear):
                n += layer.weight.numel()
        return m(x) * n
    return f


@program
def children():
    m = net()

    def f(x):
        for layer in m.children():
            x = layer(x)
        return x
    return f


@program
def state_dict():
    m = net()

    def f(x):
        state = m.state_dict()
        return m(x) * len(state) + state["0.weight"].sum()
    return f


@program
def train_and_eval():
    m = net()

    def f(x):
        m.eval()
        y = m(x)
        m.train()
        return y, m(x)
    return f


@program
def clip_gradients():
    m = net()
    o = optim.Adam(m.parameters(), lr=0.1)

    def f(x):
        o.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        return loss
    return f


@program
def einsum():
    return lambda x: janus.einsum("bi,bj->bij", x, x) + janus.einsum("bi,ij->bj", x, x.t() @ x).sum()


# ---- what CPython writes in C -------------------------------------------------------------------


@program
def sets():
    def f(x):
        seen = set()
        for i in (3, 1, 3, 2):
            if i not in seen:
                seen.add(i)
        seen |= {7, 8}
        return x * len(seen), sorted(seen & {3, 7, 9}) if len(seen) == 1 else len(seen & {3, 7, 9})
    return f


@program
def set_order():
    def f(x):
        s = set()
        for k in (9, 1, 17, 33, 4, 25, 40):
            s.add(k)
        return list(s), [k for k in {i * 7 % 13 for i in range(9)}], x
    return f


@program
def sets_of_tensors():
    def f(x):
        y = x + 1
        s = {x, y}
        s.add(y)
        return len(s), y in s, (x + 1) in s, x
    return f


@program
def keys_by_path():
    def f(x):
        d = {}
        if x.sum() > 5.8:
            d[1] = 5
        else:
            d[2] = 6
        return len(d), 1 in d, x
    return f


@program
def queue():
    def f(x):
        q = collections.deque([x])
        total, n = 0, 0
        while q:
            y = q.popleft()
            total = total + y
            n += 1
            if n < 4:
                q.append(y * 2)
        last = collections.deque(maxlen=2)
        for i in range(4):
            last.append(x * i)
        return total, last[0] + last[1] + len(last)
    return f


@program
def partials():
    def f(x):
        g = functools.partial(F.leaky_relu, negative_slope=0.3)
        h = functools.partial(functools.partial(lambda a, b, c=0: a + 2 * b + c, x), c=3)
        return g(x - 0.5), h(1), h.args[0]
    return f


@program
def reduce():
    def f(x):
        steps = [lambda y, k=k: y * k for k in range(1, 4)]
        return functools.reduce(lambda a, g: g(a), steps, x), functools.reduce(lambda a, b: a * b, [1, 2, 3])
    return f


@program
def tools():
    def f(x):
        return (list(itertools.chain([1], (2, 3), "ab")), list(itertools.product([1, 2], repeat=2)),
                list(itertools.accumulate([1, 2, 3])), list(itertools.starmap(pow, [(2, 3)])),
                list(itertools.repeat(3, 2)), list(filter(None, [0, 1, 2])), list(filter(lambda a: a > 1, [0, 1, 2])),
                sorted([(2, "a"), (1, "b")], key=operator.itemgetter(1)), dict.fromkeys("ab", 2), x)
    return f


# ---- generators ---------------------------------------------------------------------------------


@program
def next_of_generators():
    def f(x):
        g = (x * i for i in range(4))
        a = next(g)
        b = next(g)
        first = next((v for v in [1, x] if isinstance(v, janus.Tensor)), None)
        return a + 2 * b, first, list(g), next(g, 5)
    return f


@program
def first_of_an_endless_generator():
    def f(x):
        def powers():
            n = 1
            while True:
                yield x * n
                n *= 2
        return next(powers())
    return f


@program
def average_of_parameters():
    m, copy = net(), net()
    for p in copy.parameters():
        p.requires_grad_(False)

    def f(x):
        with janus.no_grad():
            for p, q in zip(m.parameters(), copy.parameters()):
                q.mul_(0.9).add_(p, alpha=0.1)
        return copy.eval()(x)
    return f


def lazy_variable(x):
    y = x
    out = []
    for a, _ in zip((y * i for i in range(3)), [1, 2, 3]):
        y = y + 1
        out.append(a)
    return out


def lazy_list(x):
    k, out = [1], []

    def gen():
        for _ in range(3):
            yield x * k[0]
    for i, a in enumerate(gen()):
        k[0] = k[0] + 1
        out.append(a + i)
    return out


def lazy_attribute(x):
    o = Pair(1, 2)
    g = (x * o.a for _ in range(3))
    a = next(g)
    o.a = 7
    return a, next(g)


def lazy_tensor(x):
    y, out = x.clone(), []
    for i, b in enumerate(y * j for j in range(4)):
        y.add_(i)
        out.append(b)
    return out


def lazy_closure(x):
    y = x

    def read():
        return y
    g = (read() * i for i in range(1, 4))
    a = next(g)
    y = y + 1
    return a, next(g)


def lazy_list_grows(x):
    kept = [1, 2]
    g = (k for k in kept)
    a = next(g)
    kept.append(3)
    return a, list(g), x


@pytest.mark.parametrize("function", [lazy_variable, lazy_list, lazy_attribute, lazy_tensor, lazy_closure,
                                      lazy_list_grows], ids=lambda f: f.__name__)
def test_items_are_made_when_they_are_asked_for(function):
    wanted = runs(function, inputs())
    assert runs(janus.function(function, verify="never", measure=False), inputs()) == wanted


# ---- objects made inside, results ---------------------------------------------------------------


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Scaled(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.act = nn.Tanh()
        self.register_buffer("mask", None)

    def forward(self, x):
        return self.act(x) * self.k


@program
def modules_made_inside():
    def f(x):
        m = Scaled(2)
        m.k = 3
        m.act = nn.ReLU()
        s = nn.Sequential(nn.Flatten(), nn.LeakyReLU(0.1))
        loss = nn.CrossEntropyLoss()(x, janus.tensor([0, 1, 2]))
        return m(x - 0.5), s(x), loss, m.mask is None, len(list(s.modules())), list(m.named_children())[0][0]
    return f


@program
def optimizer_made_inside():
    m = net()

    def f(x):
        o = optim.SGD(m.parameters(), lr=0.1)
        loss = m(x).pow(2).mean()
        o.zero_grad()
        loss.backward()
        o.step()
        return loss
    return f


@program
def named_results():
    def f(x):
        v, i = x.max(1)
        (a, b) = x.sort(1)
        best = x.max(1) if x.sum() > 5.8 else (x * 2).max(1)
        return x.max(1), best, x.min(0).indices, v + a[:, 0], i, b
    return f


@program
def comparisons():
    def f(x):
        nan = float("nan")
        one = [nan]
        return ([1] == None, None != [1], (1, 2) < (1, 3), (1,) == [1], "a" == 1, {} == [], 3 * [1],  # noqa: E711
                2 * (1, x), x.shape == (3, 4), x.shape == [3, 4], x.shape != (3, 4), (3, 4) == x.shape,
                x.size()[1:] == (4,), one == one, one == [nan], [nan] == [float("nan")], x.shape < (3, 5),
                issubclass(bool, int), issubclass(nn.Linear, (int, nn.Module)), janus.Size([3, 4]) == x.shape)
    return f


@program
def tensors_of_data():
    def f(x):
        a = janus.tensor([1.0, 2.0, 3.0, 4.0], dtype=janus.float32, device=x.device, requires_grad=False)
        a += x[0]
        return a, janus.as_tensor([1, 2]), janus.as_tensor(x), x.type(janus.float64), x.type("LongTensor")
    return f


@program
def interpolate():
    return lambda x: F.interpolate(x.view(1, 1, 3, 4), scale_factor=2, mode="nearest")


@program
def distributions():
    def f(x):
        d = janus.distributions.Normal(x, janus.ones_like(x))
        c = janus.distributions.Categorical(logits=x)
        a = c.sample()
        return d.log_prob(x + 1).sum(), d.rsample(), c.log_prob(a), c.entropy()
    return f


@program
def managers():
    def f(x):
        with contextlib.nullcontext(x) as y, janus.set_grad_enabled(x.shape[0] == 2):
            return y * 2, janus.is_grad_enabled()
    return f


def leaves_the_mode(x):
    janus.set_grad_enabled(False)
    return x * 2


def switches_on_one_path(x):
    if x.sum() > 5.8:
        janus.set_grad_enabled(False)
    return x * 2


@pytest.mark.parametrize("function", [leaves_the_mode, switches_on_one_path], ids=lambda f: f.__name__)
def test_modes_are_left_as_the_program_leaves_them(function):
    seen = []
    for f in (function, janus.function(function, verify="never", measure=False)):
        modes = []
        for x in inputs():
            with janus.enable_grad():
                f(x)
                modes.append(janus.is_grad_enabled())
        seen.append(modes)
    assert seen[0] == seen[1]


def named_are_stored(x, out):
    for i in range(int(x[0, 1].item() * 12) + 2):
        out.append(Named(i, x))
    return out


Named = collections.namedtuple("Named", "a b")


def test_named_tuples_stay_named_where_the_graph_stores_them():
    f = janus.function(named_are_stored, verify="never", measure=False)
    for x in inputs():
        assert plain(f(x, [])) == plain(named_are_stored(x, []))


# ---- text with numbers of the graph ---------------------------------------------------------------


TEXTS = [
    "'%.2f' % y, f'{y.item():.3f}', 'loss {:.4f}'.format(y.item()), sep='|'",
    "'%d: %.2f %s' % (3, y.item(), 'a'), '%5d%% %e' % (int(y.item()), y)",
    "f'{int(y.item())} {y:.3f} {y} {x.shape} {y.item()!r} {y.item()!s} {y.item() > 5.8}'",
    "'{0:.1f} {0:5.2f} {{}}'.format(y), f'{y.item():{3}.{1}f}'",
    "'a' + f'{y:.1f}' + 'b' + str(y.item()), 'x'",
    "f'{y:>10.2f}|{y:<9}|{y:^12.1e}', end=';'",
    "f'{(y * w.sum()).item():.2f} {y * w.sum():.2f}', '%.3f' % (y * w.sum())",
]
RAISE = ["'{:d}'.format(y.item())", "'%d %d' % y.item()", "f'{y.item():c}'", "'%c' % int(y.item() * 1e9)"]


def printing(text, run):
    line = f"print({text})" if run else f"s = {text}"
    source = f"def f(x):\n    y = x.sum()\n    {line}\n    return y\n"
    return names_of(source, w=janus.ones(2, requires_grad=True))["f"]


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_with_numbers_is_printed_by_graphs(text, verify, capsys):
    f = printing(text, True)
    wanted = [plain(f(x)) for x in inputs()], capsys.readouterr().out
    g = janus.function(f, verify=verify, measure=False)
    assert ([plain(g(x)) for x in inputs()], capsys.readouterr().out) == wanted
    assert verify == "always" or g.stats()["graph"] >= CALLS // 2, janus.explain(g)
    assert g.stats()["disproved"] == 0


@pytest.mark.parametrize("text", RAISE)
def test_text_that_raises_does_so_where_nobody_prints_it(text):
    f = printing(text, False)
    outcomes = []
    for g in (f, janus.function(f, verify="never", measure=False)):
        seen = []
        for x in inputs():
            try:
                seen.append(plain(g(x)))
            except Exception as e:
                seen.append((type(e), str(e)))
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]


# ---- dicts with a kind, typed constructors, long loops --------------------------------------------


@program
def default_dicts():
    def f(x):
        d = collections.defaultdict(list)
        for i in range(4):
            d[i % 2].append(x * i)
        n = collections.defaultdict(int)
        for c in "hello":
            n[c] += 1
        return dict(d), dict(n), len(d), 3 in d, d.get(5), isinstance(d, dict), type(d).__name__
    return f


@program
def ordered_dicts():
    def f(x):
        d = collections.OrderedDict([("a", 1), ("b", x)])
        d["c"] = 3
        d.move_to_end("a")
        e = collections.OrderedDict(a=1, b=2, c=x)
        e.move_to_end("c", last=False)
        m = nn.Sequential(collections.OrderedDict([("r", nn.ReLU()), ("t", nn.Tanh())]))
        return list(d.items()), {**d}, dict(d, z=1), e.popitem(), list(e), e.pop("zz", 9), m(x)
    return f


@program
def typed_tensors():
    return lambda x: (F.cross_entropy(x, janus.LongTensor([0, 1, 2])), janus.FloatTensor([1.0, 2.0]))


@program
def long_loop():
    def f(x):
        s = x
        for i in range(3000):
            s = s * 0.999 + i
        return s
    return f


def equal_queues(x):
    d = collections.deque([1, 2])
    return d == collections.deque([1, 2]), d != collections.deque([1]), d == [1, 2], hasattr(d, "insert"), x


def equal_dicts(x):
    return collections.OrderedDict(a=1) == {"a": 1}, collections.OrderedDict(a=1) == None, x  # noqa: E711


def returned(x):
    return collections.OrderedDict(a=x)


def missing(x):
    return collections.defaultdict(list)[3], x


@pytest.mark.parametrize("function", [equal_queues, equal_dicts, returned, missing], ids=lambda f: f.__name__)
def test_models_do_what_they_stand_for_or_refuse(function):
    wanted = runs(function, inputs())
    assert runs(janus.function(function, verify="never", measure=False), inputs()) == wanted


# ---- generated: operations on a set and a queue --------------------------------------------------


def set_program(rng):
    lines = ["s = set()", "r = []"]
    for _ in range(rng.randrange(3, 12)):
        k = rng.randrange(30)
        lines.append(rng.choice([
            f"s.add({k})", f"s.add({k})", f"s.discard({k})", f"s.update([{k}, {k + 5}])", f"s |= {{{k}, 3}}",
            f"s &= set(range({k}))", f"s -= {{{k}, 1}}", f"s ^= {{{k}}}", f"r.append({k} in s)", "r.append(len(s))",
            f"r.append(s.issubset(range({k})))", f"r.append(s == set([{k}]))", "s = s.copy()",
            f"r.append(s <= {{{k}, 1, 2, 3}})", f"r.append(len(s.union([{k}], (1, 2))))", "r.append(bool(s))"]))
    lines.append(rng.choice(["r.append(list(s))", "r.append(tuple(sorted(s)))", "pass", "pass"]))
    return lines


def queue_program(rng):
    bound = rng.choice(["", ", maxlen=3"])
    lines = [f"s = collections.deque(range(4){bound})", "r = []"]
    for _ in range(rng.randrange(3, 12)):
        k = rng.randrange(9)
        lines.append(rng.choice([
            f"s.append({k})", f"s.appendleft({k})", "r.append(s.popleft())", "r.append(s.pop())",
            f"s.extend([{k}, 1])", f"s.extendleft([{k}, 1])", f"s.rotate({k - 4})", f"r.append({k} in s)",
            "r.append(len(s))", "r.append(list(s))", "s.reverse()", "r.append(s[0])", f"r.append(s.count({k}))",
            "r.append(s.maxlen)", "s = s.copy()", f"s[-1] = {k}"]))
    return lines


@pytest.mark.parametrize("of", [set_program, queue_program])
def test_operations(of):
    graphs = 0
    for seed in range(60):
        text = "def f(x):\n" + "".join(f"    {line}\n" for line in of(random.Random(seed))) + "    return r, x\n"
        space = names_of(text, collections=collections)
        decorated = janus.function(space["f"], verify="never", measure=False)
        for x in inputs()[:3]:
            outcomes = []
            for function in (space["f"], decorated):
                try:
                    outcomes.append(plain(function(x)))
                except Exception as e:
                    outcomes.append((type(e), str(e)))
            assert outcomes[0] == outcomes[1], text
        graphs += decorated.stats()["graph"] > 0
    assert graphs >= 20
