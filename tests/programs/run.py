#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each program of this folder undecorated, and with `janus.function` on its model, its step and its epoch.

    ./build/run python3 tests/programs/run.py [NAME ...] [--epochs N] [--exact] [--time] [--table]

A program is a file with `main(epochs)`, which trains or decodes with generated data, prints as it goes and returns what
it has made, and with three names, MODEL, STEP and EPOCH, of what is decorated: functions of the file, or methods
(`Net.forward`).  Nothing in the file knows whether they are.  What it returns (values, objects and which of them are
one), what it prints, what it raises and where the random generators stand must be the same; floating point numbers
within TOLERANCE, or to the bit with --exact.  Where a program differs that leaves TOLERANCE by itself, undecorated, when
its weights move by one rounding, it is run again and compared to the bit.  Durations in the output are left out: numbers followed by `s` or `ms`.

Each program has a process of its own.  --table prints docs/coverage.md: `op_share` and the first reason not to be a
graph are those of the second half of the epochs, when what could be converted is; --time adds the ratio in processor time to
the undecorated program.  It goes on for LONG seconds undecorated, begun anew where it ends by itself: every epoch of the second half at its
shortest of some runs, which take turns.  Where that is more than MOST, conversions may be in it, and it goes on for LONGER seconds.  The exit status is 1 where something differs that known.txt does not list, or no longer does though listed.
"""

import argparse
import contextlib
import gc
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
PLACES = ("MODEL", "STEP", "EPOCH")
LONG, LONGER, TURNS = 0.2, 1.5, range(2, 6)  # of runs that are timed: seconds, how often
MOST, EPOCHS_A_SECOND = 1.05, 3000
TOLERANCE = (2e-3, 2e-4)  # relative, absolute: rounding that some steps of an optimizer have made larger
DURATION = re.compile(r" *\d+(\.\d*)?(e[-+]?\d+)? ?m?s\b")
FLOAT = re.compile(r"(-?\d+\.\d*(?:e[-+]?\d+)?)")


def names():
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run")


def known():
    """{(program, place): reason} of known.txt, whose lines are `program PLACE reason`."""
    lines = [line.split(None, 2) for line in (HERE / "known.txt").read_text().splitlines()]
    return {(w[0], w[1]): w[2] for w in lines if w and not w[0].startswith("#")}


# ---- one program, in this process ---------------------------------------------------------------------------------


@contextlib.contextmanager
def stdout_to(file):
    """The process's own, so that `sys.stdout` stays what it is."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(file.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


class Observed:
    """A run: what it showed, and per epoch its processor time and the counts of what is decorated."""

    def __init__(self):
        self.values, self.printed, self.raised, self.random = None, "", None, None
        self.seconds, self.counts = [], []
        self.function = None


def owner_of(module, path):
    *outer, name = path.split(".")
    for part in outer:
        module = getattr(module, part)
    return module, name


@contextlib.contextmanager
def scaled_weights(factor):
    """Whatever an optimizer is made for is multiplied by `factor` then."""
    import janus
    init = janus.optim.Optimizer.__init__

    def scale(self, *args, **kwargs):
        init(self, *args, **kwargs)
        for group in self.param_groups:
            for p in group["params"]:
                p.data.mul_(factor)

    janus.optim.Optimizer.__init__ = scale
    try:
        yield
    finally:
        janus.optim.Optimizer.__init__ = init


