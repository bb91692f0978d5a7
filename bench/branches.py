# SPDX-License-Identifier: Apache-2.0
"""Branches and loops on a tensor's value: decided by the device inside one captured graph, by the host between
captures, and eager.  Microseconds a call, the least of several rounds; each column is a process of its own.

    ./run python3 bench/branches.py [--device cuda] [--calls 200]
"""
import argparse
import json
import os
import subprocess
import sys
import time

import janus

SIZE, HALVINGS = 256, 20


def branch(x, w):
    h = (x @ w).tanh()
    if h.sum() > 0:
        h = (h @ w).tanh()
    else:
        h = (h @ w).exp()
    return (h @ w).sum(1)


def branches(x, w):
    h = x * 1
    if h.sum() > 0:
        h = h + 1
    if h.max() > 1:
        h = h * 0.5
    if h.min() < 0:
        h = h.abs()
    if h.mean() > 0.1:
        h = (h @ w).tanh()
    return h.sum(1)


def loop(x, w):
    h = x * 1
    while h.abs().max() > 2.0 ** -HALVINGS:
        h = h * 0.5
    return h.sum(1)


def loop_of_products(x, w):
    h = (x @ w).tanh()
    n = 0
    while h.abs().max() > 2.0 ** -HALVINGS:
        h = (h @ w).tanh() * 0.5
        n += 1
    return h.sum(1)


CASES = {"a branch": branch, "four branches": branches, f"a loop of {HALVINGS} rounds": loop,
         "a loop of products": loop_of_products}


def measure(device, graph, calls):
    janus.manual_seed(1)
    x, w = janus.rand(8, SIZE).to(device), (janus.randn(SIZE, SIZE) / SIZE).to(device)
    times = {}
    with janus.no_grad():
        for name, fn in CASES.items():
            f = janus.function(fn, measure=False) if graph else fn
            best = None
            for _ in range(6):
                start = time.perf_counter()
                for _ in range(calls):
                    y = f(x, w)
                y.cpu()
                took = (time.perf_counter() - start) / calls * 1e6
                best = took if best is None or took < best else best
            times[name] = best
    stats = janus.cuda.graph_stats() if device == "cuda" else {}
    return {"times": times, "branches": stats.get("branches", 0)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda")
    p.add_argument("--calls", type=int, default=200)
    p.add_argument("--worker", choices=("graph", "eager"))
    a = p.parse_args()
    if a.worker:
        print(json.dumps(measure(a.device, a.worker == "graph", a.calls)))
        return
    columns = {}
    for name, worker, more in (("device decides", "graph", {}), ("host decides", "graph", {"JANUS_CUDA_BRANCHES": "0"}),
                               ("eager", "eager", {})):
        command = [sys.executable, __file__, "--device", a.device, "--calls", str(a.calls), "--worker", worker]
        done = subprocess.run(command, env={**os.environ, **more}, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{name}: failed")
        columns[name] = json.loads(done.stdout)
    if a.device == "cuda" and not columns["device decides"]["branches"]:
        print("the driver has no conditional nodes: the host decides in the first column, too")
    width = max(map(len, CASES))
    print(f"{'us a call':{width}}  " + "  ".join(f"{c:>14}" for c in columns))
    for name in CASES:
        print(f"{name:{width}}  " + "  ".join(f"{c['times'][name]:14.1f}" for c in columns.values()))


if __name__ == "__main__":
    main()
