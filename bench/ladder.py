# SPDX-License-Identifier: Apache-2.0
"""The rungs of the ladder: programs with clocks and prints in their epochs, imperative, co-executed, by regions, in PyTorch.

The programs are those of tests/programs, as they are, `@janus.function` on the epoch, which the time, prints and loaders
in it keep from being one graph.  Every contender of a program has a process of its own in each round; shown is the
processor time of the fastest epoch of the second half against that of the imperative one (above 1 is faster), the best
of the rounds.  `graphs`: as without co-execution; `always`: co-executed without asking whether that pays; `coexecution`:
where it does, else imperative; `whole`: the same of all epochs together, so that the trial which finds out is in it;
`ladder`: graphs, co-execution, imperative.  Trees are small, and most steps take one: with --wide some models get wider
layers.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import harness

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "tests" / "programs"
NAMES = ("a3c actor_tabular beam_search char_rnn cky crf dqn ema gan_dc gat gpt inside kmeans_em lenet lstm_lm moe ode"
         " pointer_network ppo resnet tree_binary_state tree_dict_program tree_gated_arith tree_iterative"
         " tree_level_batches tree_memo_dag tree_methods tree_nary_childsum tree_returns_objects tree_shift_reduce"
         " tree_tuples tree_visitor").split()
# What is made wider: text of the program, and what stands there instead.
WIDE = {
    "cky": ("SpanScorer(10, 4)", "SpanScorer(10, 64)"),
    "crf": ("CRFTagger(12, 6, 4)", "CRFTagger(12, 64, 4)"),
    "tree_binary_state": ("RecursiveNet(20, 8, 2)", "RecursiveNet(20, 128, 2)"),
    "tree_gated_arith": ("ListNet(6)", "ListNet(128)"),
    "tree_level_batches": ("Model(5)", "Model(128)"),
    "tree_methods": ("Net(4)", "Net(128)"),
    "tree_nary_childsum": ("Classifier(30, 8, 3)", "Classifier(30, 128, 3)"),
    "tree_returns_objects": ("Encoder(6)", "Encoder(128)"),
    "tree_shift_reduce": ("SPINN(20, 6, 3)", "SPINN(20, 128, 3)"),
}
# Column: options of janus.function; None: undecorated.
WHOLE_LADDER = ("graph", "coexecution", "imperative")
CONTENDERS = {
    "imperative": None,
    "graphs": {"ladder": ("graph", "imperative")},
    "always": {"ladder": ("coexecution",)},
    "coexecution": {"ladder": ("coexecution", "imperative")},
    "ladder": {"ladder": WHOLE_LADDER},
    "regions": {"ladder": ("graph", "imperative"), "regions": True},
    "ladder+regions": {"ladder": WHOLE_LADDER, "regions": True},
    "PyTorch": None,
}
BASE, POLICY = "imperative", "coexecution"

# One run of a program: processor time of its epochs, on the last line.
ONE = """
import contextlib, importlib, json, os, random, sys, time, types
path, library, options, epochs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
torch = importlib.import_module(library)
torch.set_num_threads(1)
module = sys.modules["program"] = types.ModuleType("program")
module.__file__ = path
exec(compile(open(path).read(), path, "exec"), module.__dict__)
*outer, name = module.EPOCH.split(".")
owner = module
for part in outer:
    owner = getattr(owner, part)
epoch = getattr(owner, name)
if options is not None:
    options["ladder"] = tuple(options["ladder"])
    epoch = torch.function(epoch, **options)
seconds = []

def timed(*args, **kwargs):
    start = time.process_time()
    try:
        return epoch(*args, **kwargs)
    finally:
        seconds.append(time.process_time() - start)

setattr(owner, name, timed)
torch.manual_seed(1234)
random.seed(1234)
saved = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
module.main(epochs)
sys.stdout.flush()
os.dup2(saved, 1)
calls = 0
if options is not None:
    stats = epoch.stats()
    calls = stats["coexecution"]
