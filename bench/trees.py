# SPDX-License-Identifier: Apache-2.0
"""Recursive networks over trees: janus beside PyTorch and DyNet, training and inference.

Every system gets the same trees in the same order, the same initial weights and the same optimizer
and is timed from the Python trees of a batch to the updated weights (training) or to the loss
(inference).  Systems run in turn, a window each in every round; before and after each window the
best square matrix product is measured, and `floor_ratio` is how often the time is that of the
model's matrix products at that rate.  A tree is the mean tree of the data.
"""
import argparse
import itertools
import os
import platform
import statistics
import sys
import tempfile

import harness
from treebench import inputs
from treebench.models import MODELS

SYSTEMS = ["janus-imperative", "janus", "janus-exact", "pytorch", "pytorch-batched", "pytorch-derived", "dynet"]
ROUNDS = 7
PROBE_S = 0.02
LEARNING_RATE = 0.05
TOLERANCE = 1e-3  # of the losses of one step, relative
TREES = 2000  # of the data, the first ones; the vocabulary is that of all
COMPARED = 8  # steps: later the trajectories drift apart as rounding does
COLUMNS = ["model", "data", "hidden", "batch", "mode", "system", "trees_per_s", "floor_ratio", "peak_bytes"]


class Left(Exception):
    """A system that cannot run here."""


class Process(harness.Worker):
    """One system in one configuration, or one library's matrix product."""

    def __init__(self, system, path, threads, patience):
        python = harness.peers_python(system)
        if python is None:
            raise Left("bench/peers/setup.sh has not been run")
        script = os.path.join(harness.HERE, "peers", "trees", "serve.py")
        super().__init__([python, script, system, path, str(threads)], "janus" in system, patience)
        self.check(self.hello)

    def check(self, found):
        if "error" in found:
            self.stop()
            raise Left(found["error"])
        return found

    def ask(self, **what):
        return self.check(super().ask(**what))


def batches_of(trees, size):
    return [trees[start:start + size] for start in range(0, len(trees) - size + 1, size)]


class Configuration:
    """A model, its data, sizes and mode; knows what each batch costs."""

    def __init__(self, model, data, hidden, batch, mode):
        self.model, self.hidden, self.batch, self.mode = model, hidden, batch, mode
        self.data, trees, self.words, self.classes = data
        self.trees = trees[:TREES]
        self.factor = 3 if mode == "train" else 1
        flops = [self.cost(inputs.count(tree)) for tree in self.trees]
        self.mean = None if model.grows else sum(flops) / len(flops)
        self.flops = [sum(part) for part in batches_of(flops, batch)]

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
    """A system with a number of threads, and what was measured of it."""

    def __init__(self, name, threads, process):
        self.name, self.threads, self.process = name, threads, process
        self.steps = 0
        self.losses, self.rates, self.ratios = [], [], []

    def rate(self):
        return statistics.median(self.rates)


def thread_counts(system):
    """janus takes all cores, as it does by itself; of PyTorch one thread and all are tried."""
    cores = os.cpu_count()
    return sorted({1, cores}) if system.startswith("pytorch") else [1] if system == "dynet" else [cores]


def probe(probes):
    return max((process.ask(probe=PROBE_S)["flops_per_s"] for process in probes), default=None)


def window(contender, configuration, seconds, least, probes):
    before = probe(probes)
    found = contender.process.ask(run=seconds, least=least)
    after = probe(probes)
    work = configuration.work(contender.steps, found["steps"], found["grown"])
    contender.steps += found["steps"]
    contender.losses += found["losses"]
    return work, found["seconds"], (before + after) / 2 if probes else None


def disagreement(contenders):
    """The greatest relative difference of the losses of one step, and the two systems it is of."""
    worst = 0.0, "", ""
    reference = max(contenders, key=lambda contender: len(contender.losses))
    for other in contenders:
        for a, b in list(zip(reference.losses, other.losses))[:COMPARED]:
            difference = abs(a - b) / max(abs(a), 1e-30)
            if not difference <= worst[0]:  # NaN too
                worst = difference, reference.name, other.name
    return worst


def start_probes(options):
    """What measures the best matrix product; PyTorch's may not be installed."""
    probes = []
    for name in ("probe-janus", "probe-pytorch"):
        try:
            probes.append(Process(name, "-", os.cpu_count(), options.patience))
        except Left as reason:
            print(f"{name}: left out: {reason}")
    return probes


def start(configuration, options, results, left):
    """The contenders that can be started."""
    path = os.path.join(options.folder, "inputs")
    configuration.write(path)
    contenders = []
    for name in options.systems:
        for threads in thread_counts(name):
            say(f"{name}: starts")
            try:
                contenders.append(Contender(name, threads, Process(name, path, threads, options.patience)))
                results["builds"][name] = contenders[-1].process.hello["version"]
            except Left as reason:
                left[name] = str(reason)
    return contenders


def drop(contenders, contender):
    contender.process.stop()
    contenders.remove(contender)


def drop_slower(contenders, factor):
    """Of the contenders that are one system, only those within a factor of the best go on."""
    best = {}
    for contender in contenders:
        best[contender.name] = max(best.get(contender.name, 0.0), contender.rate())
    for contender in list(contenders):
        if contender.rate() * factor < best[contender.name]:
            drop(contenders, contender)