def observe(path, place, epochs, options, counting=True, times=1):
    """times: how often the program is begun.  counting=False: nothing but time is looked at between epochs, as a look at counts leaves
    less of the caches to the next."""
    import janus
    sys.path.insert(0, str(HERE.parent / "py"))
    from diff.harness import Log

    seen = Observed()
    module = types.ModuleType(f"{path.stem}_{place}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    if place:
        owner, name = owner_of(module, getattr(module, place))
        seen.function = janus.function(getattr(owner, name), **options)
        setattr(owner, name, seen.function)

    owner, name = owner_of(module, module.EPOCH)
    epoch = getattr(owner, name)

    def timed(*args, **kwargs):
        start = time.process_time()
        try:
            return epoch(*args, **kwargs)
        finally:
            seen.seconds.append(time.process_time() - start)
            if counting:
                stats = seen.function.stats() if seen.function else {}
                seen.counts.append([stats.get("ops_graph", 0), stats.get("ops_eager", 0)])

    setattr(owner, name, timed)
    janus.manual_seed(1234)
    random.seed(1234)
    log = Log()
    with tempfile.TemporaryFile("w+") as out:
        with stdout_to(out):
            try:
                for _ in range(times):
                    log(module.main(epochs))
            except Exception as e:  # the program's own error is what is compared
                seen.raised = f"{type(e).__name__}: {e}"
        out.seek(0)
        seen.printed = DURATION.sub("(duration)", out.read())
    seen.values = log.entries
    seen.random = (janus.rand(3).tolist(), random.random())
    return seen


def lines_close(want, got, exact):
    a, b = FLOAT.split(want), FLOAT.split(got)
    if exact or len(a) != len(b):
        return want == got
    for x, y in zip(a, b):
        if x != y and not (FLOAT.fullmatch(x) and FLOAT.fullmatch(y) and len(x.split(".")[0]) <= 12):
            return False
        if x != y:
            digits = len(re.sub(r"e.*", "", x).split(".")[1])
            room = TOLERANCE[0] * abs(float(x)) + TOLERANCE[1] + 1.01 * 10.0 ** -digits
            if not abs(float(x) - float(y)) <= room:
                return False
    return True


def difference(want, got, exact):
    """What a decorated run shows that the undecorated one does not, in a line; None: nothing."""
    from diff.harness import close
    if want.raised != got.raised:
        return f"raised {want.raised}, decorated {got.raised}"
    a, b = want.printed.splitlines(), got.printed.splitlines()
    for i, (x, y) in enumerate(zip(a, b)):
        if not lines_close(x, y, exact):
            return f"line {i + 1} printed is {x!r}, decorated {y!r}"
    if len(a) != len(b):
        return f"{len(a)} lines printed, decorated {len(b)}"
    if not close(want.values, got.values, exact, TOLERANCE):
        where = [0]
        while isinstance(want.values, (tuple, list)):
            pairs = list(zip(want.values, got.values))
            bad = [i for i, (x, y) in enumerate(pairs) if not close(x, y, exact, TOLERANCE)]
            if not bad or len(want.values) != len(got.values):
                break
            where.append(bad[0])
            want, got = types.SimpleNamespace(values=pairs[bad[0]][0]), types.SimpleNamespace(values=pairs[bad[0]][1])
        return f"value at {where[1:]} is {str(want.values)[:100]}, decorated {str(got.values)[:100]}"
    if want.random != got.random:
        return "a random generator was left elsewhere"
    return None


def reason_of(function):
    """The first one of janus.explain why a call was not a graph."""
    import janus
    with contextlib.redirect_stdout(None):
        text = janus.explain(function)
    for line in str(text).splitlines():
        found = re.match(r"\s*(?:[-*] )?(not converted|discarded): (.*)", line)
        if found:
            where = found.group(2).replace(str(HERE.parent.parent) + "/", "")
            return f"{found.group(1)}: {where}" if found.group(1) != "not converted" else where
    return ""


def second_half(seen):
    counts = seen.counts or [[0, 0]]
    first = counts[len(counts) // 2 - 1] if len(counts) > 1 else [0, 0]
    graph, eager = counts[-1][0] - first[0], counts[-1][1] - first[1]
    return graph / (graph + eager) if graph + eager else None


def ratio(path, place, epochs, ladder, shortest, long=LONG):
    """Processor time, decorated to undecorated, once it is steady; shortest: an undecorated epoch's.  Whatever else the machine does
    only adds to an epoch, so each counts with the least that it took in some runs of both kinds by turns: until that is hardly less
    than it was a turn before."""
    epochs = max(3 * epochs, int(min(EPOCHS_A_SECOND * long, long / max(shortest, 1e-9))))
    best, before, times = {}, None, 1
    for turn in range(1, TURNS.stop):
        for kind in (None, place):
            gc.collect()
            seconds = observe(path, kind, epochs, {"ladder": ladder}, counting=False, times=times).seconds
            if not best and len(seconds) < epochs // 2:
                times = epochs // len(seconds)
                seconds = observe(path, kind, epochs, {"ladder": ladder}, counting=False, times=times).seconds
            best[kind] = [min(pair) for pair in zip(best.get(kind, seconds), seconds)]
        n = min(map(len, best.values()))
        now = [sum(best[kind][n // 2:n]) for kind in (None, place)]
        if turn >= TURNS.start and all(a > 0.99 * b for a, b in zip(now, before)):
            break
        before = now
    return now[1] / max(now[0], 1e-9)


def moved_by_rounding(path, plain, epochs):
    """Whether the undecorated program leaves TOLERANCE when its weights are scaled by one unit in the last place, up or
    down: what it shows is then no measure of what is a rounding and what is wrong."""
    for factor in (1 + 2.0 ** -23, 1 - 2.0 ** -23):
        with scaled_weights(factor):
            if difference(plain, observe(path, None, epochs, {}), False):
                return True
    return False


def run_here(path, epochs, exact, timing, places=PLACES, ladder=None):
    """{place: {"differs", "op_share", "reason", "time"}}"""
    options = {"verify": "never", "measure": False, "numerics": "exact" if exact else "fast", "ladder": ladder}
    plain = observe(path, None, epochs, options)
    rows = {}
    for place in places:
        seen = observe(path, place, epochs, options)
        differs = difference(plain, seen, exact)
        if differs and not exact and moved_by_rounding(path, plain, epochs):
            differs = difference(plain, observe(path, place, epochs, {**options, "numerics": "exact"}), True)
        row = {"differs": differs, "op_share": second_half(seen),
               "reason": reason_of(seen.function), "calls": seen.function.stats()["calls"]}
        if timing:
            shortest = min(plain.seconds, default=0.0)
            row["time"] = ratio(path, place, epochs, ladder, shortest)
            if row["time"] > MOST:
                row["time"] = ratio(path, place, epochs, ladder, shortest, LONGER)
        rows[place] = row
    rows["raised"] = plain.raised
    return rows


HEAD = """\
# What runs as a graph

Printed by `tests/programs/run.py --time --table`: programs as people write them (`tests/programs/`), with the
decorator on the model, on the step and on the whole epoch; the share of tensor ops under the decorated calls that
ran in graphs in the second half of the epochs; processor time of the second half of a longer run against the
undecorated one, each epoch at its shortest of some runs, or of one of a second and a half where conversions are in the first; and the first reason not to be a graph. All of them do what they do undecorated, but for those
that `tests/programs/known.txt` lists.
"""

# ---- all of them --------------------------------------------------------------------------------------------------


def run(name, epochs=6, exact=False, timing=False, places=PLACES, folder=HERE, timeout=300, ladder=None):
    """run_here() in a process of its own.  One that dies or hangs differs everywhere."""
    command = [sys.executable, str(HERE / "run.py"), "--here", str(folder / f"{name}.py"), "--epochs", str(epochs),
               "--places", ",".join(places)] + ["--exact"] * exact + ["--time"] * timing
    command += ["--ladder", ",".join(ladder)] if ladder else []
    env = dict(os.environ, JANUS_QUIET="1", PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryFile("w+") as err:
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=err, text=True, timeout=timeout, env=env)
            if done.returncode == 0:
                return json.loads(done.stdout.splitlines()[-1])
            err.seek(0)
            what = (err.read().strip().splitlines() or [""])[-1]
            what = f"the process ended with status {done.returncode}: {what}"
        except subprocess.TimeoutExpired:
            what = f"no end after {timeout} s"
    rows = {p: {"differs": what, "op_share": None, "reason": "", "calls": 0} for p in places}
    return {**rows, "raised": None}


def table(results):
    """Markdown: a line a program, three columns a place."""
    print(HEAD)
    for i, place in enumerate(PLACES):
        shares = [r[place]["op_share"] or 0.0 for r in results.values()]
        print(f"- {place.lower()}: {sum(s >= 0.9 for s in shares)} of {len(shares)} at 0.9 or more,"
              f" {sum(s == 0.0 for s in shares)} at 0" + (";" if i < 2 else "."))
    print("\n| program | decorated | op share | time | why not a graph |\n| --- | --- | --- | --- | --- |")
    for name, rows in results.items():
        for place in PLACES:
            r = rows[place]
            share = "no ops" if r["op_share"] is None else f"{r['op_share']:.2f}"
            why = "differs: " + r["differs"] if r["differs"] else r["reason"] if (r["op_share"] or 0) < 0.99 else ""
            ratio = f"{r['time']:.2f}" if "time" in r else ""
            print(f"| {name} | {place.lower()} | {share} | {ratio} | {why.replace('|', '/')[:150]} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", help="programs; all of them")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--exact", action="store_true", help='numerics="exact", compared to the bit')
    p.add_argument("--time", action="store_true", help="measure processor time, too")
    p.add_argument("--table", action="store_true", help="print docs/coverage.md")
    p.add_argument("--places", default=",".join(PLACES))
    p.add_argument("--ladder", help="rungs, for example coexecution: the ladder of what is decorated")
    p.add_argument("--here", type=pathlib.Path, help=argparse.SUPPRESS)
    o = p.parse_args()
    places = o.places.split(",")
    ladder = tuple(o.ladder.split(",")) if o.ladder else None
    if o.here:
        print(json.dumps(run_here(o.here, o.epochs, o.exact, o.time, places, ladder)))
        return 0
    results, expected, bad = {}, {} if ladder == ("coexecution",) else known(), 0
    for name in o.names or names():
        results[name] = rows = run(name, o.epochs, o.exact, o.time, places, ladder=ladder)
        if rows["raised"]:
            bad += 1
            print(f"{name}: undecorated, it raises {rows['raised']}", file=sys.stderr)
        for place in places:
            differs, listed = rows[place]["differs"], (name, place) in expected
            if bool(differs) != listed:
                bad += 1
                print(f"{name} {place}: {differs or 'listed in known.txt, and no longer differs'}", file=sys.stderr)
        if not o.table:
            text = ["-" if rows[q]["op_share"] is None else f"{rows[q]['op_share']:.2f}" for q in places]
            print(f"{name:24}", *text, *[f"{rows[q]['time']:.2f}" for q in places if "time" in rows[q]], flush=True)
    if o.table:
        table(results)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
