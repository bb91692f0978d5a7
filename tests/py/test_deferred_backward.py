# SPDX-License-Identifier: Apache-2.0
"""backward() in a block of janus.deferred(), by groups, against itself outside: values, errors, order, what is left."""

import random
import threading

import pytest

import janus
import janus.nn.functional as F
from shares import LIGHT


def close(want, got):
    if want is None or got is None:
        return want is got
    return (want.shape == got.shape and want.dtype == got.dtype and
            janus.allclose(want, got, rtol=2e-5, atol=2e-6, equal_nan=True))


def outcome(program):
    try:
        return program()
    except Exception as e:
        return type(e), str(e)


def compare(program, **options):
    """Outside, and three times inside: kinds of calls are known from the second time on."""
    want = outcome(program)
    for flush_after in (0, 0, 0, 1, 2, 3, 7):
        with janus.deferred(max_ops=flush_after, **options):
            got = outcome(program)
        assert len(want) == len(got), (want, got)
        for i, (w, g) in enumerate(zip(want, got)):
            if isinstance(w, janus.Tensor):
                assert close(w, g), (flush_after, i, w, g)
            else:
                assert type(w) is type(g) and w == g, (flush_after, i, w, g)


def leaves(seed=3):
    """Weights of a layer, rows for it, a table and a number."""
    janus.manual_seed(seed)
    make = lambda *shape: janus.randn(*shape).requires_grad_()
    return {"w": make(4, 4), "b": make(4), "table": make(6, 4), "x": [make(1, 4) for _ in range(5)],
            "s": make(1), "u": make(3, 4, 2)}


def grads(p):
    flat = [p["w"], p["b"], p["table"], p["s"], p["u"], *p["x"]]
    return [t.grad for t in flat]


# One thing done to a row, from a row: (p, h, number) -> row.
STEPS = {
    "linear": lambda p, h, k: F.linear(h, p["w"], p["b"]),
    "linear without bias": lambda p, h, k: F.linear(h, p["w"]),
    "product": lambda p, h, k: h @ p["w"],
    "transposed": lambda p, h, k: h @ p["w"].t(),
    "part": lambda p, h, k: janus.cat([h[:, :2] @ p["w"][:2, :2], h[:, 2:]], 1),
    "add": lambda p, h, k: h + p["b"],
    "scale": lambda p, h, k: h * p["s"],
    "number": lambda p, h, k: h * (0.5 + k) - k,
    "divide": lambda p, h, k: h / (1.5 + p["b"] * p["b"]),
    "tanh": lambda p, h, k: janus.tanh(h),
    "gate": lambda p, h, k: janus.sigmoid(h) * janus.tanh(h) + h,
    "twice": lambda p, h, k: h * h,
    "chunk": lambda p, h, k: janus.cat([t * (i + 1) for i, t in enumerate(h.chunk(2, 1))], 1),
    "split": lambda p, h, k: sum(h.split(2, 1)).repeat(1, 2),
    "select": lambda p, h, k: h[0].view(1, 4) + h[:, 1:2],
    "embedding": lambda p, h, k: h + F.embedding(janus.tensor([k % 6]), p["table"]),
    "row": lambda p, h, k: h + p["table"][k % 6],
    "softmax": lambda p, h, k: F.softmax(h, 1) + h,
    "norm": lambda p, h, k: F.layer_norm(h, (4,), p["b"], p["w"][0]),
    "clamp": lambda p, h, k: janus.relu(h) + h.clamp(-0.5, 0.5),
    "where": lambda p, h, k: janus.where(h > 0, h, p["b"] * 0.1),
    "double": lambda p, h, k: (h.double() * p["b"].double()).float(),
    "detached": lambda p, h, k: h.detach() * p["b"] + h,
    "stack": lambda p, h, k: janus.stack([h, h * 2]).sum(0),
    "expand": lambda p, h, k: h.expand(3, 4).mean(0, keepdim=True),
    "batched": lambda p, h, k: (p["u"].transpose(1, 2) @ h.t()).sum(0).repeat(2, 1).t(),
    "power": lambda p, h, k: (h * h + 1) ** 1.5,
    "max": lambda p, h, k: h + h.max(),
    "reduce": lambda p, h, k: h - h.mean(1, keepdim=True),
    "without gradient": lambda p, h, k: nothing(p, h),
    "in place": lambda p, h, k: (h * 1.0).add_(p["b"]),
    "row in place": lambda p, h, k: written(h),
}


