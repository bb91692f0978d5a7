# SPDX-License-Identifier: Apache-2.0
"""One process of bench/trees: one system with a number of threads, told what to do line by line.

    python serve.py SYSTEM THREADS

Answers each line of JSON on standard input with one; who asks waits for it, so that no line is read
ahead by the wrong one of two processes.  The first answer comes by itself:
{"version"}, or {"error"}.  {"open": path} makes a process of a configuration, a copy of this one
(libraries are loaded once), which gives {"opened": true} and answers from then on until {"close": true}.
{"run": seconds, "least": n} runs steps until so much time has passed and gives {"seconds", "steps",
"losses", "grown", "processor"} (nodes that a model grew; seconds of processor time of all threads); {"peak": true} gives {"bytes", "stats"}: by how much
memory grew since the model was made; {"predict": part} gives {"classes"} that the model finds at the
roots of the trees held out under that name.  Where the system is a probe, {"probe": seconds} multiplies
square matrices and gives {"flops_per_s"}.  BENCH_DEVICE=cuda in the environment: on the GPU, where the
memory that is told is the device's; nothing touches it before the copy is made.

The module of a system has `load(system)`, which starts no thread, `prepare(threads)`, `version()`,
`builder(inputs)` -> function that makes a tree of a raw one, `make_step(system, inputs)` -> function
of a batch that returns its loss and how many nodes it grew (0 if the trees were given), with an
attribute `predict(batch)` -> classes at the roots, and `stats(step)`.
"""
import ctypes
import gc
import importlib
import json
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "..", "samples")]
SYSTEMS = {"janus-imperative": "plain", "janus-coexecution": "plain", "janus": "plain", "janus-exact": "plain",
           "pytorch": "plain", "pytorch-batched": "batched", "pytorch-derived": "derived", "dynet": "autobatch"}
PREDICTED = 50  # trees at once
DEVICE = os.environ.get("BENCH_DEVICE", "cpu")


class Node:
    """A node of a binary tree, as anybody would write it."""

    def __init__(self, label, word, children):
        self.label = label
        self.word = word
        self.left, self.right = children or (None, None)


class AnyNode:
    """A node with any number of children."""

    def __init__(self, label, word, children):
        self.label = label
        self.token = word
        self.children = children


class Root:
    """What a model that grows trees begins with: the tree's first word and its class."""

    def __init__(self, label, word):
        self.label = label
        self.word = word


def first_word(raw):
    while raw[2]:
        raw = raw[2][0]
    return raw[1]


def tree_builder(inputs, word_of, label_of):
    """The function that makes a tree of a raw one."""
    if inputs["grows"]:
        return lambda raw: Root(label_of(raw[0]), word_of(first_word(raw)))
    make = Node if inputs["data"] != "stdlib" else AnyNode
    return lambda raw: grow(raw, word_of, label_of, make)


def grow(raw, word_of, label_of, make):
    """The tree of a raw tree, by an explicit stack: source code nests deeply."""
    done, stack = [], [(raw, False)]
    while stack:
        (label, word, children), ready = stack.pop()
        if children and not ready:
            stack.append(((label, word, children), True))
            stack.extend((child, False) for child in reversed(children))
        else:
            own = done[len(done) - len(children):]
            del done[len(done) - len(children):]
            done.append(make(None if label is None else label_of(label),
                             None if word is None else word_of(word), own))
    return done[0]


def memory(field):
    """A field of /proc/self/status in bytes; 0 where there is none."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            for line in lines:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def trim():
    """Gives back what is free in the C library's heap: else who made more garbage while it set up would seem to grow less."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
            stream.write("5")
    except OSError:
        pass


class Runner:
    """A system with its batches and where it is in them."""

    def __init__(self, module, system, inputs, threads):
        self.module = module
        module.prepare(threads)
        build = module.builder(inputs)
        trees = [build(raw) for raw in inputs["trees"]]
        size = inputs["batch"]
        self.batches = [trees[start:start + size] for start in range(0, len(trees) - size + 1, size)]
        self.held = {part: [build(raw) for raw in found] for part, found in inputs.get("held", {}).items()}
        self.step = module.make_step(system, inputs)
        self.at = 0
        inputs.clear()
        gc.freeze()
        gc.enable()
        trim()
        reset_peak()
        self.before = memory("VmRSS")

    def grown(self):
        """By how many bytes the process has grown, or the most there were on the device; None where that says nothing."""
        if DEVICE != "cpu":
            return self.module.device_bytes()
        if not getattr(self.module, "MEASURES_MEMORY", True) or not self.before:
            return None
        return memory("VmHWM") - self.before

    def run(self, seconds, least):
        losses, grown, step, batches = [], [], self.step, self.batches
        start, worked = time.perf_counter(), time.process_time()
        while len(losses) < least or time.perf_counter() - start < seconds:
            loss, nodes = step(batches[self.at % len(batches)])
            losses.append(loss)
            grown.append(nodes)
            self.at += 1
        return {"seconds": time.perf_counter() - start, "steps": len(losses), "losses": losses, "grown": grown,
                "processor": time.process_time() - worked}


def predict(runner, part):
    trees, size = runner.held[part], PREDICTED
    return [found for start in range(0, len(trees), size) for found in runner.step.predict(trees[start:start + size])]


def error(problem):
    return {"error": f"{type(problem).__name__}: {problem}".splitlines()[0]}


def serve_configuration(module, system, path, threads, answer):
    """What the copy does: answers until it is told to close."""
    from treebench import inputs
    gc.disable()  # until all trees are made
    runner = Runner(module, system, inputs.read(path), threads)
    answer(opened=True)
    for line in iter(sys.stdin.readline, ""):
        told = json.loads(line)
        if "run" in told:
            answer(**runner.run(told["run"], told["least"]))
        elif "predict" in told:
            answer(classes=predict(runner, told["predict"]))
        elif "peak" in told:
            answer(bytes=runner.grown(), stats=module.stats(runner.step))
        else:
            break


def copy(answer, serve, *arguments):
    """Runs `serve` in a copy of this process, which says what went wrong; waits for its end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            serve(*arguments, answer)
            status = 0
        except Exception as problem:
            answer(**error(problem))
            if not isinstance(problem, NotImplementedError):
                traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        answer(error=f"ended by signal {os.WTERMSIG(status)}")
    elif status == 0:
        answer(closed=True)


def main():
    system, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.setrecursionlimit(20000)

    def answer(**values):
        print(json.dumps(values), file=answers, flush=True)

    try:
        if system.startswith("probe-"):
            module = importlib.import_module("probe")
            answer(version=module.prepare(system[len("probe-"):], threads))
        else:
            module = importlib.import_module(SYSTEMS[system])
            module.load(system)
            answer(version=module.version())
        gc.collect()
        gc.freeze()  # copies do not touch what they share
        for line in iter(sys.stdin.readline, ""):
            told = json.loads(line)
            if "probe" in told:
                answer(flops_per_s=module.measure(told["probe"]))
            elif "open" in told:
                copy(answer, serve_configuration, module, system, told["open"], threads)
            else:  # a copy that failed is closed already
                answer(closed=True)
    except BrokenPipeError:
        pass  # who asked has gone
    except Exception as problem:
        answer(**error(problem))
        raise


if __name__ == "__main__":
    main()
