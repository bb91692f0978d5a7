# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests with every function decorated: what passes undecorated has to pass decorated.

    run python3 tests/stdlib/compare.py                 # all suites of suites.txt
    run python3 tests/stdlib/compare.py --sample        # those marked *, about eight minutes on two cores
    run python3 tests/stdlib/compare.py fractions with  # by name

Each suite runs twice, each time in a process of its own: as it is, and with every function of the named modules (or of
the tests themselves) decorated.  A test that passes the first time and not the second is a difference, unless
differs.txt lists it with a reason.  A process that crashes or hangs loses the test it was at, and the rest goes on in a
new one.  The tests are the interpreter's own `test` package; without it all is skipped.  The last line printed is
`N passed, N failed, N skipped`.
"""

import argparse
import concurrent.futures
import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ONE = os.path.join(HERE, "one.py")
# Crashes that one run of a suite survives before it is given up.
RESTARTS = 8


def read_suites():
    """Lines `name [*] test-module[|test-module] [module ...]`; the first test module that this CPython has is the suite's,
    and its modules are that one where none is named."""
    suites = {}
    with open(os.path.join(HERE, "suites.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if not words:
                continue
            sample = words[1] == "*"
            rest = words[2:] if sample else words[1:]
            test = next(filter(exists, rest[0].split("|")), rest[0])
            suites[words[0]] = (sample, test, rest[1:] or [test])
    return suites


def exists(module):
    """Nothing but the packages that it is in is imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def read_differs():
    """Pairs (pattern of test ids, reason)."""
    pairs = []
    with open(os.path.join(HERE, "differs.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                pattern, _, reason = line.strip().partition("  ")
                pairs.append((pattern, reason.strip()))
    return pairs


def run(test, modules, plain, seconds, limit):
    """({test id: state}, statistics) of one way."""
    states, stats = {}, {}
    with tempfile.TemporaryDirectory(prefix="janus-stdlib-") as folder:
        out, skip = os.path.join(folder, "out"), os.path.join(folder, "skip")
        end = time.monotonic() + limit
        for _ in range(RESTARTS):
            open(out, "w").close()
            with open(skip, "w", encoding="utf-8") as f:
                f.write("\n".join(states))
            command = [sys.executable, ONE, test, *modules, "--out", out, "--skip", skip, "--seconds", str(seconds)]
            # Graphs are used even where they do not pay: what is looked for is a wrong result.
            env = dict(os.environ, JANUS_MEASURE="0", PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
            left = end - time.monotonic()
            try:
                done = subprocess.run(
                    command + ["--plain"] * plain,
                    cwd=folder,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=max(left, 1),
                )
                how = f"exit {done.returncode}"
                tail = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            except subprocess.TimeoutExpired:
                how, tail = "time limit of the suite", ""
            at = None
            with open(out, encoding="utf-8") as f:
                for line in f:
                    try:
                        record = json.loads(line)
                    except ValueError:  # cut off by a crash
                        continue
                    at = record.get("begin", at)
                    if "test" in record:
                        states[record["test"]] = record["state"]
                        at = None
                    elif "functions" in record:
                        stats = record
            if stats or left <= 1:
                break
            if at is None:  # it ends before its first test or between two
                stats = {"broken": f"{how}: {tail}"}
                break
            states[at] = f"the process ended: {how}"
    return states, stats


def compare(name, suite, args):
    """Lines to print, and counts of tests that pass both ways, differ, and are of no use here."""
    _, test, modules = suite
    start = time.monotonic()
    plain, stats = run(test, modules, True, args.seconds, args.limit)
    if "broken" in stats or not plain:
        return [f"{name:24} skipped: {stats.get('broken', 'no test')}"], 0, 0, 1
    with_janus, stats = run(test, modules, False, args.seconds * 3, args.limit * 2)
    passed, differ, listed = 0, [], 0
    for test_id, state in plain.items():
        if state != "ok":
            continue
        other = with_janus.get(test_id, "not run: " + stats.get("broken", "time limit"))
        if other == "ok":
            passed += 1
        elif any(fnmatch.fnmatchcase(test_id, pattern) for pattern, _ in args.differs):
            listed += 1
        else:
            differ.append(f"    {test_id}: {other[:150]}")
    line = (
        f"{name:24} {passed} equal, {len(differ)} differ, {listed} listed; {stats.get('called', 0)} functions called, "
        f"{stats.get('graphs', 0)} with a graph, {stats.get('disproved', 0)} disproved ({time.monotonic() - start:.0f} s)"
    )
    shown = differ[: args.show]
    if len(differ) > args.show:
        shown.append(f"    ... and {len(differ) - args.show} more (--show N)")
    return [line] + shown, passed, len(differ), listed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="suites; default: all")
    parser.add_argument("--sample", action="store_true", help="only those marked * in suites.txt")
    parser.add_argument("--seconds", type=int, default=20, help="time limit of one test as it is")
    parser.add_argument("--limit", type=int, default=300, help="time limit of a suite as it is, in seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, default=12, help="differences that are shown of one suite")
    args = parser.parse_args()
    args.differs = read_differs()
    try:
        import test.support  # noqa: F401
    except ImportError:
        print("skipped: this Python has no test package (Debian: libpython3-testsuite)")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    suites = read_suites()
    for name in args.names:
        if name not in suites:
            parser.error(f"no suite {name} in suites.txt")
    names = args.names or [n for n in suites if suites[n][0] or not args.sample]
    total = [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(compare, name, suites[name], args) for name in names]
        for job in concurrent.futures.as_completed(jobs):
            lines, *counts = job.result()
            print("\n".join(lines), flush=True)
            total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