def nothing(p, h):
    with janus.no_grad():
        kept = (h * p["w"][0]).sum()
    return h + kept


def written(h):
    y = h * 1.0
    y[:, 1] = y[:, 0] * 2
    return y


def tree(p, rng, steps, depth, number):
    """A random tree of states, as recursive programs make them: (row, loss)."""
    if depth == 0 or rng.random() < 0.2:
        h = p["x"][rng.randrange(5)]
        loss = None
    else:
        left, left_loss = tree(p, rng, steps, depth - 1, number)
        right, right_loss = tree(p, rng, steps, depth - 1, number)
        h = left + right if rng.random() < 0.5 else left * 0.5 - right
        loss = left_loss + right_loss
    name = rng.choice(steps)
    number[0] += 1
    h = janus.tanh(STEPS[name](p, h, number[0] % 7))
    own = F.cross_entropy(h, janus.tensor([number[0] % 4]))
    return h, own if loss is None else loss + own


def batch(p, seed, steps, depth=3):
    rng, number = random.Random(seed), [0]
    loss = 0.0
    for _ in range(6):
        loss = loss + tree(p, rng, steps, depth, number)[1]
    return loss


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name):
    def program():
        p = leaves()
        loss = batch(p, 1, [name], 2)
        loss.backward()
        return [loss.detach(), *grads(p)]

    compare(program)


@pytest.mark.parametrize("seed", range(3 if LIGHT else 20))
def test_generated(seed):
    rng = random.Random(100 + seed)
    steps = rng.sample(sorted(STEPS), 6)

    def program():
        p = leaves(seed)
        out = []
        for _ in range(2):  # .grad is added to
            loss = batch(p, seed, steps)
            loss.backward()
            out.append(loss.detach())
        return out + grads(p)

    compare(program)


def test_groups_are_used():
    p = leaves()
    with janus.deferred() as d:
        batch(p, 1, ["linear", "tanh"]).backward()
    batch(p, 1, ["linear", "tanh"]).backward()
    with janus.deferred() as d:
        batch(p, 1, ["linear", "tanh"]).backward()
    stats = d.stats()
    assert stats["backward_groups"] > 0 and stats["backward_grouped"] > 2 * stats["backward_groups"]
    assert stats["backward_alone"] < stats["backward_grouped"] / 10
    with janus.deferred(numerics="exact") as d:
        batch(p, 1, ["linear", "tanh"]).backward()
    assert d.stats()["backward_groups"] == 0


def test_groups_of_nodes_whose_numbers_lie_apart():
    p = leaves()
    for _ in range(2):
        with janus.deferred() as d:
            far_apart(p, [])
    assert d.stats()["backward_groups"] > 0 and d.stats()["backward_alone"] < d.stats()["backward_grouped"]


def test_calls_that_take_turns_stay_known():
    """What is remembered of a few calls is not driven out by each other: 6 pairs of calls of 400 lengths."""
    calls = janus.tanh, janus.sigmoid, janus.exp, janus.relu
    for n in range(1, 401):
        x = janus.ones(n)
        with janus.deferred() as d:
            kept = [f(x) for _ in range(5) for f in calls]
        assert d.stats()["groups"] == len(calls), n
        del kept


def seen(log, name):
    def hook(g):
        log.append((name, [round(x, 4) for x in g.reshape(-1).tolist()]))
    return hook


def hooks_on_leaves(p, log):
    p["w"].register_hook(seen(log, "w"))
    p["b"].register_hook(lambda g: g * 2)
    batch(p, 2, ["linear"]).backward()


