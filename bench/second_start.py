# SPDX-License-Identifier: Apache-2.0
"""Processor time of a program from its first call of what is decorated to the end of the first that ran as a graph, and of all
conversions or what took their place: without a cache, and at a second start with JANUS_CACHE.  Of an epoch, which runs as
regions of statements, a call is long, and counts by the share of the tensor operations of two calls that ran in graphs.

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
PROGRAMS = ("gpt", "lenet", "lstm_lm", "tree_nary_childsum", "vae")


def here(path):
    """{place: [ms to the first graph, ms of two epochs, conversions, share of operations in graphs]}, in this process."""
    import janus
    seen = {}
    for place in ("MODEL", "STEP", "EPOCH"):
        m = types.ModuleType(f"{path.stem}_{place}")
        m.__file__ = str(path)
        sys.modules[m.__name__] = m
        exec(compile(path.read_text(), str(path), "exec"), m.__dict__)
        *outer, name = getattr(m, place).split(".")
        owner = m
        for part in outer:
            owner = getattr(owner, part)
        f = janus.function(getattr(owner, name), measure=False)
        times = []  # [begin, of the first graph, spent so far]

        def timed(*args, _f=f, _times=times, **kwargs):
            start = time.process_time()
            result = _f(*args, **kwargs)
            now = time.process_time()
            if not _times:
                _times[:] = [0.0, None]
            _times[0] += now - start
            if _times[1] is None and (_f.stats()["graph"] or _f.stats()["region_hits"]):
                _times[1] = _times[0]
            return result

        if outer:
            setattr(owner, name, lambda self, *a, _t=timed, **k: _t(self, *a, **k))
        else:
            setattr(owner, name, timed)
        janus.manual_seed(1)
        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
            m.main(2)
        stats = f.stats()
        seen[place] = [(times[1] or float("nan")) * 1e3, times[0] * 1e3, stats["conversions"], stats["op_share"]]
    return seen


def run(name, folder):
    env = {**os.environ, "JANUS_CACHE": folder, "JANUS_QUIET": "1"}
    done = subprocess.run([sys.executable, __file__, "--here", str(HERE / f"{name}.py")], env=env, capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    print(f"{'processor time in ms':24}{'to the first graph':>30}{'two epochs under the call':>30}{'conversions':>15}{'in graphs':>15}")
    print(f"{'':24}{'without':>15}{'with cache':>15}{'without':>15}{'with cache':>15}" + f"{'w/o':>8}{'with':>7}" * 2)
    for name in sys.argv[1:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            plain = [run(name, "") for _ in range(2)]
            run(name, folder)
            cached = [run(name, folder) for _ in range(2)]
        for place in ("MODEL", "STEP", "EPOCH"):
            a, b = (min(r[place] for r in rows) for rows in (plain, cached))
            print(f"{name + ' ' + place.lower():24}{a[0]:15.1f}{b[0]:15.1f}{a[1]:15.1f}{b[1]:15.1f}{a[2]:8}{b[2]:7}{a[3]:8.2f}{b[3]:7.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(pathlib.Path(sys.argv[2]))))
    else:
        main()
