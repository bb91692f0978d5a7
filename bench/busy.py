# SPDX-License-Identifier: Apache-2.0
"""Steps of networks while other processes keep the cores busy, beside the same steps on a quiet machine.

Two processes (`--busy`) do nothing but compute, in every second window; the table has the median time of a tree, or of a
step of a row of bench/dense, in quiet windows and in busy ones.  With two cores and two threads a fair share is twice the quiet time; a step that waits
for a thread which is not running takes longer.  Required of janus: at most 2.2 times.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

import harness
from treebench import inputs
from treebench.contest import Configuration, Contender, Left, Servers
from treebench.models import MODELS

MOST = 2.2  # times the quiet time
USUAL = ["treelstm", "treernn"]
ROWS = {"janus": ("janus", "janus graph"), "janus-imperative": ("janus", "janus eager"),
        "pytorch-batched": ("torch", "PyTorch eager")}  # what a system of bench/trees is in bench/dense


class Busy:
    """Processes that compute all the time, but for when they are stopped."""

    def __init__(self, count):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
        self.tell(signal.SIGSTOP)

    def tell(self, number):
        for process in self.processes:
            process.send_signal(number)

    def __enter__(self):
        self.tell(signal.SIGCONT)

    def __exit__(self, *_):
        self.tell(signal.SIGSTOP)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(name, configuration, options, servers, busy, folder):
    """Seconds of a tree in quiet windows and in busy ones."""
    path = os.path.join(folder, "inputs")
    configuration.write(path)
    threads = options.threads or os.cpu_count()
    contender = Contender(name, threads, servers.get(name, threads), path)
    try:
        contender.warm_up(configuration, options.seconds, [])
        del contender.rates[:]
        for _ in range(options.rounds):
            contender.run(configuration, options.seconds, 1, [])
            with busy:
                contender.run(configuration, options.seconds, 1, [])
    finally:
        contender.close()
    return 1 / statistics.median(contender.rates[::2]), 1 / statistics.median(contender.rates[1::2])


class Row:
    """A system's process for rows of bench/dense."""

    def __init__(self, name, options):
        library, self.mode = ROWS[name]
        python, threads = harness.peers_python(library), options.threads or os.cpu_count()
        if python is None:
            raise Left("bench/peers/setup.sh has not been run")
        settings = json.dumps({"seconds": options.seconds, "quick": options.quick})
        self.worker = harness.Worker([python, os.path.join(harness.HERE, "peers", "worker.py"), library, self.mode,
                                      "dense_rows", str(threads), settings], python == sys.executable, 180)
        if "error" in self.worker.hello:
            self.worker.stop()
            raise Left(self.worker.hello["error"])

    def seconds(self, row):
        found = self.worker.ask(run=f"{row}: {self.mode}")
        if "error" in found:
            raise Left(found["error"])
        return found["seconds"]

    def measure(self, row, rounds, busy):
        """Seconds of a step in quiet windows and in busy ones."""
        times = [], []
        self.seconds(row)
        for _ in range(rounds):
            times[0].append(self.seconds(row))
            with busy:
                times[1].append(self.seconds(row))
        return tuple(map(statistics.median, times))


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=",".join(USUAL), help=f"of {', '.join(MODELS)} (default: {','.join(USUAL)})")
    parser.add_argument("--mode", default="train,infer")
    parser.add_argument("--rows", default="MLP train", help="of bench/dense (default: MLP train)")
    parser.add_argument("--quick", action="store_true", help="rows of bench/dense of small sizes")
    parser.add_argument("--systems", default="janus", help="those of bench/trees (default: janus)")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--busy", type=int, default=2, metavar="N", help="processes besides (default: 2)")
    parser.add_argument("--threads", type=int, metavar="N", help="default: as many as there are cores")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    return parser.parse_args(argv)


def measured(options, servers, busy, folder):
    """(what, mode, system, seconds of it in quiet windows and in busy ones); a reason in place of the last two."""
    for model in filter(None, options.model.split(",")):
        for mode in options.mode.split(","):
            configuration = Configuration(MODELS[model], ("random", *inputs.shaped("random")), options.hidden,
                                          options.batch, mode)
            for name in options.systems.split(","):
                try:
                    yield model, mode, name, *measure(name, configuration, options, servers, busy, folder)
                except Left as reason:
                    yield model, mode, name, reason
    for row in filter(None, options.rows.split(",")):
        for name in options.systems.split(","):
            if name not in ROWS:
                continue
            try:
                system = Row(name, options)
                try:
                    yield row, "step", name, *system.measure(row, options.rounds, busy)
                finally:
                    system.worker.stop()
            except Left as reason:
                yield row, "step", name, reason


def main(argv=None):
    options = arguments(argv)
    servers, busy, failed = Servers(180, threads=options.threads), Busy(options.busy), False
    table = {"busy": options.busy, "cores": os.cpu_count(), "rows": []}
    try:
        print(f"{os.cpu_count()} cores, {options.busy} busy processes besides; us of a tree (hidden {options.hidden}, "
              f"batch {options.batch}) or a step")
        print(f"{'model':10} {'mode':6} {'system':17}{'quiet':>10}{'busy':>10}{'times':>8}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for model, mode, name, *found in measured(options, servers, busy, folder):
                if len(found) == 1:
                    print(f"{name}: left out: {found[0]}")
                    continue
                quiet, loaded = found
                failed |= name == "janus" and loaded > MOST * quiet
                table["rows"].append({"model": model, "mode": mode, "system": name, "quiet_us": 1e6 * quiet,
                                      "busy_us": 1e6 * loaded, "times": loaded / quiet})
                print(f"{model:10} {mode:6} {name:17}{1e6 * quiet:10.1f}{1e6 * loaded:10.1f}{loaded / quiet:8.2f}",
                      flush=True)
    finally:
        busy.end()
        servers.stop()
    harness.finish(options.json, table)
    print(f"required of janus: at most {MOST} times" + (": FAILED" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
