# SPDX-License-Identifier: Apache-2.0
"""Runs a program of generate.py, decorated or not, and compares what can be seen of it."""
import contextlib
import importlib.util
import io
import math
import pathlib
import random
import re
import sys
import traceback

import janus

CALLS = 6
# In "exact", every bit.  In "fast", rounding, by the largest number of a tensor; "mixed": where a model becomes double on
# the way, what is double then has been rounded as a float before; "unstable": see compare().
RELATIVE = {"fast": {"float32": 2e-4, "float64": 1e-9}, "exact": {"float32": 0.0, "float64": 0.0},
            "mixed": {"float32": 2e-4, "float64": 2e-4}, "unstable": {"float32": 2e-2, "float64": 2e-2}}


class Node:
    def __init__(self, rng, depth, trees, made):
        self.word, self.share = rng.randrange(12), rng.random()
        self.rounds, self.tag = rng.randrange(3), rng.choice("abc")
        self.label, self.h = janus.tensor([rng.randrange(3)]), None
        self.index, self.numbers = janus.tensor([self.word]), janus.tensor([rng.randrange(12) for _ in range(3)])
        self.vector = janus.tensor([[rng.uniform(-1, 1) for _ in range(3)]])
        self.mask, self.visits, self.items = self.numbers > 5, 0, []
        width = rng.randrange(4) if trees.get("wide") else 2 if rng.random() < 0.8 else 0
        self.children = [child(rng, depth - 1, trees, made) for _ in range(width if depth > 0 else 0)]
        self.left, self.right = (self.children[0], self.children[-1]) if self.children else (None, None)

    def __repr__(self):
        return f"Node {self.word}"

    def weight(self):
        return self.share * 0.5 + self.rounds


def child(rng, depth, trees, made):
    if trees.get("dag") and made and rng.random() < 0.3:
        return rng.choice(made)
    node = Node(rng, depth, trees, made)
    made.append(node)
    return node


class Seen:
    """What was seen, as plain values; objects met again are numbers."""

    def __init__(self):
        self.entries, self.known, self.kept = [], {}, []

    def __call__(self, *values):
        now = set()
        self.entries += [self.frozen(v, now) for v in values]

    def frozen(self, v, now):
        if v is None or isinstance(v, (bool, int, str, float)):
            return v
        if callable(v) and not isinstance(v, janus.nn.Module):
            return getattr(v, "__name__", type(v).__name__)
        known = id(v) in self.known
        if not known:
            self.known[id(v)] = len(self.known)
            self.kept.append(v)
        if id(v) in now:
            return ("same", self.known[id(v)])
        now.add(id(v))
        content = self.content(v, now)
        return ("again", self.known[id(v)], content) if known else content

    def content(self, v, now):
        if isinstance(v, janus.Tensor):
            grad = self.content(v.grad, now) if v.is_leaf and v.grad is not None else None
            return {"dtype": str(v.dtype), "shape": tuple(v.shape), "values": v.detach().reshape(-1).tolist(),
                    "requires_grad": v.requires_grad, "leaf": v.is_leaf, "grad": grad}
        if isinstance(v, (list, tuple, set)):
            return [type(v).__name__, *[self.frozen(x, now) for x in (sorted(v) if isinstance(v, set) else v)]]
        if isinstance(v, dict):
            return ["dict", *[(self.frozen(k, now), self.frozen(x, now)) for k, x in v.items()]]
        if isinstance(v, janus.nn.Module):
            own = {k: x for k, x in vars(v).items() if not k.startswith("_")}
            return [type(v).__name__, *[(name, self.frozen(x, now)) for part in (
                dict(v.named_parameters()), dict(v.named_buffers()), own) for name, x in part.items()]]
        slots = {name: getattr(v, name) for name in getattr(type(v), "__slots__", ()) if hasattr(v, name)}
        own = {**slots, **getattr(v, "__dict__", {})}
        return [type(v).__name__, *[(name, self.frozen(x, now)) for name, x in own.items()]]


def load(text, folder, name):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def loop(f):
    """What vmap means."""
    return lambda xs: janus.stack([f(x) for x in xs])


def where(error, path):
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__) if f.filename == path][-1:]


