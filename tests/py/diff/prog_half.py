# SPDX-License-Identifier: Apache-2.0
"""Programs that compute in float16 and bfloat16, and under autocast."""

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import FAST, MUST, case, t

HALVES = (janus.float16, janus.bfloat16)


def h(*shape, seed=0, dtype=janus.float16, grad=False):
    x = t(*shape, seed=seed).to(dtype)
    return x.requires_grad_() if grad else x


@case(graph=MUST)
def arithmetic(function, log):
    @function
    def f(a, b):
        return a + b, a * 0.1 - b / 3, (a > 0.1), a.exp() * b.tanh(), 1 - a, 2.0 ** a, a // 0.3, a.abs() ** 0.5

    for dtype in HALVES:
        for i in range(3):
            log(f(h(3, 5, seed=i, dtype=dtype), h(5, seed=i + 1, dtype=dtype)))


@case(graph=MUST)
def numbers_are_not_rounded_first(function, log):
    @function
    def f(x, scale):
        return x * 65536.0, x * 1e-8 / 1e-8, (x * 100000.0).isfinite(), x * scale, scale * x

    for dtype in HALVES:
        for i in range(3):
            log(f(h(4, seed=i, dtype=dtype) * 0.01, janus.tensor(3e5 + i)))


@case(graph=MUST)
def promotion(function, log):
    @function
    def f(a, b, c, i):
        return a + b, a + c, b * c, a + i, a * 1, a * 1.5, janus.cat([a, c]), janus.where(a > 0, a, c), i * a

    for k in range(3):
        log(f(h(4, seed=k), h(4, seed=k + 1, dtype=janus.bfloat16), t(4, seed=k), janus.arange(4)))


@case(graph=MUST)
def overflow(function, log):
    @function
    def f(x):
        y = x * x
        return y, y.sum(), (y - y), y.isfinite().all(), x.sum(), x.mean()

    for k in range(3):
        log(f(h(6, seed=k) * 300))


@case(graph=MUST)
def numbers_of_the_graph(function, log):
    @function
    def f(xs, x):
        total = 0.0
        for v in xs:
            total = total + v
        return x * total, x + total, x > total, total

    for k in range(4):
        log(f([0.1 * (k + i) for i in range(5)], h(4, seed=k)))


@case(graph=MUST)
def mutation(function, log):
    @function
    def f(x):
        x += 1
        x *= 0.3
        x[0] = 0.1
        x[1:] -= x[:-1].float()
        return x.sum()

    for dtype in HALVES:
        for k in range(3):
            x = h(4, seed=k, dtype=dtype)
            log(f(x), x)


@case(graph=MUST)
def decisions(function, log):
    @function
    def f(x):
        n = 0
        while x.abs().max() > 0.5:
            x = x * 0.7
            n += 1
        if x.sum() > 0:
            return x, n
        return -x, n

    for dtype in HALVES:
        for k in range(5):
            log(f(h(4, seed=k, dtype=dtype) * 4))


@case(graph=MUST)
def gradients(function, log):
    @function
    def f(x, w):
        loss = F.gelu(x @ w).softmax(-1).log().mean() + F.layer_norm(x, (4,)).square().sum() * 0.1
        loss.backward()
        return loss

    for dtype in HALVES:
        for k in range(3):
            x, w = h(3, 4, seed=k, dtype=dtype, grad=True), h(4, 5, seed=k + 1, dtype=dtype, grad=True)
            log(f(x, w), x.grad, w.grad)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.first = nn.Linear(12, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1)
        return self.last(F.silu(self.first(x)))


def net(dtype=None):
    janus.manual_seed(3)
    model = Net()
    return model.to(dtype) if dtype else model


@case(graph=MUST)
def a_model_of_halves(function, log):
    for dtype in HALVES:
        model = net(dtype)
        optimizer = janus.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

        @function
        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        for k in range(4):
            log(step(h(2, 1, 4, 4, seed=k, dtype=dtype), janus.tensor([0, 2])))
        log(list(model.state_dict().values()), [p.grad for p in model.parameters()])


@case(graph=MUST)
def adam_on_halves(function, log):
    model = nn.Linear(4, 3).bfloat16()
    with janus.no_grad():
        model.weight.copy_(t(3, 4))
        model.bias.copy_(t(3))
    optimizer = janus.optim.Adam(model.parameters(), lr=0.01)

    @function
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for k in range(5):
        log(step(h(2, 4, seed=k, dtype=janus.bfloat16)))
    log(model.weight, model.bias)


@case(graph=MUST)
def recursion(function, log):
    w = t(4, 4).half().requires_grad_()

    def tree(depth, seed):
        return (h(4, seed=seed),) if depth == 0 else (tree(depth - 1, 2 * seed), tree(depth - 1, 2 * seed + 1))

    def encode(node):
        if len(node) == 1:
            return node[0]
        return ((encode(node[0]) + encode(node[1])) @ w).tanh()

    @function
    def f(node):
        loss = encode(node).sum()
        loss.backward()
        return loss

    for k in range(8):
        w.grad = None
        log(f(tree(1 + k % 2, k + 1)), w.grad)


# ---- autocast


@case(graph=MUST)
def autocast_inside(function, log):
    @function
    def f(x, w):
        with janus.autocast("cpu", dtype=janus.bfloat16):
            y = x @ w
            with janus.autocast("cpu", enabled=False):
                z = x @ w
            loss = F.cross_entropy(y, janus.tensor([0, 1, 2])), F.mse_loss(y, y * 0.5), y.softmax(-1), y + x.sum()
        return y, z, loss, x @ w, y @ y.t()

    for k in range(3):
        log(f(t(3, 4, seed=k), t(4, 4, seed=k + 1)))


