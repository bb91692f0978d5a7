# SPDX-License-Identifier: Apache-2.0
"""Python as people write it inside of a decorated function: iterators over modules, sets, queues,
partials, objects made inside.  Each program runs undecorated and decorated, with and without
verification, and must have run as a graph where it says so."""
import collections
import functools
import itertools
import operator
import random

import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F
import janus.optim as optim

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


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * max(1.0, abs(a))
    if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
        return all(close(x, y) for x, y in zip(a, b))
    return a == b


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
        import linecache
        name = f"<{of.__name__} {seed}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space = {"collections": collections}
        exec(compile(text, name, "exec"), space)
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