def run(module, seed, decorate, double=False):
    """What one can see of some calls, each with new trees, and the decorated step."""
    rng = random.Random(seed)
    random.seed(seed)
    janus.manual_seed(seed)
    model = module.Model()
    if double or module.OPTIONS.get("double"):
        model.double()
    optimizer = module.make_optimizer(model)
    step = decorate(module.make_step(model, optimizer))
    module.vmap = janus.vmap if decorate is not plain else loop
    seen, out = Seen(), io.StringIO()
    for call in range(CALLS):
        most = 12 if module.TREES.get("many") else 3
        made = []
        depths = [3] * 3 if call == 0 else [rng.randrange(4) for _ in range(rng.randrange(1, most + 1))]
        roots, log = [child(rng, depth, module.TREES, made) for depth in depths], []
        try:
            with contextlib.redirect_stdout(out):
                module.between(call, model, optimizer)
                result = step(roots, log)
                seen(result, log, model, made)
                module.after(result, model, log)
        except Exception as error:
            # A graph that writes a tensor several times is one new version of it, and in exact numerics what it has kept a
            # view of is named as a whole (docs/roadmap.md).
            text = re.sub(r"\w+\[[^\]]*\], (saved by \w+), is at version \d+; expected version \d+", r"\1, at another version", str(error))
            seen(type(error).__name__, text, where(error, module.__file__))
        seen(log, model, made, optimizer.state_dict(), janus.rand(2), random.random())
    seen(out.getvalue())
    return seen.entries, step


def plain(f):
    return f


def differences(want, got, numerics, place=""):
    """The first places where two observations differ."""
    if isinstance(want, dict) and isinstance(got, dict) and "values" in want and "values" in got:
        for key in want:
            if key == "values":
                if len(want[key]) != len(got[key]) or not close(want[key], got[key], want["dtype"], numerics):
                    return f"{place}: {want[key]} != {got[key]}"
            elif found := differences(want[key], got[key], numerics, f"{place}.{key}"):
                return found
        return ""
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        names = [x[0] if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) else i for i, x in enumerate(want)]
        for name, x, y in zip(names, want, got):
            if found := differences(x, y, numerics, f"{place}.{name}"):
                return found
        return "" if len(want) == len(got) else f"{place}: {len(want)} and {len(got)} parts: {want} != {got}"
    if isinstance(want, float) and isinstance(got, float):
        return "" if close([want], [got], "float32", numerics) else f"{place}: {want} != {got}"
    return "" if type(want) is type(got) and want == got else f"{place}: {want} != {got}"


def close(want, got, dtype, numerics):
    relative = RELATIVE[numerics].get(dtype.split(".")[-1], 0.0)
    most = max([abs(x) for x in want if isinstance(x, float) and math.isfinite(x)], default=0.0)
    for x, y in zip(want, got):
        same = x == y or (x != x and y != y)
        if not same and not abs(x - y) <= relative * (most + 0.1):
            return False
    return True


def rounding(text, module, seed, decorate):
    """Whether a small difference is gone where the same program computes in double: then it was rounding, which a norm
    of nearly equal numbers, say, makes large."""
    again = [run(load(text, pathlib.Path(module.__file__).parent, module.__name__), seed, f, True)[0]
             for f in (plain, decorate)]
    return not differences(*again, "mixed" if "model.float()" in text else "fast")


def compare(text, seed, folder, name, all_numerics=("fast", "exact"), threads=(None,)):
    """(what differs, the steps that ran decorated, whether the undecorated run raised)"""
    module, steps = load(text, folder, name), []
    want, _ = run(module, seed, plain)
    for number in threads:
        if number:
            janus.set_num_threads(number)
        for numerics in all_numerics:
            module = load(text, folder, name)  # globals as they were

            def decorate(f):
                return janus.function(f, measure=False, numerics=numerics, checkpoint=module.OPTIONS.get("checkpoint", False))

            got, step = run(module, seed, decorate)
            steps.append(step)
            mixed = numerics == "fast" and "model.double()" in text
            found = differences(want, got, "mixed" if mixed else numerics)
            if found and (numerics == "exact" or differences(want, got, "unstable") or
                          not rounding(text, module, seed, decorate)):
                return f"{numerics}, {number or 'all'} threads: {found}", steps, want
    return "", steps, want
