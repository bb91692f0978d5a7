# SPDX-License-Identifier: Apache-2.0
"""Dense programs, one text for janus and PyTorch: chains of elementwise ops, norms, attention, networks.

A row is a name and `row(lib) -> (operands, program, model, flops, numbers)`: what it computes with, a function of
(model, *operands), a module or None, and the work of a forward pass that no system can save: operations of
products, and numbers that go in and out (weights are read, operands read, results written).  Rows that end in
"train" go backward, and step SGD with momentum where there are weights.  Settings: `seconds` of a round, `quick`
(small sizes).  A round's `check` is what the first steps gave.
"""
import functools
import math
import time

from zoo_steps import network, numbers, fill

CHECKED = 3


def prepare(lib, settings):
    lib.manual_seed(0)


def modes(name, lib, settings):
    """`(suffix of the contender, how it treats a step, how it treats a forward pass)`."""
    def same(thing):
        return thing
    if name == "janus":
        return [("janus eager", same, same), ("janus graph", functools.partial(lib.function, measure=False), same)]
    return [("PyTorch eager", same, same), ("torch.compile", same, lib.compile)]


# ---- programs: (model, *operands) -> result

def chain(model, x):
    """28 cheap elementwise ops and a sum."""
    for k in range(4):
        y = x * 1.5 + 0.25
        y = y - x.abs()
        y = y.clamp(-4.0, 4.0) * x
        x = (y + x) * 0.5
    for k in range(4):
        x = x.relu() - x * 0.125
    return x.sum()


def gates(model, x, y):
    """What a recurrent cell does to its gates: tanh, sigmoid and products."""
    c = x.sigmoid() * y + y.sigmoid() * x.tanh()
    return (c.tanh() * (x + y).sigmoid()).mean()


def softmax(model, x):
    return x.softmax(-1)


def layer_norm(model, x):
    return model(x)


def residual_norm(model, x, y):
    """A sum, a norm and an activation: neighbours that could share a pass."""
    return model(x + y).relu() * 0.5


def attention(model, q, k, v):
    """Attention written out."""
    return ((q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]))).softmax(-1) @ v


def apply(model, *operands):
    return model(*operands)


def first(model, x):
    return model(x)[0]


# ---- networks that samples/zoo does not have

def resnet18(lib):
    nn = lib.nn

    class Basic(nn.Module):
        def __init__(self, n, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(n, width, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.shortcut = nn.Sequential(nn.Conv2d(n, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width)) \
                if stride != 1 or n != width else nn.Identity()

        def forward(self, x):
            y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
            return (y + self.shortcut(x)).relu()

    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
              nn.MaxPool2d(3, stride=2, padding=1)]
    n = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Basic(n, width, stride), Basic(width, width, 1)]
        n = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 10))


def unet(lib, width):
    nn = lib.nn

    def twice(n, m):
        return nn.Sequential(nn.Conv2d(n, m, 3, padding=1, bias=False), nn.BatchNorm2d(m), nn.ReLU(),
                             nn.Conv2d(m, m, 3, padding=1, bias=False), nn.BatchNorm2d(m), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.bottom = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
            self.pool = nn.MaxPool2d(2)
            self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), \
                nn.ConvTranspose2d(2 * width, width, 2, stride=2)
            self.side2, self.side1 = twice(4 * width, 2 * width), twice(2 * width, width)
            self.out = nn.Conv2d(width, 2, 1)

        def forward(self, x):
            a = self.down1(x)
            b = self.down2(self.pool(a))
            y = self.up2(self.bottom(self.pool(b)))
            y = self.side2(lib.cat([b, y], 1))
            return self.out(self.side1(lib.cat([a, self.up1(y)], 1)))
    return UNet()


# ---- rows

