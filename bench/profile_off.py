# SPDX-License-Identifier: Apache-2.0
"""What the profiler costs while it is off: of the instructions of a call, those that look whether it is on.

    ./run python3 bench/profile_off.py

Each program is run under callgrind for few and for many calls, and what both have in common, such as the start, is taken
away.  Instructions are of the lines of exec/store/profile.h, which are inlined where something is recorded; as many again
are taken for the branches behind them, which are lines of other files.  Fails where that is 3 % of a call or more.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

MOST, FEW, MANY = 3.0, 20, 220


def programs():
    """{name: a call}, each as small as what it stands for: more work in kernels makes the part smaller."""
    import janus
    from janus import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaf, self.pair = nn.Embedding(10, 4), nn.Linear(8, 4)

        def forward(self, tree):
            if isinstance(tree, int):
                return self.leaf(janus.tensor([tree]))
            return janus.tanh(self.pair(janus.cat([self.forward(tree[0]), self.forward(tree[1])], 1)))

    def grown(n):
        return n % 10 if n < 2 else (grown(n // 2), grown(n - n // 2))

    x, y, model, net, tree = janus.ones(4), janus.ones(4), nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)]), Net(), grown(20)
    add, graph = janus.function(lambda a, b: a + b, measure=False), janus.function(model, measure=False)
    recursive = janus.function(net, measure=False)

    def step():
        model.zero_grad()
        graph(janus.ones(1, 4)).sum().backward()

    def quiet(f):
        def call():
            with janus.no_grad():
                f()
        return call
    return {"x + y, imperative": quiet(lambda: x + y), "x + y, a graph": quiet(lambda: add(x, y)),
            "4 linear layers, a graph": quiet(lambda: graph(janus.ones(1, 4))), "4 linear layers, trained": step,
            "a tree of 20 leaves": quiet(lambda: recursive(tree))}


def lines_of(text):
    """{name of a file: instructions of its own lines} of what callgrind wrote."""
    names, here, skip, found = {}, None, False, {}
    for line in text.split("\n"):
        place = re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$", line)
        if place:
            if place[3]:
                names[place[2]] = place[3]
            if place[1] in ("fl", "fi", "fe"):
                here = names[place[2]]
        elif line.startswith("calls="):
            skip = True  # the next line is what was called
        elif re.match(r"[+*\-\d]", line):
            if not skip and here is not None:
                found[here] = found.get(here, 0) + int(line.split()[1])
            skip = False
    return found


def counted(name, calls):
    """(instructions of lines of profile.h, all) of a run with so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, __file__, "--calls",
                               str(calls), name], env={**os.environ, "JANUS_QUIET": "1", "PYTHONHASHSEED": "0"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(done.stdout)
        with open(out) as file:
            found = lines_of(file.read())
    return sum(n for file, n in found.items() if file.endswith("exec/store/profile.h")), sum(found.values())


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--calls", type=int, help="run the program so often, and nothing else")
    ask.add_argument("name", nargs="*")
    given = ask.parse_args()
    if given.calls:
        import janus
        janus.set_num_threads(1)
        call = programs()[given.name[0]]
        for _ in range(given.calls):
            call()
        return
    most = 0.0
    print("| program | instructions of a call | that ask whether a profile is made | % |\n|---|---|---|---|")
    for name in given.name or programs():
        (few, all_few), (many, all_many) = counted(name, FEW), counted(name, MANY)
        whole, asks = (all_many - all_few) / (MANY - FEW), 2 * (many - few) / (MANY - FEW)
        most = max(most, 100 * asks / whole)
        print(f"| {name} | {whole:,.0f} | {asks:,.0f} | {100 * asks / whole:.2f} |", flush=True)
    if most >= MOST:
        raise SystemExit(f"{most:.2f} %: {MOST} % are allowed")


if __name__ == "__main__":
    main()
