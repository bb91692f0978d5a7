# SPDX-License-Identifier: Apache-2.0
"""What a call of a decorated function costs beside the same call undecorated: small functions, few and many
guards, and models of many modules, whose structure must not be checked piece by piece.

The graph's call minus what its run costs is guards, binding and wrapping.  `guards` counts the guard program's
reads; `guard` is the time of running it alone.  `as used` is the function decorated as everybody does: graphs that do
not pay are not used.  The statements between two clocks are a region of ten names.
"""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import janus  # noqa: E402
from janus import nn  # noqa: E402


class Deep(nn.Module):
    """n modules inside each other, each with one plain number; the tensor work is one op a module."""

    def __init__(self, n):
        super().__init__()
        self.scale = 0.5
        self.inner = Deep(n - 1) if n > 1 else None

    def forward(self, x):
        x = x * self.scale
        return x if self.inner is None else self.inner(x)


def mlp(n):
    return nn.Sequential(*[nn.Linear(4, 4) for _ in range(n)])


def add(x, y):
    return x + y


def twenty(x, y, a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=11, l=12, m=13, o=14, p=15):
    return x + y * (a + b + c + d + e + f + g + h + i + j + k + l + m + o + p)


def ten(a, b, c, d, e, f, g, h, i, x):
    time.perf_counter()
    y = a + b
    y = y * c + d
    y = y * e + f
    y = y * g + h
    y = y * i + x
    time.perf_counter()
    return y


def cases():
    x, y = janus.ones(4), janus.ones(4)
    yield "add", add, (x, y)
    yield "20 guards", twenty, (x, y)
    for n in (4, 16, 64):
        model = mlp(n)
        yield f"mlp of {n} layers", model.forward, (janus.ones(1, 4),)
    for n in (16, 64):
        yield f"{n} nested modules", Deep(n).forward, (x,)
    yield "region of 10 names", ten, tuple(janus.ones(4) for _ in range(10))


def once(fn, args, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        fn(*args)
    return (time.perf_counter() - start) / repeat


def measure(fn, args, rounds):
    graph, used = janus.function(fn, measure=False), janus.function(fn)
    with janus.no_grad():
        for _ in range(5):
            graph(*args)
        repeat = max(10, int(2e-3 / once(fn, args, 10)))
        once(used, args, 20 * repeat)  # what pays is known then
        plain, decorated, guard, usual = [], [], [], []
        for _ in range(rounds):
            plain.append(once(fn, args, repeat))
            decorated.append(once(graph, args, repeat))
            usual.append(once(used, args, repeat))
            if graph.stats()["graph"]:
                guard.append(janus._C._guard_time(graph, args, repeat))
    stats = graph.stats()
    assert stats["graph"] + stats["region_hits"] > rounds * repeat, stats
    return [statistics.median(v or [0]) * 1e6 for v in (plain, decorated, guard, usual)] + [stats["guards"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    janus.set_num_threads(1)
    table = {}
    print(f"{'microseconds a call':24}{'undecorated':>13}{'decorated':>11}{'as used':>9}{'guards':>8}{'guard':>8}{'per 20':>8}")
    for name, fn, args in cases():
        plain, decorated, guard, usual, n = measure(fn, args, options.rounds)
        table[name] = {"plain_us": plain, "decorated_us": decorated, "used_us": usual, "guard_us": guard, "guards": n}
        print(f"{name:24}{plain:13.2f}{decorated:11.2f}{usual:9.2f}{n:8}{guard:8.3f}{guard / n * 20 if n else 0:8.3f}")
    harness.finish(options.json, table)


if __name__ == "__main__":
    main()
