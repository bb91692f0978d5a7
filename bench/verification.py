# SPDX-License-Identifier: Apache-2.0
"""What it costs to compare graphs with CPython: the models of bench/trees and the programs of samples/papers.

Each runs for some seconds from its first call on, in a process of its own.  `first` is the time of the calls that are
compared since a graph, or an arm of one, is used for the first time; `later` that of graphs that were compared before,
how many of these there were, and their share of the time of all calls, which must be below 2 %.
"""
import concurrent.futures
import multiprocessing
import os
import sys
import time

import harness

sys.path[:0] = [os.path.join(harness.HERE, "..", "samples"), os.path.join(harness.HERE, "peers", "trees")]
import papers  # noqa: E402
from treebench import inputs  # noqa: E402
from treebench.models import MODELS  # noqa: E402

MOST = 0.02
TREES, BATCH, HIDDEN = 200, 25, 64


def tree_steps(name, mode):
    """Steps over batches of trees, as bench/trees runs them."""
    import plain
    model = MODELS[name]
    trees, words, classes = inputs.main_job() if model.data == "stdlib" else inputs.shaped("random")
    settings = {"class": model.cls, "words": words, "hidden": HIDDEN, "classes": classes, "lr": 0.01, "mode": mode,
                "grows": model.grows, "data": model.data,
                "weights": inputs.make_weights(model.shapes(words, HIDDEN, classes), model.scales)}
    plain.load("janus")
    built = [*map(plain.builder(settings), trees[:TREES])]
    step = plain.make_step("janus", settings)
    return step, [built[start:start + BATCH] for start in range(0, len(built) - BATCH + 1, BATCH)]


def paper_steps(name):
    import janus
    _, step, batches = papers.make(name, small=True, decorate=janus.function)
    return step, batches


def run(kind, arguments, seconds):
    """The row of one program."""
    import janus
    janus.manual_seed(0)
    step, batches = (tree_steps if kind == "trees" else paper_steps)(*arguments)
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        step(batches[calls % len(batches)])
        calls += 1
    took, cost = time.perf_counter() - start, janus._C._verification()
    return {"program": " ".join(arguments), "calls": calls, "ms": took * 1e3, "first": cost["first"],
            "first_ms": cost["first_ns"] / 1e6, "later": cost["later"], "later_ms": cost["later_ns"] / 1e6,
            "share": cost["later_ns"] / 1e9 / took}


def main(argv):
    parser = harness.parser(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each program")
    parser.add_argument("--only", metavar="a,b", help="programs whose names have one of these in them")
    options = parser.parse_args(argv)
    todo = [("trees", (name, mode)) for name in MODELS for mode in ("train", "infer")]
    todo += [("papers", (name,)) for name in papers.PROGRAMS]
    rows = []
    print(f"{'program':<22}{'calls':>8}{'ms':>9}{'first':>7}{'ms':>9}{'later':>7}{'ms':>9}{'share':>9}")
    for kind, arguments in todo:
        if options.only and not any(part in " ".join(arguments) for part in options.only.split(",")):
            continue
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            row = pool.submit(run, kind, arguments, options.seconds).result()
        rows.append(row)
        print(f"{row['program']:<22}{row['calls']:>8}{row['ms']:>9.0f}{row['first']:>7}{row['first_ms']:>9.1f}"
              f"{row['later']:>7}{row['later_ms']:>9.1f}{row['share']:>9.2%}", flush=True)
    took, later = sum(row["ms"] for row in rows), sum(row["later_ms"] for row in rows)
    worst = max((row["share"] for row in rows), default=0.0)
    print(f"all: {later / took:.2%} of the time; the most of one program: {worst:.2%}")
    harness.finish(options.json, {"rows": rows})
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
