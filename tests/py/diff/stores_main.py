# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of generate_stores.py: `stores_main.py --seeds A-B [--random] [--store NAME] [--context NAME] [--show]`.

Each store, with all contexts, is a module of its own.  What differs is printed with the program.
"""
import argparse
import collections
import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import janus  # noqa: E402
from diff import generate_stores, generated_run  # noqa: E402

LIMIT = 60  # seconds a store


def observe(module, step):
    """What one can see of calls of `step`, one part a call."""
    module.reset()
    seen, parts = generated_run.Seen(), []
    for c, n in generate_stores.CALLS:
        state, out = module.State(c), io.StringIO()
        for again in range(2 if n == 5 else 1):
            try:
                with contextlib.redirect_stdout(out):
                    seen(step(state, janus.tensor([float(c)]), n))
            except Exception as error:
                seen(type(error).__name__, str(error), generated_run.where(error, module.__file__))
            seen(state, list(vars(state)), state.alias is state.l,
                 vars(state.net), module.G, module.H, module.GET(), module.Class.values, module.Class.shared,
                 module.State.shared, module.default.__defaults__, module.default.__kwdefaults__, out.getvalue())
        parts.append((c, n, seen.entries))
        seen.entries = []
    return parts


def compare(programs, folder, name, numerics="fast"):
    """(program, difference, graphs, calls) of each."""
    names = [(f"step_{i}", program) for i, program in enumerate(programs)]
    text, found = generate_stores.module(names), []
    plain, decorated = (generated_run.load(text, folder, name) for _ in range(2))
    for step_name, program in names:
        step = janus.function(getattr(decorated, step_name), measure=False, numerics=numerics, verify="never")
        want, got = observe(plain, getattr(plain, step_name)), observe(decorated, step)
        difference = next((f"call {k} (c={a[0]}, n={a[1]}): {d}" for k, (a, b) in enumerate(zip(want, got))
                           if (d := generated_run.differences(a[2], b[2], numerics))), "")
        found.append((program, difference, step.stats()["graph"], step.stats()["calls"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0-1")
    parser.add_argument("--store", action="append")
    parser.add_argument("--context", action="append")
    parser.add_argument("--random", action="store_true", help="seeds of functions of many stores")
    parser.add_argument("--numerics", default="fast")
    parser.add_argument("--show", action="store_true", help="print every program and why it is no graph")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    first, last = (int(n) for n in options.seeds.split("-"))
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            programs = [("random", seed)] if options.random else list(
                generate_stores.programs(seed, options.store, options.context))
            for store in dict.fromkeys(program[0] for program in programs):
                own = [program for program in programs if program[0] == store]
                signal.alarm(LIMIT)
                for program, difference, graphs, calls in compare(own, folder, f"stores_{seed}_{os.getpid()}", options.numerics):
                    counts["programs"] += 1
                    counts["with graphs"] += graphs > 0
                    counts["calls"] += calls
                    counts["calls as graphs"] += graphs
                    if difference:
                        counts["different"] += 1
                        print(f"--- seed {seed} {program}: {difference[:400]}", flush=True)
                    if difference or options.show:
                        print(generate_stores.text("step", program), f"\n[{graphs}/{calls}]", flush=True)
    print(dict(counts))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
