# SPDX-License-Identifier: Apache-2.0
"""One process that runs a workload's contenders of one library in one mode when it is told to.

    python worker.py LIBRARY MODE WORKLOAD THREADS [SETTINGS]

Reads lines of JSON from standard input and answers each with one: {"names": [...]} first, then for
{"run": name} the seconds of one round per unit of work, {"seconds": s}, or {"error": text}; for
{"forget": name} what was set up for it is dropped.  What a workload prints goes to standard error.
A workload is a file of bench/workloads with `contenders(lib, modes)`, a dict of names to functions
that set up and return the round; modes are what the function of that name gives, and a round returns
how many units of work it did.  SETTINGS, JSON, are for workloads that take them as a last argument:
those have `modes` of their own and `prepare(lib, settings)`; a round's `check`, numbers that should
be alike in all libraries, and its `facts` are part of the answer, as is the processor's time, {"processor": s}.
"""
import gc
import importlib
import json
import os
import sys
import time


def load_library(name, threads):
    """The module of a library, limited to that many threads."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "JANUS_NUM_THREADS"):
        os.environ[variable] = str(threads)
    lib = importlib.import_module(name)
    if hasattr(lib, "set_num_threads"):
        lib.set_num_threads(threads)
    return lib


def modes(name, lib):
    """`(suffix of the contender, how it treats a step, how it treats a model)`."""
    def same(thing):
        return thing
    if name == "janus":
        return [("janus imperative", same, same), ("janus graph", lib.function, same)]
    if name == "torch":
        return [("PyTorch eager", same, same), ("torch.compile", same, lib.compile)]
    return [("NumPy", same, same)]


def main():
    name, wanted, workload, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads"))
    sys.setrecursionlimit(10000)

    def answer(**values):
        print(json.dumps(values), file=answers, flush=True)

    try:
        lib = load_library(name, threads)
        module, settings = importlib.import_module(workload), [json.loads(text) for text in sys.argv[5:]]
        if settings:
            module.prepare(lib, *settings)
        known = getattr(module, "modes", modes)(name, lib, *settings)
        contenders = module.contenders(lib, [mode for mode in known if mode[0] == wanted], *settings)
    except Exception as problem:
        answer(error=f"{type(problem).__name__}: {problem}")
        return
    answer(names=list(contenders), version=getattr(lib, "__version__", "?"))
    ready = {}
    for line in sys.stdin:
        told = json.loads(line)
        if "forget" in told:
            ready.pop(told["forget"], None)
            if name == "torch" and "compile" in wanted:
                lib.compiler.reset()  # what is compiled later would be compiled for sizes of any kind, then not at all
            gc.collect()
            answer(forgotten=True)
            continue
        run = told["run"]
        try:
            if run not in ready:
                ready[run] = contenders[run]()  # set up and warm up, not timed
            start, busy = time.perf_counter(), time.process_time()
            units = ready[run]()
            elapsed, busy = time.perf_counter() - start, time.process_time() - busy
            answer(seconds=elapsed / units, processor=busy / units, check=getattr(ready[run], "check", []),
                   facts=getattr(ready[run], "facts", {}))
        except Exception as problem:
            answer(error=f"{type(problem).__name__}: {problem}".splitlines()[0])


if __name__ == "__main__":
    main()
