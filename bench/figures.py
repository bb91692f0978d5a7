# SPDX-License-Identifier: Apache-2.0
"""All figures in one go: bench/results/*.json, docs/*.svg, and what is required beside what was measured.

The machine should do nothing else meanwhile.  `--minutes` is for all; benchmarks that take a fixed
time (some five minutes of a quiet machine) come first, those over trees share what is left.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time

import harness
from trees import cpu

ROOT = os.path.abspath(os.path.join(harness.HERE, ".."))
PEERS = ["janus-imperative", "janus", "pytorch", "pytorch-batched", "pytorch-derived", "dynet"]


class Step:
    """A command that writes one JSON file: `share` of the time that is left, or None if it takes what it takes."""

    def __init__(self, name, *command, share=None):
        self.name, self.command, self.share = name, command, share

    def run(self, path, minutes, options):
        command = list(self.command)
        if self.command[0].endswith(".py"):
            command.insert(0, sys.executable)
        if self.share is not None:
            command += ["--minutes", f"{minutes:.2f}"]
            if options.resume:
                command.append("--resume")
        done = subprocess.run(command + ["--json", path], cwd=ROOT, check=False)
        return done.returncode


def steps(options):
    build = os.environ.get("JANUS_BUILD", ROOT)
    data = ["--data", options.data] if options.data else []
    quick = ["--rounds", "5", "--patience", "60"]
    sample = "samples/tree_classifier.py"
    return [
        Step("eager_overhead", "bench/eager_overhead.py", *quick),
        Step("call_overhead", "bench/call_overhead.py"),
        Step("recursion", os.path.join(build, "bench", "recursion")),
        Step("kernels", os.path.join(build, "bench", "kernels")),
        Step("lenet_step", "bench/lenet_step.py", *quick),
        Step("char_lm_step", "bench/char_lm_step.py", *quick),
        Step("tree_lstm", "bench/tree_lstm.py", *quick),
        Step("tree_classifier", sample),
        Step("tree_classifier_128", sample, "--hidden", "128", "--epochs", "1"),
        Step("accuracy", "bench/accuracy.py", *data, "--epochs", "3", "--seeds", "2", "--hidden", "64"),
        Step("trees", "bench/trees.py", *data, share=0.38),
        Step("trees_shape", "bench/trees.py", "--model", "treelstm", "--shape", "balanced,random,linear",
             "--systems", ",".join(PEERS), share=0.12),
        Step("trees_sweep", "bench/trees.py", *data, "--sweep", "--systems", ",".join(PEERS), share=0.5),
    ]


def peers_version():
    python = harness.peers_python("torch")
    if python is None:
        return None
    asked = subprocess.run([python, "-c", "import torch; print(torch.__version__, torch.backends.cpu.get_cpu_capability())"],
                           capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None


def machine():
    revision = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                              check=False).stdout.strip()
    return {"cpu": cpu(), "cores": os.cpu_count(), "python": platform.python_version(), "torch": peers_version(),
            "revision": revision or None, "date": datetime.date.today().isoformat()}


def note(path, step, about):
    """Adds to a file what was run, and where."""
    with open(path, encoding="utf-8") as stream:
        table = json.load(stream)
    command = [os.path.relpath(part, os.environ.get("JANUS_BUILD", ROOT)) if os.path.isabs(part) else part
               for part in step.command]
    if "--data" in command:
        at = command.index("--data")
        del command[at:at + 2]
    table["command"], table["machine"] = " ".join(command), about
    harness.finish(path, table)


class Found:
    """The figures that were written."""

    def __init__(self, folder):
        self.folder = folder

    def table(self, name):
        path = os.path.join(self.folder, name + ".json")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)

    def row(self, name, **columns):
        for row in self.table(name).get("rows", []):
            if all(row.get(column) == value for column, value in columns.items()):
                return row
        return {}

    def ratio(self, name, other, **columns):
        ours, theirs = (self.row(name, system=system, **columns).get("trees_per_s") for system in ("janus", other))
        return ours / theirs if ours and theirs else None


def summary(folder):
    """What the project requires of trees, wants, and was measured."""
    found, large = Found(folder), {"model": "treelstm", "data": "sst"}
    train = dict(large, hidden=128, batch=25, mode="train")
    lines = [(f"training, H=128, batch 25: janus / {other}", f">= {least}", f">= {more}", found.ratio("trees", other, **train))
             for other, least, more in (("pytorch-batched", 3, 5), ("pytorch-derived", 1.5, 2.5), ("dynet", 2, 5),
                                        ("pytorch", 40, 80))]
    lines += [
        ("training, H=128, batch 25: time / floor", "<= 3", "<= 2.3",
         found.row("trees", system="janus", **train).get("floor_ratio")),
        ("training, H=256, batch 64: time / floor", "<= 2.5", "<= 2",
         found.row("trees_sweep", system="janus", **dict(train, hidden=256, batch=64)).get("floor_ratio")),
        ("inference, H=128, batch 1: janus / pytorch", ">= 8", "",
         found.ratio("trees_sweep", "pytorch", **dict(train, batch=1, mode="infer"))),
        ("main job: graph / imperative", ">= 3", "", found.table("tree_classifier").get("ratio")),
        ("main job, H=128: graph / imperative", ">= 8", ">= 15", found.table("tree_classifier_128").get("ratio")),
        ("accuracy, janus - pytorch-batched", "0", "", found.table("accuracy").get("difference")),
    ]
    print(f"{'':47} {'required':>9} {'wanted':>9} {'measured':>9}")
    for text, least, more, value in lines:
        print(f"{text:47} {least:>9} {more:>9} " + (f"{value:9.3g}" if value is not None else f"{'-':>9}"))


def plot(results, folder):
    python = harness.peers_python("matplotlib")
    files = [os.path.join(results, name + ".json") for name in ("trees_sweep", "trees_shape")]
    if python is None or not all(map(os.path.exists, files)):
        print("no plots: " + ("bench/peers/setup.sh has not been run" if python is None else "their figures are missing"))
        return 0
    return subprocess.run([python, os.path.join(harness.HERE, "plots.py"), *files, folder], check=False).returncode


def arguments(argv, names):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--data", metavar="DIR", help="folder of the Stanford Sentiment Treebank's files")
    parser.add_argument("--only", metavar="a,b", help=", ".join(names) + "; `plots` draws and sums up only")
    parser.add_argument("--resume", action="store_true", help="keep what unfinished tables over trees have")
    parser.add_argument("--out", metavar="DIR", help="for all files, instead of bench/results and docs")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv, [step.name for step in steps(argparse.Namespace(data=None))])
    if options.data:
        options.data = os.path.abspath(options.data)
    results = os.path.abspath(options.out) if options.out else os.path.join(harness.HERE, "results")
    pictures = results if options.out else os.path.join(ROOT, "docs")
    os.makedirs(results, exist_ok=True)
    wanted = [step for step in steps(options) if not options.only or step.name in options.only.split(",")]
    about, began, failed = machine(), time.monotonic(), []
    for number, step in enumerate(wanted):
        spent = (time.monotonic() - began) / 60
        sharing = sum(other.share for other in wanted[number:] if other.share is not None)
        minutes = max(0.0, options.minutes - spent) * step.share / sharing if step.share is not None else None
        print(f"\n== {step.name}: {number + 1} of {len(wanted)}, {spent:.1f} of {options.minutes:g} min", flush=True)
        path = os.path.join(results, step.name + ".json")
        if step.run(path, minutes, options) != 0:
            failed.append(step.name)
        elif os.path.exists(path):
            note(path, step, about)
    print()
    if plot(results, pictures) != 0:
        failed.append("plots")
    summary(results)
    print(f"{(time.monotonic() - began) / 60:.1f} min" + "".join(f"; FAILED: {name}" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