def flops_of(lib, model, operands):
    """Operations of the products of one forward pass, by what its layers see; attention is left out."""
    nn, total = lib.nn, [0.0]
    costs = {
        nn.Linear: lambda m, x, y: y.numel() * m.in_features,
        nn.Conv2d: lambda m, x, y: y.numel() * m.weight.numel() / m.weight.shape[0],
        nn.ConvTranspose2d: lambda m, x, y: x.numel() * m.weight.numel() / m.weight.shape[0],
        nn.LSTM: lambda m, x, y: x.shape[0] * x.shape[1] * sum(w.numel() for w in m.parameters() if w.dim() == 2),
    }
    forwards = {kind: kind.forward for kind in costs}

    def counted(kind):
        def forward(module, x, *rest):
            result = forwards[kind](module, x, *rest)
            total[0] += 2.0 * costs[kind](module, x, result)
            return result
        return forward
    model.eval()
    try:
        for kind in costs:
            kind.forward = counted(kind)
        with lib.no_grad():
            model(*operands)
    finally:
        for kind, forward in forwards.items():
            kind.forward = forward
    return total[0]


def of_model(make, *shape, program=apply):
    def row(lib):
        model = make(lib)
        fill(lib, model)
        x = numbers(lib, *shape)
        return (x,), program, model, flops_of(lib, model, (x,)), x.numel() + sum(w.numel() for w in model.parameters())
    return row


def of_zoo(name, *shape, **sizes):
    return of_model(lambda lib: network(lib, name, **sizes), *shape)


def plain(program, *shapes, flops=0.0, out=1):
    """`out`: numbers of the result."""
    def row(lib):
        operands = tuple(numbers(lib, *shape, at=11 * i) for i, shape in enumerate(shapes))
        return operands, program, None, flops, out + sum(x.numel() for x in operands)
    return row


def norm(program, count, *shape):
    def row(lib):
        model = lib.nn.LayerNorm(shape[-1])
        operands = tuple(numbers(lib, *shape, at=11 * i) for i in range(count))
        return operands, program, model, 0.0, (count + 1) * math.prod(shape)
    return row


