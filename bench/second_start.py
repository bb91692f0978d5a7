# SPDX-License-Identifier: Apache-2.0
"""Processor time of a program from its first call of what is decorated to the end of the first that ran as a graph, and of all
conversions or what took their place: without a cache, and at a second start with JANUS_CACHE.  Of an epoch, which runs as
regions of statements, a call is long, and counts by the share of the tensor operations of two calls that ran in graphs.  Each place
is decorated in a process of its own: what one has read of the sources would be there for the next.  janus's own modules
are found as byte code, as where it is installed.

    ./run python3 bench/second_start.py [PROGRAM ...]
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

HERE = pathlib.Path(__file__).resolve().parents[1] / "tests" / "programs"
ROUNDS = 3  # of which the least counts
PROGRAMS = ("gpt", "lenet", "lstm_lm", "tree_nary_childsum", "vae")


def here(path, place):
    """[ms to the first graph, ms of two epochs, conversions, share of operations in graphs], in this process."""
    import janus
    m = types.ModuleType(f"{path.stem}_{place}")
    m.__file__ = str(path)
    sys.modules[m.__name__] = m
    exec(compile(path.read_text(), str(path), "exec"), m.__dict__)
    *outer, name = getattr(m, place).split(".")
    owner = m
    for part in outer:
        owner = getattr(owner, part)
    f = janus.function(getattr(owner, name), measure=False)
    spent, first = 0.0, None

    def timed(*args, **kwargs):
        nonlocal spent, first
        start = time.process_time()
        result = f(*args, **kwargs)
        spent += time.process_time() - start
        if first is None and (f.stats()["graph"] or f.stats()["region_hits"]):
            first = spent
        return result

    setattr(owner, name, (lambda self, *args, **kwargs: timed(self, *args, **kwargs)) if outer else timed)
    janus.manual_seed(1)
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        m.main(2)
    stats = f.stats()
    return [(first or float("nan")) * 1e3, spent * 1e3, stats["conversions"], stats["op_share"]]


def run(name, place, folder, modules):
    """What `here` measures, in a process of its own that finds the byte code of janus in `modules`, as that of what is installed is found."""
    env = {**os.environ, "JANUS_CACHE": folder, "JANUS_QUIET": "1", "PYTHONPYCACHEPREFIX": modules}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # ./run's
    done = subprocess.run([sys.executable, __file__, "--here", str(HERE / f"{name}.py"), place], env=env, capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    print(f"{'processor time in ms':24}{'to the first graph':>30}{'two epochs under the call':>30}{'conversions':>15}{'in graphs':>15}")
    print(f"{'':24}{'without':>15}{'with cache':>15}{'without':>15}{'with cache':>15}" + f"{'w/o':>8}{'with':>7}" * 2)
    with tempfile.TemporaryDirectory() as modules:
        for name in sys.argv[1:] or PROGRAMS:
            for place in ("MODEL", "STEP", "EPOCH"):
                row(name, place, modules)


def row(name, place, modules):
    plain, cached = [], []
    with tempfile.TemporaryDirectory() as folder:
        run(name, place, folder, modules)
        for _ in range(ROUNDS):  # in turns, since the machine is not as fast at all times
            plain.append(run(name, place, "", modules))
            cached.append(run(name, place, folder, modules))
    a, b = ([min(column) for column in zip(*runs)] for runs in (plain, cached))
    print(f"{name + ' ' + place.lower():24}{a[0]:15.1f}{b[0]:15.1f}{a[1]:15.1f}{b[1]:15.1f}{a[2]:8}{b[2]:7}{a[3]:8.2f}{b[3]:7.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(pathlib.Path(sys.argv[2]), sys.argv[3])))
    else:
        main()
