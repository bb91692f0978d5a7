# SPDX-License-Identifier: Apache-2.0
"""The rungs of the ladder: programs with clocks and prints in their epochs, imperative, co-executed, by regions, in PyTorch.

The programs are those of tests/programs, as they are, `@janus.function` on the epoch, which the time, prints and loaders
in it keep from being one graph.  Every contender of a program has a process of its own; the processes run in turns, some
epochs each, so what changes the machine's speed meets them all, and random numbers begin anew with each epoch, the same
in all: epoch number i is the same work for every contender.  Shown is, of the second half of the epochs, the median
of the quotients of the imperative processor time of an epoch and the contender's of the same one (above 1 is faster);
of several rounds, which have processes of their own, the median of all.  `graphs`: as without co-execution; `always`:
co-executed without asking whether that pays; `coexecution`: where it does, else imperative; `whole`: the same of all
epochs together, so that the trial which finds out is in it; `ladder`: graphs, co-execution, imperative.  `imperative
again`: a second process of the first contender, which says how far a row may be trusted.  Trees are small, and most
steps take one: with --wide some models get wider layers.  PyTorch draws other random numbers.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
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
    "imperative again": None,
    "graphs": {"ladder": ("graph", "imperative")},
    "always": {"ladder": ("coexecution",)},
    "coexecution": {"ladder": ("coexecution", "imperative")},
    "ladder": {"ladder": WHOLE_LADDER},
    "regions": {"ladder": ("graph", "imperative"), "regions": True},
    "ladder+regions": {"ladder": WHOLE_LADDER, "regions": True},
    "PyTorch": None,
}
BASE, POLICY = "imperative", "coexecution"

# A contender of a program: for each line it is given it runs some epochs and answers with their processor times.
ONE = """
import contextlib, importlib, json, os, random, sys, time, types
path, library, options, epochs, turn = sys.argv[1], sys.argv[2], *(json.loads(x) for x in sys.argv[3:])
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
seconds, told = [], 0
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

def answer(**more):
    global told
    answers.write(json.dumps(dict(more, seconds=seconds[told:])) + chr(10))
    answers.flush()
    told = len(seconds)
    sys.stdin.readline()

def timed(*args, **kwargs):
    if len(seconds) % turn == 0:
        answer()
    torch.manual_seed(1234 + len(seconds))
    random.seed(1234 + len(seconds))
    start = time.process_time()
    try:
        return epoch(*args, **kwargs)
    finally:
        seconds.append(time.process_time() - start)

