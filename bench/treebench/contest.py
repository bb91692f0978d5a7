# SPDX-License-Identifier: Apache-2.0
"""Systems that run one configuration in turn, and what is measured of them.

A server is a process with its libraries loaded, kept for all configurations; for each it makes a
copy of itself, so that memory is that of one configuration only.  One process works at a time.
"""
import os
import statistics
import sys
import time

import harness
from treebench import inputs

ROUNDS = 7
PROBE_S = 0.02
LEAST_S = 3.0  # of a configuration, however little time is left
LEARNING_RATE = 0.001  # more, and the first steps of a recursive tensor network amplify rounding 1e4 times
TOLERANCE = 1e-3  # of the losses of one step, relative
TREES = 2000  # of the data, the first ones; the vocabulary is that of all
COMPARED = 8  # steps: later the trajectories drift apart as rounding does
SYSTEMS = ["janus-imperative", "janus-coexecution", "janus", "janus-exact", "pytorch", "pytorch-batched",
           "pytorch-derived", "dynet"]
ON_THE_CPU = ("dynet",)  # here
CONVERTED = ("janus", "janus-exact")
FIRST = 6  # steps of theirs that are not measured: CPython's, the compared one, a graph's first two, one of each to choose


class Left(Exception):
    """A system that cannot run here."""


class Server(harness.Worker):
    """A system with a number of threads, or one library's matrix product."""

    def __init__(self, system, threads, patience, device):
        python = harness.peers_python(system)
        if device != "cpu" and system in ON_THE_CPU:
            raise Left("only on the CPU here")
        if python is None:
            raise Left("bench/peers/setup.sh has not been run")
        script = os.path.join(harness.HERE, "peers", "trees", "serve.py")
        super().__init__([python, script, system, str(threads)], "janus" in system, patience, BENCH_DEVICE=device)
        self.check(self.hello)

    def check(self, found):
        if "error" in found:
            raise Left(found["error"])
        return found

    def ask(self, **what):
        return self.check(super().ask(**what))


class Servers:
    """Those that were started, by system and threads; one that failed is started again when it is asked for.
    `threads`: how many each system is to have, None: see thread_counts()."""

    def __init__(self, patience, device="cpu", threads=None):
        self.patience, self.device, self.threads, self.started = patience, device, threads, {}

    def get(self, system, threads):
        server = self.started.get((system, threads))
        if server is None or server.process.poll() is not None:
            server = self.started[system, threads] = Server(system, threads, self.patience, self.device)
        return server

    def probes(self):
        """What measures the CPU's best matrix product; PyTorch's may not be installed."""
        found = []
        if self.device != "cpu":  # a level's products are far from what a GPU can do
            return found
        for name in ("probe-janus", "probe-pytorch"):
            try:
                found.append(self.get(name, os.cpu_count()))
            except Left as reason:
                print(f"{name}: left out: {reason}")
        return found

    def stop(self):
        for server in self.started.values():
            server.stop()


def batches_of(trees, size):
    return [trees[start:start + size] for start in range(0, len(trees) - size + 1, size)]


