# SPDX-License-Identifier: Apache-2.0
"""Steps of the programs of samples/papers, one text for janus and PyTorch.

Settings: `small` (the sizes of the tests), `seconds` of a round.  A round goes over a program's batches as often as it
takes; a unit is a step.  Its `facts` of a graph have `op_share`, the share of tensor ops that ran in graphs in the
round.
"""
import functools
import pathlib
import random
import sys
import time

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
WARM = 12  # times over the batches: graphs are made when something has changed, compared with CPython, and measured
LONGEST = 20.0  # seconds of warming up after which no further time over the batches begins


def prepare(lib, settings):
    """The programs ask for `janus`."""
    sys.path.insert(0, str(SAMPLES))
    if lib.__name__ == "janus":
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == lib.__name__:
            sys.modules["janus" + name[len(lib.__name__):]] = module


def same(thing):
    return thing


def modes(name, lib, settings):
    """`(name of the contender, what decorates, what is done to the modules)`."""
    if name == "janus":
        graph = functools.partial(lib.function, measure=False)
        suffixes = ("graph", "graph, not specialised", "graph, not unrolled", "graph, one thread")
        return [("janus imperative", same, same), ("janus", lib.function, same),
                *[(f"janus {suffix}", graph, same) for suffix in suffixes]]
    return [("PyTorch eager", same, same), ("torch.compile", same, lambda module: module.compile())]


def contender(lib, program, decorate, on_module, settings):
    def set_up():
        import papers
        lib.manual_seed(0)
        random.seed(0)
        made = []

        def decorated(function):
            made.append(decorate(function))
            return made[-1]

        modules, step, batches = papers.make(program, small=settings["small"], decorate=decorated)
        for module in modules:
            on_module(module)

        def ops():
            counts = [function.stats() for function in made if hasattr(function, "stats")]
            return sum(c["ops_graph"] for c in counts), sum(c["ops_eager"] for c in counts)

        def run():
            steps, before, end = 0, ops(), time.perf_counter() + settings["seconds"]
            while not steps or time.perf_counter() < end:
                for batch in batches:
                    step(batch)
                steps += len(batches)
            graph, eager = (now - then for now, then in zip(ops(), before))
            if graph + eager:
                run.facts = {"op_share": graph / (graph + eager)}
            return steps

        start = time.perf_counter()
        for _ in range(WARM):
            for batch in batches:
                step(batch)
            if time.perf_counter() - start > LONGEST:
                break
        return run
    return set_up


def contenders(lib, modes, settings):
    import papers
    return {f"{program}: {mode}": contender(lib, program, decorate, on_module, settings)
            for program in papers.PROGRAMS for mode, decorate, on_module in modes}
