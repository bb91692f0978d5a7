# SPDX-License-Identifier: Apache-2.0
"""All values in all places used in all ways (generate_values.py), or some, and all changes of programs
(generate_changes.py, with --changes):

    python3 tests/py/diff/values_main.py [--share 0.1] [--seed 0] [--kind K] [--place P] [--use U]
    python3 tests/py/diff/values_main.py --changes
"""
import argparse
import collections
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_changes, generate_values  # noqa: E402


def changes():
    total = graphs = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        module = generate_changes.load(pathlib.Path(folder))
        for scene, what in generate_changes.cases():
            d, ran = generate_changes.run(module, scene, what, generate_values.difference)
            total += 1
            graphs += ran > 0
            if d:
                wrong += 1
                print(f"{scene}, {what}: {d}")
    print(f"{total} scenes, {graphs} with graphs, {wrong} differences")
    return bool(wrong)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--changes", action="store_true")
    p.add_argument("--share", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--kind")
    p.add_argument("--place")
    p.add_argument("--use")
    p.add_argument("--other")
    p.add_argument("--show", type=int, default=60)
    args = p.parse_args()
    if args.changes:
        return changes()
    total = graphs = 0
    wrong, by = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(p, u) for p, u in generate_values.PAIRS if (args.place or p, args.use or u) == (p, u)]
        module = generate_values.load(pathlib.Path(folder), pairs)
        for kind, place, use, other in generate_values.cases(pairs, random.Random(args.seed), args.share):
            if kind != (args.kind or kind):
                continue
            d, ran = generate_values.run(module, kind, place, use, args.other or other)
            total += 1
            graphs += ran > 0
            if d:
                wrong.append(f"{kind} in {place}, {use} (then {args.other or other}): {d}")
                by["kind " + kind] += 1
                by["place " + place] += 1
                by["use " + use] += 1
    for line in random.Random(1).sample(wrong, min(args.show, len(wrong))):
        print(line)
    for name, n in by.most_common(40):
        print(f"{n:6} {name}")
    print(f"{total} sequences, {graphs} with graphs, {len(wrong)} differences")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
