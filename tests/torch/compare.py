# SPDX-License-Identifier: Apache-2.0
"""The eager library beside PyTorch: every case of cases_*.py in both, and what is different.

    ./run $JANUS_PEERS/bin/python tests/torch/compare.py [--list] [--only TEXT] [--snapshot]

JANUS_PEERS is the environment of the benchmarks (bench/peers/setup.sh): PyTorch and NumPy. --snapshot writes what
PyTorch gave to tests/torch/expected.xz, which tests/py/test_torch.py compares janus with where there is no PyTorch.
What differs on purpose is listed in tests/torch/deliberate.txt, with its reason in docs/differences.md.
"""
import argparse
import collections
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import expected  # noqa: E402
import run  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every difference, not only a count per kind")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--snapshot", action="store_true", help="write what PyTorch gives")
    parser.add_argument("--loud", action="store_true", help="also where janus raises, or PyTorch has no kernel")
    args = parser.parse_args()
    torch, janus = run.library("torch"), run.library("janus")
    torch["T"].set_num_threads(1)
    kinds, outcomes, known = collections.Counter(), {}, expected.deliberate()
    total = 0
    for case in expected.cases():
        if args.only not in case.name:
            continue
        total += 1
        want, message = run.run(torch, case)
        outcomes[case.name] = want
        got, ours = run.run(janus, case)
        why = run.differs(want, got, case)
        if why and case.name in known:
            kinds["deliberate"] += 1
        elif why and not args.loud and not run.silent(why):
            kinds["loud"] += 1
        elif why:
            kinds[why.partition(":")[0]] += 1
            if args.list:
                print(f"{case.name}\n    {why}  {(message or ours)[:150]!r}", flush=True)
    print(f"{total} cases, differences by kind: {dict(kinds.most_common())}")
    if args.snapshot:
        print(f"{expected.FILE.name}: {expected.write(outcomes)} bytes")
    return 1 if sum(kinds.values()) > kinds["deliberate"] + kinds["loud"] else 0


if __name__ == "__main__":
    sys.exit(main())
