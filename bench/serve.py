# SPDX-License-Identifier: Apache-2.0
"""Trees served by C: throughput and 99th percentile of samples/c/serve with batches, with one request at a time, and of
the Python process that trained the model, and the processor time of the process a request (which another load on the machine
does not change as it does the clock); memory of models that share weights against a process for each.  All are asked in
turn, --rounds times.

    ./run python3 bench/serve.py [--clients 32] [--requests 100] [--size 128] [--leaves 20] [--copies 8] [--rounds 7]
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import janus

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("JANUS_BUILD", SOURCE))
sys.path.insert(0, str(SOURCE / "samples"))
import serve_tree  # noqa: E402


class Server:
    """The server as a context: its port and what it keeps in memory."""

    def __init__(self, *args):
        self.args = args

    def __enter__(self):
        self.process = subprocess.Popen([str(BUILD / "samples/c/serve/serve"), *map(str, self.args)], stdout=subprocess.PIPE,
                                        text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def private_kb(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty")))

    def seconds(self):
        """Processor time that it has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, clients, requests, bodies):
        """[answers, wrong ones, per second, 50th and 99th percentile in us]"""
        done = subprocess.run([str(BUILD / "bench/serve_load"), str(self.port), "/models/0", str(clients), str(requests), bodies],
                              capture_output=True, text=True, check=True)
        return [float(x) for x in done.stdout.split()]


class PythonProcess:
    """One request after another without a network: JSON, decorated model, JSON."""

    def __init__(self, model, lines):
        self.f, self.lines, self.at = janus.function(model.forward), lines, 0

    def answer(self):
        self.at += 1
        scores = self.f(serve_tree.tree_of(json.loads(self.lines[self.at % len(self.lines)])["tree"]))[0].tolist()
        return json.dumps({"scores": scores, "class": max(range(2), key=scores.__getitem__)})

    def load(self, n):
        """per second, 50th and 99th percentile in us, processor time a request"""
        times, used = [], time.process_time()
        with janus.no_grad():
            for _ in range(n):
                start = time.perf_counter()
                self.answer()
                times.append(time.perf_counter() - start)
        used = time.process_time() - used
        times.sort()
        return n / sum(times), times[n // 2] * 1e6, times[n * 99 // 100] * 1e6, used / n * 1e6


def asked(server, args, bodies):
    """The same of a server."""
    used = server.seconds()
    answered, wrong, *row = server.load(args.clients, args.requests, bodies)
    assert answered == args.clients * args.requests and not wrong
    return *row, (server.seconds() - used) / answered * 1e6


def rounds(model, lines, folder, args):
    """{way: rows}: all ways asked in turn, so that what else the machine does meets all alike."""
    ways = {"C, one at a time": ("--batch", 1), "C, batches, no deadline": ("--deadline", 0),
            "C, batches, deadline 2 ms": ("--deadline", 2),
            "C, batches, deadline 2 ms, 2 threads": ("--deadline", 2, "--threads", 2)}
    rows, bodies = {}, str(folder / "bodies")
    python = PythonProcess(model, lines)
    python.load(30)
    with contextlib.ExitStack() as stack:
        servers = {title: stack.enter_context(Server(*options, f"0={folder / '0'}")) for title, options in ways.items()}
        for server in servers.values():
            server.load(args.clients, 5, bodies)
        for _ in range(args.rounds):
            rows.setdefault("Python process, no network", []).append(python.load(args.clients * args.requests // 4))
            for title, server in servers.items():
                rows.setdefault(title, []).append(asked(server, args, bodies))
    return rows


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("clients", 32), ("requests", 100), ("size", 128), ("leaves", 20), ("copies", 8), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    model = serve_tree.TreeLSTM(args.size)
    rng = random.Random(0)
    lines = [json.dumps({"tree": serve_tree.random_tree(rng, args.leaves)[0]}) for _ in range(200)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        serve_tree.export(model, folder, args.copies)
        (folder / "bodies").write_text("\n".join(lines) + "\n")
        print(f"Tree-LSTM of {args.size}, trees of {args.leaves} leaves, {args.clients} clients, medians of {args.rounds} rounds")
        print(f"{'':36}{'per second':>12}{'p50 us':>10}{'p99 us':>10}{'cpu us':>10}")
        for title, found in rounds(model, lines, folder, args).items():
            rate, p50, p99, cpu = (statistics.median(column) for column in zip(*found))
            print(f"{title:36}{rate:12.0f}{p50:10.0f}{p99:10.0f}{cpu:10.1f}")
        with Server(*(f"{i}={folder / str(i)}" for i in range(args.copies))) as together:
            shared = together.private_kb()
        apart = 0
        for i in range(args.copies):
            with Server(f"0={folder / str(i)}") as alone:
                apart += alone.private_kb()
        print(f"private memory of {args.copies} models: {shared} KB in one process, {apart} KB in one each")


if __name__ == "__main__":
    main()
