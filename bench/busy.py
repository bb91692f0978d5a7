# SPDX-License-Identifier: Apache-2.0
"""Steps of recursive networks while other processes keep the cores busy, beside the same steps on a quiet machine.

Two processes (`--busy`) do nothing but compute, in every second window; the table has the median time of a tree in
quiet windows and in busy ones.  With two cores and two threads a fair share is twice the quiet time; a step that waits
for a thread which is not running takes longer.  Required of janus: at most 2.2 times.
"""
import argparse
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


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=",".join(USUAL), help=f"of {', '.join(MODELS)} (default: {','.join(USUAL)})")
    parser.add_argument("--mode", default="train,infer")
    parser.add_argument("--systems", default="janus", help="those of bench/trees (default: janus)")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--busy", type=int, default=2, metavar="N", help="processes besides (default: 2)")
    parser.add_argument("--threads", type=int, metavar="N", help="default: as many as there are cores")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    servers, busy, failed = Servers(180, threads=options.threads), Busy(options.busy), False
    table = {"busy": options.busy, "cores": os.cpu_count(), "rows": []}
    try:
        print(f"{os.cpu_count()} cores, {options.busy} busy processes besides; us of a tree, hidden {options.hidden}, batch {options.batch}")
        print(f"{'model':10} {'mode':6} {'system':17}{'quiet':>10}{'busy':>10}{'times':>8}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for model in options.model.split(","):
                for mode in options.mode.split(","):
                    configuration = Configuration(MODELS[model], ("random", *inputs.shaped("random")), options.hidden,
                                                  options.batch, mode)
                    for name in options.systems.split(","):
                        try:
                            quiet, loaded = measure(name, configuration, options, servers, busy, folder)
                        except Left as reason:
                            print(f"{name}: left out: {reason}")
                            continue
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