def hooks_inside(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    for i, r in enumerate(rows):
        r.register_hook(seen(log, i))
    sum((r * r).sum() for r in rows).backward()


def hooks_that_replace(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    for r in rows:
        r.register_hook(lambda g: g * 3)
    sum((r * r).sum() for r in rows).backward()


def retained_gradients(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    for r in rows:
        r.retain_grad()
    sum((r * r).sum() for r in rows).backward()
    log.extend(r.grad for r in rows)


def retained_graph(p, log):
    loss = batch(p, 4, ["linear", "gate"])
    loss.backward(retain_graph=True)
    loss.backward()
    loss.backward()


def second_backward(p, log):
    loss = batch(p, 4, ["linear", "gate"])
    loss.backward()
    try:
        loss.backward()
    except RuntimeError as e:
        log.append(str(e))


def part_twice(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    sum((r * r).sum() for r in rows[:3]).backward()
    try:
        sum((r * r).sum() for r in rows).backward()
    except RuntimeError as e:
        log.append(str(e))


def saved_version(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    loss = sum((r * r).sum() for r in rows)
    rows[2].detach().add_(1)
    try:
        loss.backward()
    except RuntimeError as e:
        log.append(str(e))


def weight_was_written(p, log):
    loss = sum(janus.tanh(x @ p["w"]).sum() for x in p["x"])
    with janus.no_grad():
        p["w"].mul_(2)
    try:
        loss.backward()
    except RuntimeError as e:
        log.append(str(e))


def grad_of_inputs(p, log):
    loss = batch(p, 5, ["linear", "gate", "embedding"])
    log.extend(janus.autograd.grad(loss, [p["w"], p["table"], p["x"][0]]))


def grad_of_inner(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    loss = sum((r * r).sum() for r in rows)
    log.extend(janus.autograd.grad(loss, [rows[1], p["b"], rows[3]], retain_graph=True))
    log.extend(janus.autograd.grad(loss, [p["w"], rows[0]]))


def grad_of_unused(p, log):
    loss = sum(janus.tanh(x @ p["w"]).sum() for x in p["x"])
    log.extend(janus.autograd.grad(loss, [p["w"], p["b"]], allow_unused=True, retain_graph=True))
    try:
        janus.autograd.grad(loss, [p["w"], p["b"]])
    except RuntimeError as e:
        log.append(str(e))


def second_order(p, log):
    loss = sum(janus.tanh(x @ p["w"]).sum() for x in p["x"])
    (g,) = janus.autograd.grad(loss, [p["w"]], create_graph=True)
    (g * g).sum().backward()


def given_cotangents(p, log):
    rows = janus.cat([janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]])
    rows.backward(janus.arange(20.0).view(5, 4))


def own_function(p, log):
    class Double(janus.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            log.append([round(v, 4) for v in g.reshape(-1).tolist()])
            return g * 2

    sum((Double.apply(janus.tanh(x @ p["w"])) ** 2).sum() for x in p["x"]).backward()


def frozen(p, log):
    p["b"].requires_grad_(False)
    batch(p, 6, ["linear", "gate"]).backward()


def accumulated(p, log):
    p["w"].grad = janus.ones(4, 4)
    kept = p["w"].grad
    batch(p, 6, ["linear", "gate"]).backward()
    log.append(kept is p["w"].grad)
    log.append(kept)


def trained(p, log):
    optimizer = janus.optim.SGD([p["w"], p["b"], p["table"]], lr=0.05, momentum=0.9)
    for step in range(4):
        optimizer.zero_grad()
        loss = batch(p, step, ["linear", "embedding", "gate"])
        loss.backward()
        optimizer.step()
        log.append(round(loss.item(), 3))
    log.extend([p["w"].detach(), p["table"].detach()])


def shared_inner_weight(p, log):
    w = p["w"] * 2.0
    sum(janus.tanh(x @ w + p["b"]).sum() for x in p["x"] * 3).backward()


def infinite(p, log):
    sum((janus.log(x - x) * p["s"]).sum() for x in p["x"]).backward()


def many_consumers(p, log):
    h = janus.tanh(p["x"][0])
    sum(((h * k) @ p["w"]).sum() + (h + k).sum() for k in range(12)).backward()


def unused_results(p, log):
    rows = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    for r in rows:
        r * 3
    sum(r.max(1).values.sum() for r in rows).backward()


def doubles(p, log):
    w = p["w"].detach().double().requires_grad_()
    sum(janus.tanh(x.double() @ w).sum() for x in p["x"]).backward()
    log.append(w.grad)


def under_autocast(p, log):
    with janus.autocast("cpu", dtype=janus.bfloat16):
        loss = sum(janus.tanh(F.linear(x, p["w"], p["b"])).float().sum() for x in p["x"])
    loss.backward()


def halves(p, log):
    w = p["w"].detach().to(janus.bfloat16).requires_grad_()
    sum((x.to(janus.bfloat16) @ w).float().sum() for x in p["x"]).backward()
    log.append(w.grad.float())


def dropped(p, log):
    janus.manual_seed(5)
    sum(F.dropout(janus.tanh(x @ p["w"]), 0.5).sum() for x in p["x"]).backward()
    log.append(janus.rand(3))


def recurrent(p, log):
    janus.manual_seed(1)
    cell = janus.nn.LSTMCell(4, 4)
    total = 0.0
    for x in p["x"]:
        h, c = janus.zeros(1, 4), janus.zeros(1, 4)
        for _ in range(3):
            h, c = cell(x, (h, c))
        total = total + (h * c).sum()
    total.backward()
    log.extend(q.grad for q in cell.parameters())


def images(p, log):
    janus.manual_seed(1)
    net = janus.nn.Sequential(janus.nn.Conv2d(1, 3, 3), janus.nn.ReLU(), janus.nn.MaxPool2d(2), janus.nn.Flatten(),
                              janus.nn.Linear(27, 4))
    sum(F.cross_entropy(net(janus.randn(1, 1, 8, 8)), janus.tensor([i % 4])) for i in range(6)).backward()
    log.extend(q.grad for q in net.parameters())


def far_apart(p, log):
    early = [janus.tanh(F.linear(x, p["w"], p["b"])) for x in p["x"]]
    for _ in range(20000):
        p["s"] * 1.0
    (sum((h * h).sum() for h in early) + sum((h * p["s"]).sum() for h in early)).backward()


def hooks_on_many_leaves(p, log):
    for name in ("b", "s", "w"):
        p[name].register_hook(seen(log, name))
    early = sum((x * p["s"]).sum() for x in p["x"])
    (batch(p, 2, ["linear"]) + early).backward()


def pieces(p, log):
    total = 0
    for x in p["x"]:
        h = F.linear(x, p["w"], p["b"]).reshape(1, 1, -1, 1)
        for part in h.chunk(2, 2):
            total = total + (janus.tanh(part) * part.reshape(-1)[0]).sum()
        total = total + h[0, :, 1:, :].expand(3, -1, -1).sum() + h[..., ::2, :].sum()
    total.backward()


def backward_in_a_hook(p, log):
    def hook(g):
        (q,) = janus.autograd.grad(sum((x * p["s"]).sum() for x in p["x"]), [p["s"]])
        log.append(q)
    p["w"].register_hook(hook)
    batch(p, 2, ["linear"]).backward()


SITUATIONS = [
    hooks_on_leaves, hooks_inside, hooks_that_replace, retained_gradients, retained_graph, second_backward, part_twice,
    saved_version, weight_was_written, grad_of_inputs, grad_of_inner, grad_of_unused, second_order, given_cotangents,
    own_function, frozen, accumulated, trained, shared_inner_weight, infinite, many_consumers, unused_results, doubles,
    under_autocast, halves, dropped, recurrent, images, backward_in_a_hook,
    far_apart, hooks_on_many_leaves, pieces
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda f: f.__name__)
def test_situation(situation):
    def program():
        p, log = leaves(), []
        situation(p, log)
        return log + grads(p)

    compare(program)


def test_a_large_history_runs_node_by_node():
    p = leaves()

    def program():
        for t in (p["w"], p["b"]):
            t.grad = None
        batch(p, 1, ["linear"]).backward()
        return [p["w"].grad, p["b"].grad]

    compare(program, max_bytes=64)
    with janus.deferred(max_bytes=64) as d:
        program()
    assert d.stats()["backward_groups"] == 0


def test_threads_use_one_history():
    """Each its own block; the sums are those of one after the other."""
    p = leaves()
    loss = batch(p, 3, ["linear", "gate"])
    want = janus.autograd.grad(loss, [p["w"], p["b"]], retain_graph=True)
    with janus.deferred():
        for _ in range(2):
            loss = batch(p, 3, ["linear", "gate"])
    wrong = []

    def work():
        for _ in range(20):
            with janus.deferred():
                got = janus.autograd.grad(loss, [p["w"], p["b"]], retain_graph=True)
            wrong.extend(g for w, g in zip(want, got) if not close(w, g))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
