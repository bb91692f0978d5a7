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
import json
import os
import platform
import sys
import tempfile
import time

import harness
from treebench import contest, inputs
from treebench.contest import Configuration, Contest, Pace, Servers, SYSTEMS, say
from treebench.models import MODELS

COLUMNS = ["model", "data", "hidden", "batch", "mode", "system", "trees_per_s", "trees_per_cpu_s", "floor_ratio",
           "peak_bytes"]
KEY = COLUMNS[:5]
SWEEP = {"model": ["treelstm"], "hidden": [64, 128, 256], "batch": [1, 10, 25, 64]}


class Results:
    """The table, written to its file after each configuration."""

    def __init__(self, path, resume, device):
        self.path = path
        self.table = {"rows": [], "left_out": {}, "builds": {}, "loss_difference": 0.0, "failed": False}
        if resume and path and os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                self.table = json.load(stream)
        self.table["machine"] = {"cpu": cpu(), "cores": os.cpu_count(), "python": platform.python_version()}
        self.table["device"] = device

    def has(self, columns):
        return any(all(row[name] == columns[name] for name in KEY) for row in self.table["rows"])

    def leave(self, name, reason):
        if self.table["left_out"].get(name) != reason:
            print(f"{name}: left out: {reason}")
        self.table["left_out"][name] = reason

    def compare(self, difference, first, second, steps):
        self.table["loss_difference"] = max(difference, self.table["loss_difference"])
        print(f"losses of the first {steps} steps: largest relative difference {difference:.1e} ({first}, {second})")
        if not difference <= contest.TOLERANCE:
            self.table["failed"] = True
            print(f"FAILED: {first} and {second} do not compute the same")

    def write(self):
        harness.finish(self.path, self.table)


def measure(configuration, options, servers, probes, seconds, results):
    """All systems in one configuration: adds rows, says what was left out."""
    held = Contest(configuration, options.systems, servers, probes)
    try:
        held.start(os.path.join(options.folder, "inputs"))
        held.run(seconds)
        for row in held.rows():
            show(row)
            results.table["rows"].append(row)
    finally:
        held.close()
    results.table["builds"].update(held.builds)
    for name, reason in held.left.items():
        results.leave(name if name not in held.builds else f"{name} ({configuration.model.name})", reason)
    if held.difference:
        results.compare(*held.difference)
    results.write()


def show(row=None):
    widths = [9, 8, 6, 5, 5, 17, 11, 15, 11, 11]
    if row is None:
        cells = COLUMNS
    else:
        cells = [row[name] for name in COLUMNS]
        cells[6] = f"{cells[6]:.1f}"
        cells[7] = f"{cells[7]:.1f}"
        cells[8] = "-" if cells[8] is None else f"{cells[8]:.2f}"
        cells[9] = "-" if cells[9] is None else cells[9]
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
    parser.add_argument("--shape", type=several(str.lower, inputs.SHAPES), default=[], metavar="S",
                        help=f"made trees instead, of {inputs.SHAPED_LEAVES} leaves: {', '.join(inputs.SHAPES)}")
    parser.add_argument("--model", type=several(str.lower, list(MODELS)), metavar="M",
                        help=", ".join(MODELS) + " (default: all)")
    parser.add_argument("--hidden", type=several(int), metavar="N", help="default: 128")
    parser.add_argument("--batch", type=several(int), metavar="N", help="default: 25")
    parser.add_argument("--mode", type=several(str, ["train", "infer"]), default=["train", "infer"])
    parser.add_argument("--systems", type=several(str, SYSTEMS), default=SYSTEMS, metavar="a,b",
                        help=", ".join(SYSTEMS) + " (default: all)")
    parser.add_argument("--threads", type=int, metavar="N",
                        help="of janus and PyTorch (default: janus all cores, PyTorch the better of one and all)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="default: cpu")
    parser.add_argument("--trees", type=int, metavar="N", default=contest.TREES,
                        help=f"of the data, the first ones (default: {contest.TREES})")
    parser.add_argument("--sweep", action="store_true",
                        help="the defaults are " + ", ".join(f"{name} {','.join(map(str, values))}"
                                                             for name, values in SWEEP.items()))
    parser.add_argument("--seconds", type=float, default=30, metavar="S",
                        help="measured time of all systems in one configuration (default: 30)")
    parser.add_argument("--minutes", type=float, metavar="M",
                        help="of all configurations, set-up included; instead of --seconds")
    parser.add_argument("--patience", type=float, default=180, metavar="S", help="until a silent system is given up")
    parser.add_argument("--json", metavar="FILE", help="write the table there, after each configuration")
    parser.add_argument("--resume", action="store_true", help="keep the configurations which that file has")
    options = parser.parse_args(argv)
    usual = {"model": list(MODELS), "hidden": [128], "batch": [25]}
    for name, values in (SWEEP if options.sweep else usual).items():
        if getattr(options, name) is None:
            setattr(options, name, values)
    if options.shape:  # made trees are binary ones with a class at every node
        options.model = [name for name in options.model if MODELS[name].data == "sst" and not MODELS[name].grows]
    return options


def data_of(name, folder):
    """`(name, trees, number of words, number of classes)`."""
    if name in inputs.SHAPES:
        return name, *inputs.shaped(name)
    return name, *(inputs.sst(folder) if name == "sst" else inputs.main_job())


def wanted(options, folder, results):
    """What is to be measured: (model, name of its data, hidden, batch, mode)."""
    for name in options.model:
        model = MODELS[name]
        if model.data == "sst" and not folder and not options.shape:
            results.leave(name, "the Stanford Sentiment Treebank was not found: --data DIR")
            continue
        for data, hidden, batch, mode in itertools.product(options.shape or [model.data], options.hidden,
                                                           options.batch, options.mode):
            found = dict(zip(KEY, (name, data, hidden, batch, mode)))
            if not results.has(found):
                yield found


def main(argv=None):
    options = arguments(argv)
    folder = inputs.find_sst(options.data)
    if options.data and not folder:
        raise SystemExit(f"no train.txt or train.txt.gz in {options.data}")
    began = time.monotonic()
    results, loaded = Results(options.json, options.resume, options.device), {}
    servers = Servers(options.patience, options.device, options.threads)
    todo = list(wanted(options, folder, results))
    pace = Pace(options.seconds, options.minutes, len(todo))
    probes = servers.probes()
    try:
        with tempfile.TemporaryDirectory() as options.folder:
            show()
            for number, columns in enumerate(todo):
                spent = time.monotonic() - began
                left = f", about {spent / number * (len(todo) - number) / 60:.1f} min left" if number else ""
                print(f"configuration {number + 1}/{len(todo)}{left}", file=sys.stderr, flush=True)
                data = columns["data"]
                if data not in loaded:
                    loaded[data] = data_of(data, folder)
                seconds = pace.next()
                measure(Configuration(MODELS[columns["model"]], loaded[data], columns["hidden"], columns["batch"],
                                      columns["mode"], options.trees), options, servers, probes, seconds, results)
                pace.done()
    finally:
        servers.stop()
    for name, build in results.table["builds"].items():
        print(f"{name}: {build}")
    machine = results.table["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; "
          f"{time.monotonic() - began:.0f} s in all")
    results.write()
    return 1 if results.table["failed"] else 0


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    except OSError:
        return platform.processor() or "?"


if __name__ == "__main__":
    sys.exit(main())
