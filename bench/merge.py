# SPDX-License-Identifier: Apache-2.0
"""Models of one architecture: called one after the other, in one graph, and merged (janus.merge), beside torch.func.vmap.

    ./run python3 bench/merge.py [--models 8] [--seconds 0.5] [--threads 1] [--train]

Microseconds for one call of all models, the least of many short measurements: of processor time with one thread, of the clock with more
(one after the other, small models have no use for them; models that are merged have): `eager` one after the other, `graphs` a graph each, `one graph` a function that calls them all, `merged`.  `limit` is what the products
and the weights alone need: floating-point operations at the speed of a large product, or bytes of weights at that of a
large copy in the cache, whichever is longer.  `kernels`: the merged graph's tensor operations alone; `eager` over that is what
eager/merged would be if a call cost nothing else (`at most`).  Where torch is installed: `torch` one after the other, `torch vmap` with
stacked weights.  --train: with gradients of the sum of squares.
"""
import argparse
import copy
import importlib.util
import os
import time

import janus

H = 32


def kinds(lib):
    """name: (model, input) of a library with PyTorch's names."""
    nn, F = lib.nn, lib.nn.functional

    class MLP(nn.Module):
        def __init__(self, *sizes):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

        def forward(self, x):
            for layer in self.layers:
                x = F.relu(layer(x))
            return x

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.n = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
            self.d, self.l = nn.Conv2d(8, 16, 3, padding=1), nn.Linear(256, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.n(self.c(x))), 2)
            return self.l(F.max_pool2d(F.relu(self.d(x)), 2).flatten(1))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.q, self.o = nn.LayerNorm(H), nn.Linear(H, 3 * H), nn.Linear(H, H)
            self.m, self.f, self.g = nn.LayerNorm(H), nn.Linear(H, 2 * H), nn.Linear(2 * H, H)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = [a.reshape(b, t, 4, H // 4).transpose(1, 2) for a in self.q(self.n(x)).chunk(3, -1)]
            a = F.softmax(q @ k.transpose(-1, -2) * 0.35, -1) @ v
            x = x + self.o(a.transpose(1, 2).reshape(b, t, H))
            return x + self.g(F.gelu(self.f(self.m(x))))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.b, self.h = nn.Embedding(50, H), nn.ModuleList([Block(), Block()]), nn.Linear(H, 5)

        def forward(self, x):
            x = self.e(x)
            for block in self.b:
                x = block(x)
            return self.h(x.mean(1))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.c, self.l = nn.Embedding(50, H), nn.LSTMCell(H, H), nn.Linear(H, 5)

        def forward(self, x):
            e = self.e(x)
            h = c = lib.zeros(x.shape[0], H)
            for t in range(x.shape[1]):
                h, c = self.c(e[:, t], (h, c))
            return self.l(h)

    return {"MLP 64-64-10, 1 row": (lambda: MLP(64, 64, 10), lambda: lib.randn(1, 64)),
            "MLP 64-64-10, 8 rows": (lambda: MLP(64, 64, 10), lambda: lib.randn(8, 64)),
            "MLP of 8 layers, 1 row": (lambda: MLP(*[H] * 9), lambda: lib.randn(1, H)),
            "convolutions, 16x16": (Conv, lambda: lib.randn(1, 1, 16, 16)),
            "transformer, 8 tokens": (Transformer, lambda: lib.randint(0, 50, (1, 8))),
            "LSTM, 10 steps": (Recurrent, lambda: lib.randint(0, 50, (1, 10)))}


def us(f, seconds):
    """The least time of a call in many measurements, in microseconds."""
    clock = time.process_time if janus.get_num_threads() == 1 else time.perf_counter
    start = clock()
    n = 0
    while clock() - start < seconds or n < 60:
        f()
        n += 1
    parts = 7 if janus.get_num_threads() == 1 else 49
    n = max(1, n // parts)
    best = float("inf")
    for _ in range(parts):
        start = clock()
        for _ in range(n):
            f()
        best = min(best, (clock() - start) / n)
    return best * 1e6


def speeds(seconds):
    """Floating-point operations, and bytes read, a microsecond."""
    a, b = janus.randn(512, 512), janus.randn(512, 512)
    x = janus.randn(1 << 16)
    with janus.no_grad():
        return 2 * 512 ** 3 / us(lambda: a @ b, seconds), 4 * (1 << 16) / us(lambda: x.sum(), seconds)


def work(model, x):
    """Floating-point operations of the products of one call, and bytes of weights that it reads once."""
    flops, nn = [], janus.nn
    of = {nn.Linear: lambda m, x, y: y.numel() * m.in_features, nn.Conv2d: lambda m, x, y: y.numel() * m.weight[0].numel(),
          nn.LSTMCell: lambda m, x, y: x.shape[0] * (m.weight_ih.numel() + m.weight_hh.numel())}
    for kind, count in of.items():
        def counted(module, *args, _forward=kind.forward, _count=count):
            out = _forward(module, *args)
            flops.append(2 * _count(module, args[0], out))
            return out

        kind.forward, of[kind] = counted, kind.forward
    model(x)
    for kind, forward in of.items():
        kind.forward = forward
    return sum(flops), 4 * sum(p.numel() for n, p in model.named_parameters() if not n.startswith("e."))


def of_kernels(merged, run, calls):
    """The least time of the tensor operations of a call, in microseconds: the mean of each seventh."""
    best = float("inf")
    for _ in range(7):
        before = merged.stats()["tensor_ns"]
        for _ in range(calls // 7 + 1):
            run()
        best = min(best, (merged.stats()["tensor_ns"] - before) / (calls // 7 + 1))
    return best / 1e3


def called(lib, f, models, train):
    """f() without gradients, or with a backward of the sum of squares of what it returns."""
    if train:
        def run():
            for model in models:
                model.zero_grad()
            sum([y.pow(2).sum() for y in f()]).backward()
    else:
        def run():
            with lib.no_grad():
                f()
    return run


def of_torch(name, n, seconds, train):
    import torch
    torch.set_num_threads(janus.get_num_threads())
    make, data = kinds(torch)[name]
    models, xs = [make().eval() for _ in range(n)], [data() for _ in range(n)]
    params, buffers = torch.func.stack_module_state(models)
    base = make().eval().to("meta")
    stacked = torch.stack(xs)
    params = {k: p.detach().requires_grad_() for k, p in params.items()}
    mapped = torch.func.vmap(lambda p, b, x: torch.func.functional_call(base, (p, b), (x,)))

    def of_vmap():
        if not train:
            with torch.no_grad():
                return mapped(params, buffers, stacked)
        for p in params.values():
            p.grad = None
        mapped(params, buffers, stacked).pow(2).sum().backward()

    one = us(called(torch, lambda: [m(x) for m, x in zip(models, xs)], models, train), seconds)
    try:
        return one, us(of_vmap, seconds)
    except RuntimeError:
        return one, float("nan")


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--models", type=int, default=8)
    ask.add_argument("--seconds", type=float, default=0.5)
    ask.add_argument("--threads", type=int, default=1)
    ask.add_argument("--train", action="store_true")
    given = ask.parse_args()
    os.environ.setdefault("JANUS_QUIET", "1")
    janus.set_num_threads(1)
    flops, read = speeds(given.seconds)
    janus.set_num_threads(given.threads)
    torch = importlib.util.find_spec("torch") is not None
    columns = ["eager", "graphs", "one graph", "merged", "limit", "eager/merged", "kernels", "at most"] + ["torch", "torch vmap"] * torch
    print(f"{given.models} models, us a call{' with gradients' if given.train else ''}, {given.threads} threads; products at {flops / 1e3:.0f} GFLOP/s, "
          f"weights at {read / 1e3:.0f} GB/s\n")
    print("| model |" + "".join(f" {c} |" for c in columns) + "\n|---|" + "---|" * len(columns))
    for name, (make, data) in kinds(janus).items():
        janus.manual_seed(0)
        models, xs = [make().eval() for _ in range(given.models)], [data() for _ in range(given.models)]
        # copies, since a decorated module runs as a graph wherever it is called, in the column `eager` too
        graphs = [janus.function(copy.deepcopy(m)) for m in models]
        merged = janus.merge(models)
        ways = [lambda: [m(x) for m, x in zip(models, xs)], lambda: [m(x) for m, x in zip(graphs, xs)],
                janus.function(lambda: [m(x) for m, x in zip(models, xs)]), lambda: merged(xs)]
        times = [us(called(janus, f, models, given.train), given.seconds) for f in ways]
        ops, size = work(models[0], xs[0])
        limit = given.models * max(ops / flops, size / read) * (3 if given.train else 1)
        kernels = of_kernels(merged, called(janus, ways[3], models, given.train), 420)
        row = times + [limit, times[0] / times[3], kernels, times[0] / kernels]
        row += of_torch(name, given.models, given.seconds, given.train) if torch else ()
        print(f"| {name} |" + "".join(f" {v:.2f} |" if v < 10 else f" {v:.0f} |" for v in row), flush=True)


if __name__ == "__main__":
    main()
