# SPDX-License-Identifier: Apache-2.0
"""Training steps and inference of the networks of samples/zoo, janus beside PyTorch, on a GPU where there is one.

Images of 32x32 at batch 32, a word-level LSTM, BERT-base and a block of GPT-2 small.  On the CPU sizes are small
unless --full.  Every contender has a process of its own and runs once a round; the table has medians.  All get the
same weights and data; what their first steps give is compared, and the command fails where that differs.
"""
import json
import os
import statistics
import sys
import time

import harness

sys.path.insert(0, os.path.join(harness.HERE, "workloads"))
from zoo_steps import CASES  # noqa: E402

NETWORKS = list(CASES)
MODES = [("janus", "janus imperative"), ("janus", "janus graph"), ("janus", "janus graph, one stream"),
         ("torch", "PyTorch eager"), ("torch", "PyTorch CUDA graph"), ("torch", "torch.compile")]
ON_DEVICES = ("janus graph, one stream", "PyTorch CUDA graph")
HALVES, SINGLES, DOUBLES = 0.05, 2e-3, 1e-4  # how far what they give may be apart, relative


class Contender:
    """A mode's process, started again after it was given up."""

    workload = "zoo_steps"
    clock = "seconds"  # what of a worker's answer is the time

    def __init__(self, library, mode, options):
        self.library, self.mode, self.options = library, mode, options
        self.worker, self.reason, self.facts = None, None, {}

    def settings(self):
        """Of the workload."""
        return {name: getattr(self.options, name) for name in ("device", "small", "tf32", "f64", "seconds")}

    def variables(self):
        """Of the process's environment."""
        variables = {"JANUS_CUDA_STREAMS": "1"} if "one stream" in self.mode else {}
        if self.library == "janus":
            variables["JANUS_DEVICE"] = self.options.device
        return variables

    def threads(self):
        return self.options.threads

    def start(self):
        """Whether it runs."""
        if self.worker or self.reason:
            return self.worker is not None
        python = harness.peers_python(self.library)
        if python is None:
            self.reason = "bench/peers/setup.sh has not been run"
            return False
        worker = harness.Worker([python, os.path.join(harness.HERE, "peers", "worker.py"), self.library, self.mode,
                                 self.workload, str(self.threads()), json.dumps(self.settings())],
                                python == sys.executable, self.options.patience, **self.variables())
        if "error" in worker.hello:
            self.reason = worker.hello["error"]
            worker.stop()
        else:
            self.worker = worker
        return self.worker is not None

    def ask(self, **what):
        found = self.worker.ask(**what)
        if "error" in found and self.worker.process.poll() is not None:
            self.stop()
        return found

    def stop(self):
        if self.worker:
            self.worker.stop()
            self.worker = None


def measure(network, contenders, options, end):
    """Medians by mode, errors by mode, what the first steps gave by mode."""
    times, errors, checks = {}, {}, {}
    for number in range(options.rounds + 1):  # the first round sets up
        for contender in contenders:
            mode = contender.mode
            if mode in errors or time.monotonic() > end or not contender.start():
                continue
            if sys.stderr.isatty():
                print(f"\r\x1b[K{network}, round {number}/{options.rounds}: {mode}", end="", file=sys.stderr,
                      flush=True)
            found = contender.ask(run=f"{network}: {mode}")
            if "error" in found:
                errors[mode] = found["error"]
                times.pop(mode, None)
                continue
            if number:
                times.setdefault(mode, []).append(found[contender.clock])
            checks[mode], contender.facts = found["check"], found["facts"]
    for contender in contenders:
        if contender.worker:
            contender.ask(forget=f"{network}: {contender.mode}")
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return {mode: statistics.median(values) for mode, values in times.items()}, errors, checks


def apart(checks):
    """The largest relative difference of what two contenders gave, and who they are."""
    worst, found = (0.0, "", ""), [(mode, values) for mode, values in checks.items() if values]
    for mode, values in found[1:]:
        for a, b in zip(found[0][1], values):
            difference = abs(a - b) / max(abs(a), 1e-30)
            if not difference <= worst[0]:  # NaN too
                worst = difference, found[0][0], mode
    return worst


def arguments(argv):
    parser = harness.parser(__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: cuda where there is one")
    parser.add_argument("--networks", metavar="a,b", help=", ".join(NETWORKS) + " (default: all)")
    parser.add_argument("--modes", metavar="a;b", help="; ".join(mode for _, mode in MODES) + " (default: all)")
    parser.add_argument("--full", dest="small", action="store_false", default=None,
                        help="the usual sizes on the CPU too")
    parser.add_argument("--small", action="store_true", default=None, help="small sizes on a GPU too")
    parser.add_argument("--tf32", action="store_true", help="products of f32 may be TF32 ones, in all libraries")
    parser.add_argument("--f64", action="store_true", help="everything in f64, to compare what is computed; no halves")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a round")
    parser.add_argument("--budget", type=float, default=1e9, metavar="S",
                        help="for everything; what is left then is not run")
    options = parser.parse_args(argv)
    options.networks = options.networks.split(",") if options.networks else NETWORKS
    for network in options.networks:
        if network not in NETWORKS:
            parser.error(f"{network} is none of {', '.join(NETWORKS)}")
    if options.f64:
        options.networks = [network for network in options.networks if "bf16" not in network]
    options.modes = options.modes.split(";") if options.modes else [mode for _, mode in MODES]
    return options


def main(argv=None):
    options = arguments(argv)
    import janus
    if options.device is None:
        options.device = "cuda" if janus.cuda.is_available() else "cpu"
    if options.small is None:
        options.small = options.device == "cpu"
    contenders = [Contender(library, mode, options) for library, mode in MODES
                  if mode in options.modes and (options.device == "cuda" or mode not in ON_DEVICES)]
    name = janus.cuda.get_device_name() if options.device == "cuda" else "the CPU"
    print(f"networks on {name}{', small' if options.small else ''}{', TF32' if options.tf32 else ''}: ms per step "
          f"(times as fast as {harness.BASE})")
    table = {"device": name, "small": options.small, "tf32": options.tf32, "f64": options.f64,
             "medians_s": {}, "errors": {}, "checks": {}, "threads": options.threads, "rounds": options.rounds}
    failed, end = 0, time.monotonic() + options.budget
    try:
        for network in options.networks:
            medians, errors, checks = measure(network, contenders, options, end)
            base = medians.get(harness.BASE)
            for contender in contenders:
                mode, found = contender.mode, medians.get(contender.mode)
                if found:
                    beside = f"  ({base / found:.2f} x)" if base else ""
                    print(f"{network:22} {mode:24} {1e3 * found:10.3f}{beside}", flush=True)
                else:
                    reason = errors.get(mode) or contender.reason or "no time was left"
                    print(f"{network:22} {mode:24} {'-':>10}  {reason}", flush=True)
                    failed += contender.library == "janus" and mode in errors
            difference, first, second = apart(checks)
            if not difference <= (HALVES if "bf16" in network else DOUBLES if options.f64 else SINGLES):
                failed += 1
                print(f"FAILED: {network}: {first} and {second} do not compute the same: {checks}")
            table["medians_s"][network], table["errors"][network], table["checks"][network] = medians, errors, checks
            harness.finish(options.json, table)
    finally:
        for contender in contenders:
            contender.stop()
    worst = max((apart(checks)[0] for checks in table["checks"].values()), default=0.0)
    print(f"{failed} failed; what the first steps gave is apart by {worst:.1e} at most")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