class Configuration:
    """A model, its data, sizes and mode; knows what each batch costs."""

    def __init__(self, model, data, hidden, batch, mode, count=TREES):
        self.model, self.hidden, self.batch, self.mode = model, hidden, batch, mode
        self.data, trees, self.words, self.classes = data
        self.trees = trees[:count]
        self.factor = 3 if mode == "train" else 1
        flops = [self.cost(inputs.count(tree)) for tree in self.trees]
        self.mean = None if model.grows else sum(flops) / len(flops)
        self.flops = [sum(part) for part in batches_of(flops, batch)]

    def columns(self):
        return {"model": self.model.name, "data": self.data, "hidden": self.hidden, "batch": self.batch,
                "mode": self.mode}

    def cost(self, counts):
        return self.factor * self.model.flops(counts, self.hidden, self.classes)

    def work(self, first, steps, grown):
        """FLOPs of so many batches from one on; `grown` has the nodes of each where the model grows them."""
        if not self.model.grows:
            return sum(self.flops[step % len(self.flops)] for step in range(first, first + steps))
        roots, nodes = steps * self.batch, sum(grown)
        work = self.cost({0: (nodes + roots) // 2, 2: (nodes - roots) // 2})
        self.mean = self.mean or work / roots
        return work

    def write(self, path):
        shapes = self.model.shapes(self.words, self.hidden, self.classes)
        inputs.write(path, trees=self.trees, words=self.words, classes=self.classes, hidden=self.hidden,
                     batch=self.batch, mode=self.mode, model=self.model.name, data=self.data,
                     grows=self.model.grows, lr=LEARNING_RATE,
                     weights=inputs.make_weights(shapes, self.model.scales), **{"class": self.model.cls})


class Contender:
    """A system with a number of threads in one configuration, and what was measured of it."""

    def __init__(self, name, threads, server, path):
        self.name, self.threads, self.server = name, threads, server
        self.steps, self.spent = 0, 0.0
        self.losses, self.rates, self.processor_rates, self.ratios = [], [], [], []
        server.ask(open=path)

    def rate(self):
        return statistics.median(self.rates)

    def run(self, configuration, seconds, least, probes):
        """One window between two measurements of the best matrix product."""
        before = probe(probes)
        found = self.server.ask(run=seconds, least=least)
        after = probe(probes)
        work = configuration.work(self.steps, found["steps"], found["grown"])
        self.steps += found["steps"]
        self.spent += found["seconds"]
        self.losses += found["losses"]
        self.rates.append(work / configuration.mean / found["seconds"])
        self.processor_rates.append(work / configuration.mean / max(found["processor"], 1e-9))
        if probes:
            self.ratios.append(found["seconds"] * (before + after) / 2 / work)

    def warm_up(self, configuration, seconds, probes):
        """Sets up and measures once; a step that takes long is not repeated."""
        self.run(configuration, 0, FIRST if self.name in CONVERTED else 1, [])
        if self.spent < seconds or self.name in CONVERTED:
            self.run(configuration, seconds / 2, 1, probes)
            del self.rates[:-1], self.processor_rates[:-1]
        self.spent = 0.0

    def close(self):
        if self.server.process.poll() is None:
            try:
                self.server.ask(close=True)
            except Left:
                self.server.stop()


def probe(probes):
    return max((server.ask(probe=PROBE_S)["flops_per_s"] for server in probes), default=None)


def thread_counts(system, device, wanted=None):
    """janus takes all cores, as it does by itself; of PyTorch on the CPU one thread and all are tried.  `wanted` of both."""
    cores = wanted or os.cpu_count()
    if device != "cpu":
        return [cores]
    return sorted({wanted or 1, cores}) if system.startswith("pytorch") else [1] if system == "dynet" else [cores]


def disagreement(contenders):
    """Of the losses of one step: (greatest relative difference, two systems, how many steps were compared)."""
    worst, steps = (0.0, "", ""), 0
    reference = max(contenders, key=lambda contender: len(contender.losses))
    for other in contenders:
        compared = list(zip(reference.losses, other.losses))[:COMPARED]
        steps = max(steps, len(compared) if other is not reference else 0)
        for a, b in compared:
            difference = abs(a - b) / max(abs(a), 1e-30)
            if not difference <= worst[0]:  # NaN too
                worst = difference, reference.name, other.name
    return (*worst, steps)


class Contest:
    """All systems in one configuration."""

    def __init__(self, configuration, systems, servers, probes):
        self.configuration, self.systems, self.servers, self.probes = configuration, systems, servers, probes
        self.contenders, self.left, self.builds, self.difference = [], {}, {}, None

    def start(self, path):
        """Starts what can be started."""
        self.configuration.write(path)
        for name in self.systems:
            for threads in thread_counts(name, self.servers.device, self.servers.threads):
                say(f"{name}: starts")
                try:
                    server = self.servers.get(name, threads)
                    self.contenders.append(Contender(name, threads, server, path))
                    self.builds[name] = server.hello["version"]
                except Left as reason:
                    self.left[name] = str(reason)

    def drop(self, contender, reason=None):
        contender.close()
        self.contenders.remove(contender)
        if reason is not None:
            self.left[contender.name] = str(reason)

    def drop_slower(self, factor):
        """Of the contenders that are one system, only those within a factor of the best go on."""
        best = {}
        for contender in self.contenders:
            best[contender.name] = max(best.get(contender.name, 0.0), contender.rate())
        for contender in list(self.contenders):
            if contender.rate() * factor < best[contender.name]:
                self.drop(contender)

    def run(self, seconds):
        """So many seconds of measured time.  The first round warms up and drops what is far slower; a
        system whose step is longer than its share of a round takes part in fewer of them."""
        share = seconds / (ROUNDS + 1) / max(len({contender.name for contender in self.contenders}), 1)
        for number in range(ROUNDS + 1):
            for contender in list(self.contenders):
                say(f"round {number}/{ROUNDS}: {contender.name}")
                own = share / sum(other.name == contender.name for other in self.contenders)
                try:
                    if number == 0:
                        contender.warm_up(self.configuration, own, self.probes)
                    elif contender.spent <= 1.5 * own * (number - 1):
                        contender.run(self.configuration, own, 1, self.probes)
                except Left as reason:
                    self.drop(contender, reason)
            if number == 0:
                self.drop_slower(1.3)
                for contender in self.contenders:
                    contender.rates.clear()
                    contender.processor_rates.clear()
                    contender.ratios.clear()
        if len(self.contenders) > 1:
            self.difference = disagreement(self.contenders)
        self.drop_slower(1.0)

    def rows(self):
        """What was measured, a row for each system."""
        for contender in list(self.contenders):
            try:
                found = contender.server.ask(peak=True)
            except Left as reason:
                self.drop(contender, reason)
                continue
            yield dict(self.configuration.columns(), system=contender.name, trees_per_s=contender.rate(),
                       trees_per_cpu_s=statistics.median(contender.processor_rates),
                       floor_ratio=statistics.median(contender.ratios) if contender.ratios else None,
                       peak_bytes=found["bytes"], threads=contender.threads, rates=contender.rates,
                       ratios=contender.ratios, stats=found["stats"])

    def close(self):
        for contender in list(self.contenders):
            self.drop(contender)
        say("")


def say(text):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


class Pace:
    """Seconds of measured time of each configuration: given, or what is left of so many minutes."""

    def __init__(self, seconds, minutes, count):
        self.seconds, self.count = seconds, count
        self.end = None if minutes is None else time.monotonic() + 60 * minutes
        self.overhead = 0.0  # of the last configuration, what was not measured time

    def next(self):
        """Of the next configuration."""
        if self.end is not None:
            self.seconds = max(LEAST_S, (self.end - time.monotonic()) / max(self.count, 1) - self.overhead)
        self.began = time.monotonic()
        return self.seconds

    def done(self):
        self.count -= 1
        self.overhead = max(0.0, time.monotonic() - self.began - self.seconds)
