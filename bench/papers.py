# SPDX-License-Identifier: Apache-2.0
"""The programs of the JANUS and Terra papers (samples/papers): what graphs, specialisation, unrolling and threads win.

Every contender has a process of its own and runs once a round, so ratios are of one run; the table has medians: ms per
step of the imperative run, and how many times as fast the others are.  `janus` uses graphs where they pay, as it does
for everybody; `janus graph` uses all.  Rows of a --json file that are not measured
now are kept and printed with the others.  With --threads 1 times are the processor's.
"""
import json
import os
import sys
import time

import harness
import networks

sys.path.insert(0, os.path.join(harness.HERE, "..", "samples"))
import papers  # noqa: E402

BASE = "janus imperative"
MODES = [("janus", BASE), ("janus", "janus"), ("janus", "janus graph"), ("janus", "janus graph, not specialised"),
         ("janus", "janus graph, not unrolled"), ("janus", "janus graph, one thread"), ("torch", "PyTorch eager"),
         ("torch", "torch.compile")]
SWITCHES = {"not specialised": {"JANUS_SPECIALISE": "0"}, "not unrolled": {"JANUS_UNROLL": "0"}}


class Contender(networks.Contender):
    workload = "papers_steps"

    def settings(self):
        return {"small": self.options.small, "seconds": self.options.seconds}

    def variables(self):
        return {"JANUS_QUIET": "1", **SWITCHES.get(self.mode.rpartition(", ")[2], {})}

    def threads(self):
        return 1 if "one thread" in self.mode else self.options.threads

    @property
    def clock(self):
        """On one thread the processor's time, which does not see what else the machine does."""
        return "processor" if self.options.threads == 1 else "seconds"


def arguments(argv):
    parser = harness.parser(__doc__.splitlines()[0])
    parser.set_defaults(threads=2, rounds=5)
    parser.add_argument("--programs", metavar="a,b", help=", ".join(papers.PROGRAMS) + " (default: all)")
    parser.add_argument("--modes", metavar="a;b", help="; ".join(mode for _, mode in MODES) + " (default: all)")
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round")
    parser.add_argument("--budget", type=float, default=1e9, metavar="S", help="for everything")
    options = parser.parse_args(argv)
    options.programs = options.programs.split(",") if options.programs else list(papers.PROGRAMS)
    known = [mode for _, mode in MODES if options.threads > 1 or "one thread" not in mode]
    options.modes = options.modes.split(";") if options.modes else known
    for name in options.programs:
        if name not in papers.PROGRAMS:
            parser.error(f"{name} is none of {', '.join(papers.PROGRAMS)}")
    return options


def text_of(rows):
    """Markdown."""
    found = [mode for _, mode in MODES if any(mode in row["seconds"] for row in rows.values())]
    others = [mode for mode in found if mode != BASE]
    lines = ["| program | paper | imperative, ms | " + " | ".join(others) + " | op share |",
             "| --- " * (len(others) + 4) + "|"]
    for name in papers.PROGRAMS:
        if name not in rows:
            continue
        row = rows[name]
        base, cells = row["seconds"].get(BASE), []
        for mode in others:
            seconds = row["seconds"].get(mode)
            cells.append(f"{base / seconds:.2f}" if base and seconds else "-")
        share = row["op_share"].get("janus graph")
        lines.append(f"| {name} | {papers.PROGRAMS[name][0]} | {f'{1e3 * base:.2f}' if base else '-'} | "
                     + " | ".join(cells) + f" | {'-' if share is None else f'{share:.2f}'} |")
    reasons = sorted({(mode, reason) for row in rows.values() for mode, reason in row["reasons"].items()})
    for mode, reason in reasons:
        of = [name for name, row in rows.items() if row["reasons"].get(mode) == reason]
        lines.append(f"\n{mode}: {'all' if len(of) == len(rows) else ', '.join(of)}: {reason}")
    return "\n".join(lines)


def main(argv=None):
    options = arguments(argv)
    contenders = [Contender(library, mode, options) for library, mode in MODES if mode in options.modes]
    table = {"small": options.small, "threads": options.threads, "rounds": options.rounds, "rows": {}}
    if options.json and os.path.exists(options.json):
        with open(options.json, encoding="utf-8") as stream:
            table["rows"] = json.load(stream)["rows"]
    failed, end = 0, time.monotonic() + options.budget
    try:
        for name in options.programs:
            seconds, errors, _ = networks.measure(name, contenders, options, end)
            reasons = {c.mode: errors.get(c.mode) or c.reason or "no time was left" for c in contenders
                       if c.mode not in seconds}
            failed += sum(c.library == "janus" and c.mode in errors for c in contenders)
            table["rows"][name] = {
                "seconds": seconds, "reasons": reasons,
                "op_share": {c.mode: c.facts["op_share"] for c in contenders if "op_share" in c.facts}}
            for contender in contenders:
                contender.facts = {}
            harness.finish(options.json, table)
    finally:
        for contender in contenders:
            contender.stop()
    print(text_of(table["rows"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
