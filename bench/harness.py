# SPDX-License-Identifier: Apache-2.0
"""Runs contenders of several libraries in one interleaved benchmark and prints one table.

Each contender has a process of its own (PyTorch's in the environment that bench/peers/setup.sh
makes; without it those rows are left out), so one that never ends takes no other with it.  A round runs every contender once, so a change of the
machine's speed meets all of them; the table has the median over the rounds.  One process works at
a time, the others wait for input.
"""
import argparse
import importlib.util
import json
import os
import queue
import signal
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def peers_python(name=""):
    """The interpreter that a system or library runs in: its environment's, or this one if it has the library."""
    if "janus" in name:
        return sys.executable
    folder = os.environ.get("JANUS_PEERS", os.path.join(HERE, "peers", "venv"))
    if "dynet" in name:
        folder += "-dynet"
    path = os.path.join(folder, "bin", "python")
    if os.path.exists(path):
        return path
    library = "dynet" if "dynet" in name else "numpy" if name == "numpy" else "torch"
    return sys.executable if importlib.util.find_spec(library) else None


class Worker:
    """A process that answers each line of JSON it is given with one; the first comes by itself."""

    def __init__(self, command, ours, seconds, **variables):
        environment = dict(os.environ, **variables)
        if not ours:  # the peers' interpreter may be another one
            environment.pop("PYTHONPATH", None)
        self.seconds = seconds
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.hello = self.answer()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def answer(self):
        """The next answer; an error if the process ended or was silent for too long."""
        try:
            found = self.lines.get(timeout=self.seconds)
        except queue.Empty:
            self.stop()
            return {"error": f"no answer in {self.seconds} s"}
        return found or {"error": f"the process ended, {self.process.wait()}"}

    def ask(self, **what):
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return {"error": "the process ended"}
        return self.answer()

    def stop(self):
        """Ends the process and those it made."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def measure(workload, modes, options):
    """`modes` are pairs (library, mode).  Medians of all contenders: dict name -> seconds a unit, and dict name -> error."""
    workers, times, errors = [], {}, {}
    for library, mode in modes:
        python = peers_python(library)
        if python is None:
            errors[mode] = "bench/peers/setup.sh has not been run"
            continue
        script = os.path.join(HERE, "peers", "worker.py")
        worker = Worker([python, script, library, mode, workload, str(options.threads)], library == "janus",
                        options.patience)
        if "error" in worker.hello:
            errors[mode] = worker.hello["error"]
            worker.stop()
        else:
            workers.append(worker)
    try:
        for number in range(options.rounds + 1):  # the first round sets up
            for worker in workers:
                for name in worker.hello["names"]:
                    if name in errors:
                        continue
                    if sys.stderr.isatty():
                        print(f"\r\x1b[Kround {number}/{options.rounds}: {name}", end="", file=sys.stderr, flush=True)
                    found = worker.ask(run=name)
                    if "error" in found:
                        errors[name] = found["error"]
                        times.pop(name, None)
                    elif number:
                        times.setdefault(name, []).append(found["seconds"])
    finally:
        for worker in workers:
            worker.stop()
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return {name: statistics.median(values) for name, values in times.items()}, errors


def parser(about):
    """Options that every benchmark has."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--json", metavar="FILE", help="write the table there")
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument("--threads", type=int, default=1, help="threads of every library")
    made.add_argument("--patience", type=float, default=120, help="seconds until a contender is given up")
    return made


def finish(path, table):
    """Writes the table to a JSON file if one was asked for."""
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(table, stream, indent=2)
            stream.write("\n")


MODES = [("janus", "janus imperative"), ("janus", "janus graph"), ("torch", "PyTorch eager"),
         ("torch", "torch.compile")]
BASE = "PyTorch eager"


def steps(about, workload, unit, argv=None, prepare=None):
    """A benchmark whose rows are contenders: time of a unit, units per second, speed against BASE.

    Names may begin with a kind and a colon; then each kind has a BASE of its own.
    """
    options = parser(about).parse_args(argv)
    if prepare:
        prepare()
    medians, errors = measure(workload, MODES, options)
    print(about)
    print(f"{'':24} {'ms/' + unit:>12} {unit + 's/s':>12} {'speed':>8}   (against {BASE})")
    table = {"medians_s": medians, "errors": errors, "threads": options.threads, "rounds": options.rounds}
    for name in sorted(medians, key=lambda name: name.rpartition(": ")[0], reverse=True):
        kind, colon, _ = name.rpartition(": ")
        reference = medians.get(kind + colon + BASE)
        against = f"{reference / medians[name]:8.2f}" if reference else f"{'-':>8}"
        print(f"{name:24} {medians[name] * 1e3:12.4f} {1 / medians[name]:12.1f} {against}")
    for name, error in errors.items():
        print(f"{name:24} {'-':>12}   {error}")
    finish(options.json, table)