setattr(owner, name, timed)
torch.manual_seed(1234)
random.seed(1234)
module.main(epochs)
sys.stdout.flush()
answer(end=True, coexecuted=epoch.stats()["coexecution"] if options is not None else 0)
"""
TURN_SECONDS = 0.02


def text_of(name, wide, library):
    text = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    if wide:
        old, new = WIDE[name]
        if text.count(old) != 1:
            raise SystemExit(f"bench/ladder.py: {name} has no longer one {old!r}")
        text = text.replace(old, new)
    return text if library == "janus" else re.sub(r"\bjanus\b", "torch", text)


def contender(folder, name, wide, which, epochs, turn, patience):
    """Its process, which waits to be told to begin; None: there is no PyTorch."""
    library = "torch" if which == "PyTorch" else "janus"
    python = harness.peers_python(library)
    if python is None:
        return None
    path = pathlib.Path(folder) / f"{name}_{library}_{'wide' if wide else 'narrow'}.py"
    path.write_text(text_of(name, wide, library), encoding="utf-8")
    command = [python, "-W", "ignore", "-c", ONE, str(path), library,
               *(json.dumps(x) for x in (CONTENDERS[which], epochs, turn))]
    return harness.Worker(command, library == "janus", patience, JANUS_QUIET="1", OMP_NUM_THREADS="1", PYTHONHASHSEED="0")


def race(folder, name, wide, contenders, epochs, turn, patience):
    """Runs epochs of all contenders in turns: {contender: {"seconds", "coexecuted"} or {"error"}}"""
    found, running = {}, {}
    for which in contenders:
        worker = contender(folder, name, wide, which, epochs, turn, patience)
        if worker is None:
            found[which] = {"error": "no PyTorch"}
        elif "error" in worker.hello:
            found[which] = worker.hello
            worker.stop()
        else:
            running[which] = worker
            found[which] = {"seconds": []}
    while running:
        for which, worker in list(running.items()):
            got = worker.ask(go=True)
            if "error" in got:
                found[which] = got
            else:
                found[which]["seconds"] += got["seconds"]
                found[which]["coexecuted"] = got.get("coexecuted", 0)
            if "error" in got or "end" in got:
                worker.stop()
                del running[which]
    return found


def contest(folder, name, wide, options):
    """{contender: {"ms", "whole_ms", "times", "whole", "coexecuted", "epochs"} or {"error"}}"""
    probe = race(folder, name, wide, [BASE], 6, 1, options.patience)[BASE]
    if "error" in probe:
        return {BASE: probe}
    one = max(statistics.median(probe["seconds"]), 1e-6)
    epochs = max(12, min(5000, round(options.seconds / one)))
    turn = max(1, round(TURN_SECONDS / one))
    rounds = [race(folder, name, wide, options.contenders, epochs, turn, options.patience) for _ in range(options.rounds)]
    found = {}
    for which in options.contenders:
        errors = [r[which] for r in rounds if "error" in r[which]]
        if errors:
            found[which] = errors[0]
            continue
        seconds = [r[which]["seconds"] for r in rounds]
        n = len(seconds[0])
        late = [t for s in seconds for t in s[n // 2:]]
        row = found[which] = {"ms": 1e3 * statistics.median(late), "whole_ms": 1e3 * statistics.median(map(sum, seconds)),
                              "epochs": n, "coexecuted": rounds[-1][which]["coexecuted"]}
        if all("seconds" in r[BASE] for r in rounds):
            base = [t for r in rounds for t in r[BASE]["seconds"][n // 2:]]
            row["times"] = statistics.median(b / t for b, t in zip(base, late))
            row["whole"] = statistics.median(sum(r[BASE]["seconds"]) / sum(r[which]["seconds"]) for r in rounds)
    return found


def cell(value, width=17):
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
    print(f"{'program':22}{'ms/epoch':>10}" + "".join(f"{c:>17}" for c in columns) + f"{'whole':>8}{'co-executed':>13}")
    rows = {}
    with tempfile.TemporaryDirectory(prefix="janus-ladder-") as folder:
        for name in names:
            rows[name] = row = contest(folder, name, options.wide, options)
            if "error" in row[BASE]:
                print(f"{name:22}{'-':>10}  {row[BASE]['error']}", flush=True)
                continue
            own = row.get(POLICY, {})
            print(f"{name:22}{row[BASE]['ms']:10.3f}" + "".join(cell(row[c].get("times")) for c in columns) +
                  cell(own.get("whole"), 8) +
                  f"{own.get('coexecuted', 0):8} of {own.get('epochs', 0)}", flush=True)
    good = [row for row in rows.values() if "ms" in row[BASE]]
    shown = {c: [row[c]["times"] for row in good if "times" in row[c]] for c in columns}
    whole = [row[POLICY]["whole"] for row in good if "whole" in row.get(POLICY, {})]
    for what, of in (("median", statistics.median), ("least", min)):
        print(f"{what:32}" + "".join(cell(of(shown[c]) if shown[c] else None) for c in columns) +
              cell(of(whole) if whole else None, 8))
    print("Terra says (arXiv:2201.09210, on one GPU): all of ten programs faster than imperative TensorFlow, at most 1.73 times.")
    harness.finish(options.json, {"rows": rows, "wide": options.wide, "rounds": options.rounds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