print(json.dumps({"seconds": seconds, "coexecuted": calls}))
"""


def text_of(name, wide, library):
    text = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    if wide:
        old, new = WIDE[name]
        if text.count(old) != 1:
            raise SystemExit(f"bench/ladder.py: {name} has no longer one {old!r}")
        text = text.replace(old, new)
    return text if library == "janus" else re.sub(r"\bjanus\b", "torch", text)


def run(folder, name, wide, contender, epochs, patience):
    """Seconds of each epoch, and how many were co-executed; or why there are none."""
    library = "torch" if contender == "PyTorch" else "janus"
    python = harness.peers_python(library)
    if python is None:
        return None, "no PyTorch"
    path = pathlib.Path(folder) / f"{name}_{library}_{'wide' if wide else 'narrow'}.py"
    path.write_text(text_of(name, wide, library), encoding="utf-8")
    environment = dict(os.environ, JANUS_QUIET="1", OMP_NUM_THREADS="1")
    if library == "torch":  # the peers' interpreter may be another one
        environment.pop("PYTHONPATH", None)
    command = [python, "-W", "ignore", "-c", ONE, str(path), library, json.dumps(CONTENDERS[contender]), str(epochs)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=patience,
                              env=environment)
    except subprocess.TimeoutExpired:
        return None, f"no end after {patience} s"
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1]), None


def contest(folder, name, wide, options):
    """{contender: {"ms", "whole_ms", "coexecuted"} or {"error"}}"""
    probe, why = run(folder, name, wide, BASE, 6, options.patience)
    if probe is None:
        return {BASE: {"error": why}}
    one = max(statistics.median(probe["seconds"]), 1e-6)
    epochs = max(12, min(5000, round(options.seconds / (one * len(probe["seconds"]) / 6))))
    found = {}
    for _ in range(options.rounds):
        for contender in options.contenders:
            if "error" in found.get(contender, {}) or (contender == "PyTorch" and contender in found):
                continue  # it takes longest, and tells the least
            got, why = run(folder, name, wide, contender, epochs, options.patience)
            if got is None:
                found[contender] = {"error": why}
                continue
            seconds = got["seconds"]
            best = found.setdefault(contender, {"ms": float("inf"), "whole_ms": float("inf"), "epochs": len(seconds)})
            best["ms"] = min(best["ms"], 1e3 * min(seconds[len(seconds) // 2:]))
            best["whole_ms"] = min(best["whole_ms"], 1e3 * sum(seconds))
            best["coexecuted"] = got["coexecuted"]
    return found


def ratio(row, contender, what="ms"):
    own = row.get(contender, {})
    return row[BASE][what] / own[what] if what in own and what in row[BASE] else None


def cell(value, width=15):
    return f"{'-' if value is None else f'{value:.2f}':>{width}}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", help="programs (default: %d)" % len(NAMES))
    p.add_argument("--wide", action="store_true", help="the programs that have a wide form, in it")
    p.add_argument("--seconds", type=float, default=0.5, help="of imperative epochs in a run (default: 0.5)")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--patience", type=float, default=300, help="seconds until a run is given up")
    p.add_argument("--json", metavar="FILE", help="write the table there")
    p.add_argument("--contenders", default=",".join(CONTENDERS), help="some of these (default: %(default)s)")
    options = p.parse_args()
    options.contenders = [c for c in CONTENDERS if c == BASE or c in options.contenders.split(",")]
    names = options.names or (list(WIDE) if options.wide else NAMES)
    columns = [c for c in options.contenders if c != BASE]
    print(f"{'program':22}{'ms/epoch':>10}" + "".join(f"{c:>15}" for c in columns) + f"{'whole':>8}{'co-executed':>13}")
    rows = {}
    with tempfile.TemporaryDirectory(prefix="janus-ladder-") as folder:
        for name in names:
            rows[name] = row = contest(folder, name, options.wide, options)
            if "error" in row[BASE]:
                print(f"{name:22}{'-':>10}  {row[BASE]['error']}", flush=True)
                continue
            own = row.get(POLICY, {})
            print(f"{name:22}{row[BASE]['ms']:10.3f}" + "".join(cell(ratio(row, c)) for c in columns) +
                  cell(ratio(row, POLICY, "whole_ms"), 8) +
                  f"{own.get('coexecuted', 0):8} of {own.get('epochs', 0)}", flush=True)
    shown = {c: [r for r in (ratio(row, c) for row in rows.values() if "ms" in row[BASE]) if r] for c in columns}
    whole = [r for r in (ratio(row, POLICY, "whole_ms") for row in rows.values() if "ms" in row[BASE]) if r]
    for what, of in (("median", statistics.median), ("least", min)):
        print(f"{what:32}" + "".join(cell(of(shown[c]) if shown[c] else None) for c in columns) +
              cell(of(whole) if whole else None, 8))
    print("Terra (arXiv:2201.09210) says of its ten programs that all are faster than imperative.")
    harness.finish(options.json, {"rows": rows, "wide": options.wide, "rounds": options.rounds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