def mlp(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


FULL = {f"chain 1e{n}": plain(chain, (10 ** n,)) for n in range(2, 8)}
FULL.update({
    "chain 1e4 train": plain(chain, (10 ** 4,)),
    "chain 1e6 train": plain(chain, (10 ** 6,)),
    "chain 1000x1000": plain(chain, (1000, 1000)),
    "gates 1e4": plain(gates, (10 ** 4,), (10 ** 4,)),
    "gates 1e6": plain(gates, (10 ** 6,), (10 ** 6,)),
    "gates 1e6 train": plain(gates, (10 ** 6,), (10 ** 6,)),
    "softmax 64x64": plain(softmax, (64, 64), out=64 * 64),
    "softmax 1024x1024": plain(softmax, (1024, 1024), out=2 ** 20),
    "softmax 1024x1024 train": plain(softmax, (1024, 1024), out=2 ** 20),
    "layer norm 64x64": norm(layer_norm, 1, 64, 64),
    "layer norm 1024x768": norm(layer_norm, 1, 1024, 768),
    "layer norm 1024x768 train": norm(layer_norm, 1, 1024, 768),
    "residual norm 1024x768": norm(residual_norm, 2, 1024, 768),
    "residual norm 1024x768 train": norm(residual_norm, 2, 1024, 768),
})
for _shape in ((8, 64, 64), (48, 256, 64)):
    _heads, _length, _size = _shape
    for _end in ("", " train"):
        FULL[f"attention {_heads}x{_length}x{_size}{_end}"] = plain(
            attention, _shape, _shape, _shape, flops=4.0 * _heads * _length ** 2 * _size, out=math.prod(_shape))
for _end, _rows in (("", 1), (" train", 16)):
    FULL.update({
        f"MLP{_end}": of_model(mlp, 64, 256),
        f"LSTM{_end}": of_model(lambda lib: lib.nn.LSTM(256, 256), 32, 16, 256, program=first),
        f"ResNet-18{_end}": of_model(resnet18, _rows, 3, 64, 64),
        f"ResNet-50{_end}": of_zoo("resnet50", _rows, 3, 64, 64, classes=10),
        f"MobileNetV2{_end}": of_zoo("mobilenet_v2", _rows, 3, 64, 64, classes=10),
        f"U-Net{_end}": of_model(lambda lib: unet(lib, 16), 2, 3, 64, 64),
        f"GPT-2 block{_end}": of_zoo("gpt2_block", 2, 128, 768),
    })

QUICK = {
    "chain 1e2": FULL["chain 1e2"],
    "chain 1e4": FULL["chain 1e4"],
    "chain 1e4 train": FULL["chain 1e4 train"],
    "gates 1e4": FULL["gates 1e4"],
    "softmax 64x64": FULL["softmax 64x64"],
    "layer norm 64x64": FULL["layer norm 64x64"],
    "residual norm 64x64 train": norm(residual_norm, 2, 64, 64),
    "attention 8x64x64 train": FULL["attention 8x64x64 train"],
    "MLP train": of_model(lambda lib: lib.nn.Sequential(lib.nn.Linear(8, 32), lib.nn.ReLU(), lib.nn.Linear(32, 2)), 4, 8),
    "LSTM train": of_model(lambda lib: lib.nn.LSTM(8, 8), 4, 2, 8, program=first),
    "U-Net": of_model(lambda lib: unet(lib, 4), 1, 3, 16, 16),
    "U-Net train": of_model(lambda lib: unet(lib, 4), 2, 3, 16, 16),
    "GPT-2 block train": of_zoo("gpt2_block", 1, 16, 32, size=32, heads=2),
}


def rates(lib, sizes):
    """What the machine can do, as this library shows it: operations a second of the best of some square products, and
    numbers a second that are read and written by a copy, by numbers copied (at least so many that its call is little)."""
    def best(call, work):
        call()
        found, end = 0.0, time.perf_counter() + 0.1
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(4):
                call()
            found = max(found, 4 * work / (time.perf_counter() - start))
        return found

    products = []
    with lib.no_grad():
        for n in (256, 512, 1024):
            a, b = numbers(lib, n, n), numbers(lib, n, n, at=3)
            products.append(best(functools.partial(lib.matmul, a, b), 2.0 * n ** 3))
        copies = {}
        for n in sizes:
            a, b = numbers(lib, n), numbers(lib, n, at=3)
            copies[str(n)] = best(functools.partial(b.copy_, a), 2.0 * n)
    return {"flops": max(products), "numbers": copies}


def contenders(lib, wanted, settings):
    rows = QUICK if settings["quick"] else FULL

    def set_up(name, row, on_step, on_forward):
        operands, program, model, flops, count = row(lib)
        train = name.endswith("train")
        forward = on_forward(functools.partial(program, model) if lib.__name__ == "torch" else program)
        weights = list(model.parameters()) if model is not None else []
        optimizer = lib.optim.SGD(weights, lr=0.01, momentum=0.9) if train and weights else None
        if model is not None:
            model.train(train)
        if train and not weights:
            operands = tuple(x.requires_grad_() for x in operands)

        def call(*operands):
            return forward(*operands) if lib.__name__ == "torch" else forward(model, *operands)

        if train:
            def step(*operands):
                for x in operands:
                    x.grad = None
                if optimizer is not None:
                    optimizer.zero_grad()
                result = call(*operands)
                loss = (result * result).mean()
                loss.backward()
                if optimizer is not None:
                    optimizer.step()
                return loss.detach()
        else:
            def step(*operands):
                with lib.no_grad():
                    return call(*operands)

        step = on_step(step)
        check = [step(*operands).double().abs().mean().item() for _ in range(CHECKED)]
        if train and not weights:
            check += [x.grad.double().abs().mean().item() for x in operands]
        step(*operands)
        start = time.perf_counter()
        step(*operands)
        n = max(1, min(20000, int(settings["seconds"] / (time.perf_counter() - start))))

        def run():
            for _ in range(n):
                step(*operands)
            return n
        # statistics of a few numbers, where an image has become one point, amplify rounding with every step
        run.check = check[:1] if train and operands[0].dim() == 4 else check
        run.facts = {"flops": flops * (3 if train else 1), "numbers": count * (2 if train else 1)}
        if lib.__name__ == "janus" and hasattr(step, "stats"):
            run.facts["graph"] = step.stats()["graph"] > 0
        return run

    found = {f"{name}: {suffix}": functools.partial(set_up, name, row, on_step, on_forward)
             for name, row in rows.items() for suffix, on_step, on_forward in wanted}

    def limits(suffix):
        def set_up():
            def run():
                return 1
            run.check, run.facts = [], rates(lib, [10 ** n for n in range(4, 6 if settings["quick"] else 8)])
            return run
        return set_up
    for suffix, _, _ in wanted:
        found[f"limits: {suffix}"] = limits(suffix)
    return found