@case(graph=MUST)
def autocast_around(function, log):
    @function
    def f(x, w):
        return (x @ w).relu() @ w

    x, w = t(3, 4), t(4, 4, seed=1)
    for _ in range(2):
        log(f(x, w))
        with janus.autocast("cpu"):
            log(f(x, w), f(x, w))
            with janus.autocast("cpu", dtype=janus.float16):
                log(f(x, w), f(x, w))
        with janus.autocast("cuda"):
            log(f(x, w))
        log(f(x, w))


@case(graph=MUST)
def autocast_as_decorator(function, log):
    @janus.autocast("cpu")
    def inner(x, w):
        return x @ w, janus.is_autocast_enabled("cpu")

    @function
    def f(x, w):
        y, on = inner(x, w)
        return y, on, janus.is_autocast_enabled("cpu"), x @ w

    for k in range(3):
        log(f(t(3, 4, seed=k), t(4, 4, seed=k + 1)))


@case(graph=MUST)
def autocast_training_inside(function, log):
    model = net()
    optimizer = janus.optim.SGD(model.parameters(), lr=0.1)

    @function
    def step(x, y):
        optimizer.zero_grad()
        with janus.autocast("cpu"):
            out = model(x)
            loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return loss, out

    for k in range(4):
        log(step(t(2, 1, 4, 4, seed=k), janus.tensor([0, 2])))
    log(list(model.state_dict().values()), [p.grad for p in model.parameters()])


@case(graph=MUST)
def autocast_training_around(function, log):
    model = net()
    optimizer = janus.optim.SGD(model.parameters(), lr=0.1)

    @function
    def losses(x, y):
        return F.cross_entropy(model(x), y)

    for k in range(4):
        optimizer.zero_grad()
        with janus.autocast("cpu", dtype=janus.float16):
            loss = losses(t(2, 1, 4, 4, seed=k), janus.tensor([0, 2])) + losses(t(2, 1, 4, 4), janus.tensor([1, 1]))
        loss.backward()
        optimizer.step()
        log(loss)
    log(list(model.state_dict().values()), [p.grad for p in model.parameters()])


@case(graph=MUST)
def a_weight_used_often(function, log):
    w = t(4, 4, grad=True)

    @function
    def f(x):
        with janus.autocast("cpu", dtype=janus.float16):
            for _ in range(3):
                x = (x @ w).tanh()
            loss = x.float().sum()
        loss.backward()
        return loss

    for k in range(3):
        w.grad = None
        log(f(t(2, 4, seed=k)), w.grad)


@case
def a_weight_written_in_between(function, log):
    w = t(4, 4, grad=True)

    @function
    def f(x):
        with janus.autocast("cpu"):
            y = x @ w
            with janus.no_grad():
                w.mul_(2)
            return y, x @ w

    for k in range(3):
        log(f(t(2, 4, seed=k)), w)


@case(graph=MUST)
def autocast_in_a_recursion(function, log):
    w = t(4, 4, grad=True)

    def down(x, n):
        if n == 0:
            return x
        return down((x @ w).tanh().float(), n - 1)

    @function
    def f(x, n):
        with janus.autocast("cpu"):
            y = down(x, n)
        return y + down(x, n)

    for k in range(4):
        w.grad = None
        y = f(t(2, 4, seed=k), k + 2)
        y.sum().backward()
        log(y, w.grad)


def scaled_step(scaler, model, optimizer, x, y):
    optimizer.zero_grad()
    with janus.autocast("cpu", dtype=janus.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss


def scaled_training(function, log, **options):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    with janus.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(t(*p.shape, seed=k))
    optimizer = janus.optim.SGD(model.parameters(), lr=0.1)
    scaler = janus.amp.GradScaler(t(1).device.type, growth_interval=2, **options)
    step = function(lambda x, y: scaled_step(scaler, model, optimizer, x, y))
    for k in range(6):
        log(step(t(3, 4, seed=k), janus.tensor([0, 1, 2])), scaler.get_scale())
    log(list(model.state_dict().values()), scaler.state_dict())


@case(graph=MUST)
def scaler_inside(function, log):
    scaled_training(function, log, init_scale=256.0)


@case(graph=MUST)
def scaler_meets_infinities(function, log):
    scaled_training(function, log, init_scale=2.0 ** 24)


@case(graph=FAST)
def scaler_outside(function, log):
    model = nn.Linear(4, 3)
    with janus.no_grad():
        model.weight.copy_(t(3, 4))
        model.bias.copy_(t(3))
    optimizer = janus.optim.SGD(model.parameters(), lr=0.1)
    scaler = janus.amp.GradScaler(t(1).device.type, init_scale=2.0 ** 10, growth_interval=2)

    @function
    def losses(x, y):
        with janus.autocast("cpu", dtype=janus.float16):
            return F.cross_entropy(model(x), y)

    for k in range(5):
        optimizer.zero_grad()
        scaler.scale(losses(t(3, 4, seed=k), janus.tensor([0, 1, 2]))).backward()
        scaler.unscale_(optimizer)
        log(nn.utils.clip_grad_norm_(model.parameters(), 0.5))
        scaler.step(optimizer)
        scaler.update()
        log(scaler.get_scale(), model.weight, model.weight.grad)