def rounds(configuration, options, contenders, probes, left):
    """Runs all in turn; the first round warms up and is only used to drop what is far slower."""
    share = options.seconds / (ROUNDS + 1) / max(len({contender.name for contender in contenders}), 1)
    for number in range(ROUNDS + 1):
        for contender in list(contenders):
            say(f"round {number}/{ROUNDS}: {contender.name}")
            alike = sum(other.name == contender.name for other in contenders)
            try:
                if number == 0:
                    window(contender, configuration, share / alike, 2, probes)
                work, took, peak = window(contender, configuration, share / alike, 1, probes)
            except Left as reason:
                left[contender.name] = str(reason)
                drop(contenders, contender)
                continue
            contender.rates.append(work / configuration.mean / took)
            if peak:
                contender.ratios.append(took * peak / work)
        if number == 0:
            drop_slower(contenders, 1.3)
            for contender in contenders:
                contender.rates.clear()
                contender.ratios.clear()
    worst = disagreement(contenders) if len(contenders) > 1 else None
    drop_slower(contenders, 1.0)
    return worst


def measure(configuration, options, probes, results):
    """All systems in one configuration: adds rows, says what was left out."""
    left = {}
    contenders = start(configuration, options, results, left)
    try:
        worst = rounds(configuration, options, contenders, probes, left)
        for contender in contenders:
            found = contender.process.ask(peak=True)
            row = dict(zip(COLUMNS, [
                configuration.model.name, configuration.data, configuration.hidden, configuration.batch,
                configuration.mode, contender.name, contender.rate(),
                statistics.median(contender.ratios) if contender.ratios else None, found["bytes"]]))
            show(row)
            results["rows"].append(dict(row, threads=contender.threads, rates=contender.rates,
                                        ratios=contender.ratios, stats=found["stats"]))
    finally:
        for contender in contenders:
            contender.process.stop()
        say("")
    for name, reason in left.items():
        if results["left_out"].get(name) != reason:
            print(f"{name}: left out: {reason}")
        results["left_out"][name] = reason
    if worst:
        difference, first, second = worst
        results["loss_difference"] = max(difference, results["loss_difference"])
        print(f"losses: largest relative difference {difference:.1e} ({first}, {second})")
        if not difference <= TOLERANCE:
            results["failed"] = True
            print(f"FAILED: {first} and {second} do not compute the same")


def say(text):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def show(row=None):
    widths = [9, 8, 6, 5, 5, 16, 11, 11, 11]
    if row is None:
        cells = COLUMNS
    else:
        cells = list(row.values())
        cells[6] = f"{cells[6]:.1f}"
        cells[7] = "-" if cells[7] is None else f"{cells[7]:.2f}"
        cells[8] = "-" if cells[8] is None else cells[8]
    say("")
    print(" ".join(f"{str(cell):{'<' if i < 6 else '>'}{width}}" for i, (cell, width) in enumerate(zip(cells, widths))),
          flush=True)


def several(kind, allowed=None):
    def parse(text):
        found = [kind(part) for part in text.split(",") if part]
        for part in found:
            if allowed is not None and part not in allowed:
                raise argparse.ArgumentTypeError(f"{part} is none of {', '.join(map(str, allowed))}")
        return found
    return parse


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="Lists are separated by commas.")
    parser.add_argument("--data", metavar="DIR", help="folder of the Stanford Sentiment Treebank's files")
    parser.add_argument("--model", type=several(str.lower, list(MODELS)), default=list(MODELS), metavar="M",
                        help=", ".join(MODELS) + " (default: all)")
    parser.add_argument("--hidden", type=several(int), default=[128], metavar="N")
    parser.add_argument("--batch", type=several(int), default=[25], metavar="N")
    parser.add_argument("--mode", type=several(str, ["train", "infer"]), default=["train", "infer"])
    parser.add_argument("--systems", type=several(str, SYSTEMS), default=SYSTEMS, metavar="a,b",
                        help=", ".join(SYSTEMS) + " (default: all)")
    parser.add_argument("--seconds", type=float, default=30, metavar="S",
                        help="measured time of all systems in one configuration (default: 30)")
    parser.add_argument("--patience", type=float, default=180, metavar="S", help="until a silent system is given up")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    results = {"rows": [], "left_out": {}, "builds": {}, "loss_difference": 0.0, "failed": False,
               "machine": {"cpu": cpu(), "cores": os.cpu_count(), "python": platform.python_version()}}
    folder = inputs.find_sst(options.data)
    if options.data and not folder:
        raise SystemExit(f"no train.txt or train.txt.gz in {options.data}")
    loaded, probes = {}, start_probes(options)
    try:
        with tempfile.TemporaryDirectory() as options.folder:
            show()
            for name in options.model:
                model = MODELS[name]
                if model.data == "sst" and not folder:
                    results["left_out"][name] = "the Stanford Sentiment Treebank was not found: --data DIR"
                    print(f"{name}: left out: {results['left_out'][name]}")
                    continue
                data = model.data
                if data not in loaded:
                    loaded[data] = (data, *(inputs.sst(folder) if data == "sst" else inputs.main_job()))
                for hidden, batch, mode in itertools.product(options.hidden, options.batch, options.mode):
                    measure(Configuration(model, loaded[data], hidden, batch, mode), options, probes, results)
    finally:
        for process in probes:
            process.stop()
    for name, build in results["builds"].items():
        print(f"{name}: {build}")
    print(f"{results['machine']['cpu']}, {os.cpu_count()} cores, Python {platform.python_version()}")
    harness.finish(options.json, results)
    return 1 if results["failed"] else 0


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    except OSError:
        return platform.processor() or "?"


if __name__ == "__main__":
    sys.exit(main())
