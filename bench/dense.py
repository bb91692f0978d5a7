# SPDX-License-Identifier: Apache-2.0
"""Dense programs: chains of elementwise ops, norms, attention and networks, training and inference, janus beside PyTorch.

Every contender has a process of its own and runs a row once a round; the table has medians over the rounds, of the
processor's time with one thread (what other processes do is not in it), of elapsed time with several.  `required` is
the better of PyTorch's two columns over janus as a graph (1.0 is required of every row, 1.3 wanted of the median),
`limit` the part of what the machine can do that the graph reaches: operations of the row's products at the rate of the
best square product, or the numbers that go in and out at the rate of a copy as large, whatever is slower.  What the
contenders' first steps gave is compared; the command fails where that differs, or where a graph was none.
"""
import json
import os
import statistics
import sys

import harness
from networks import apart

MODES = [("janus", "janus eager"), ("janus", "janus graph"), ("torch", "PyTorch eager"), ("torch", "torch.compile")]
GRAPH, PEERS = "janus graph", ("PyTorch eager", "torch.compile")
TOLERANCE = 2e-3  # how far what they give may be apart, relative


def arguments(argv):
    parser = harness.parser(__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="rows whose names contain one of these words (default: all)")
    parser.add_argument("--quick", action="store_true", help="a few rows of small sizes")
    parser.add_argument("--modes", metavar="a;b", help="; ".join(mode for _, mode in MODES) + " (default: all)")
    parser.add_argument("--merge", action="store_true",
                        help="what the file of --json has of rows that are not measured now stays there")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a contender in a round")
    options = parser.parse_args(argv)
    options.modes = options.modes.split(";") if options.modes else [mode for _, mode in MODES]
    return options


class Contender:
    """A mode's process."""

    def __init__(self, library, mode, options):
        self.mode, self.reason = mode, None
        python = harness.peers_python(library)
        if python is None:
            self.reason = "bench/peers/setup.sh has not been run"
            return
        settings = {"seconds": options.seconds, "quick": options.quick}
        self.worker = harness.Worker([python, os.path.join(harness.HERE, "peers", "worker.py"), library, mode,
                                      "dense_rows", str(options.threads), json.dumps(settings)],
                                     python == sys.executable, options.patience)
        self.reason = self.worker.hello.get("error")

    def rows(self):
        return [name.partition(": ")[0] for name in self.worker.hello["names"]]

    def ask(self, row):
        return self.worker.ask(run=f"{row}: {self.mode}")

    def forget(self, row):
        self.worker.ask(forget=f"{row}: {self.mode}")


def machine(contenders):
    """Operations a second, and numbers a second by numbers copied: the best that any contender shows."""
    flops, copies = 0.0, {}
    for contender in contenders:
        facts = contender.ask("limits").get("facts", {})
        flops = max(flops, facts.get("flops", 0.0))
        for size, rate in facts.get("numbers", {}).items():
            copies[int(size)] = max(copies.get(int(size), 0.0), rate)
    return flops, copies


def least_seconds(facts, flops, copies):
    """The time that the machine needs for a row's work, at its best."""
    size = min(copies, key=lambda n: abs(n - facts["numbers"] / 2))
    return max(facts["flops"] / flops, facts["numbers"] / copies[size])


def measure(row, contenders, options):
    """Of the row: seconds by mode, errors by mode, what was checked by mode, what the graph's process says of it."""
    times, errors, checks, facts = {}, {}, {}, {}
    clock = "processor" if options.threads == 1 else "seconds"
    for number in range(options.rounds + 1):  # the first round sets up
        for contender in contenders:
            mode = contender.mode
            if mode in errors:
                continue
            found = contender.ask(row)
            if "error" in found:
                errors[mode] = found["error"]
                times.pop(mode, None)
                continue
            if number:
                times.setdefault(mode, []).append(found[clock])
            checks[mode] = found["check"]
            facts[mode] = found["facts"]
    for contender in contenders:
        contender.forget(row)
    return {mode: statistics.median(values) for mode, values in times.items()}, errors, checks, facts


def earlier(options):
    """What a file of results has, if this run is to be part of it: of the same threads."""
    table = {"threads": options.threads, "rounds": options.rounds, "rows": {}}
    if options.merge and options.json and os.path.exists(options.json):
        with open(options.json, encoding="utf-8") as stream:
            found = json.load(stream)
        if found["threads"] != options.threads:
            sys.exit(f"{options.json} is of {found['threads']} threads, not {options.threads}")
        table = {**found, **table, "rows": found["rows"]}
    return table


def main(argv=None):
    options = arguments(argv)
    contenders = [Contender(library, mode, options) for library, mode in MODES if mode in options.modes]
    table, measured = earlier(options), []
    for contender in contenders:
        if contender.reason:
            print(f"{contender.mode}: {contender.reason}")
    contenders = [c for c in contenders if not c.reason]
    failed = 0
    try:
        flops, copies = machine(contenders)
        table["machine"] = {"flops": flops, "numbers": copies}
        print(f"{options.threads} thread{'s' * (options.threads > 1)}, "
              f"{'processor time' if options.threads == 1 else 'elapsed time'} in us; {flops / 1e9:.0f} GFLOP/s, copies "
              + ", ".join(f"{n:.0e}: {8 * rate / 2e9:.0f} GB/s" for n, rate in sorted(copies.items())))
        print(f"{'':30}" + "".join(f"{c.mode:>15}" for c in contenders) + f"{'required':>10}{'limit':>8}")
        for row in contenders[0].rows():
            if row == "limits" or (options.rows and not any(word in row for word in options.rows)):
                continue
            times, errors, checks, facts = measure(row, contenders, options)
            line = f"{row:30}" + "".join(f"{1e6 * times[c.mode]:15.1f}" if c.mode in times else f"{'-':>15}"
                                         for c in contenders)
            peers = [times[mode] for mode in PEERS if mode in times]
            own, entry = times.get(GRAPH), {"us": {m: 1e6 * t for m, t in times.items()}, "errors": errors}
            if own:
                entry["required"] = min(peers) / own if peers else None
                entry["limit"] = least_seconds(facts[GRAPH], flops, copies) / own
                line += f"{entry['required']:10.2f}" if peers else f"{'-':>10}"
                line += f"{entry['limit']:8.2f}"
            print(line, flush=True)
            for mode, error in errors.items():
                print(f"{'':30}{mode}: {error}")
                failed += "janus" in mode
            if own and not facts[GRAPH].get("graph"):
                failed += 1
                print(f"FAILED: {row}: the graph was none")
            difference, one, other = apart(checks)
            if not difference <= TOLERANCE:
                failed += 1
                print(f"FAILED: {row}: {one} and {other} do not compute the same: {checks}")
            table["rows"][row] = entry
            measured.append(row)
            harness.finish(options.json, table)
    finally:
        for contender in contenders:
            contender.worker.stop()
    print(f"{'':30}{len(measured)} rows measured, {len(table['rows'])} in the table")
    ratios = sorted(entry["required"] for entry in table["rows"].values() if entry.get("required"))
    if ratios:
        print(f"{'':30}{sum(r >= 1 for r in ratios)} of {len(ratios)} rows at 1.0 or more, median "
              f"{statistics.median(ratios):.2f}, least {ratios[0]:.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
