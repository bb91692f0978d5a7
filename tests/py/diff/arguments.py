# SPDX-License-Identifier: Apache-2.0
"""Every public callable, given every kind of argument in every parameter, decorated and undecorated.

The table is made of the library itself: names, and the signatures that `inspect` sees.  For each callable a
call that works is looked for first (`base`); then each of its parameters is given each kind of value in turn,
the others as in that call.  A program of one line with that call runs three times, the last time with other
values of the same kind, and everything seen must agree: values, types, dtypes, shapes, strides, what was
written to the arguments, the error's type and message, and where the random generator stands.

`python -m diff.arguments` (in tests/py) runs all of it, `--part I/N` the I-th of N parts, `--only NAME` one
callable.  A case that hangs or crashes is named.
"""

import argparse
import faulthandler
import inspect
import itertools
import json
import math
import os
import re
import resource
import signal
import sys

import janus
import janus.nn.functional as F
from texts import code_of

try:
    import numpy as np
except ImportError:  # its kinds are left out
    np = None

EMPTY = inspect.Parameter.empty

# Not called: they write files, read input, or change the process for all cases that follow.
LEFT_OUT = re.compile(
    r"^(save|load|dump|explain|function|compile|manual_seed|seed|initial_seed|set_.*|get_rng_state|"
    r"share_memory_|pin_memory|is_pinned|cuda.*|register_hook|Generator|ModuleBase|GradMode|Node|Op|Size|dtype|"
    r"device|autocast|clear_autocast_cache|no_grad|enable_grad|inference_mode|empty.*|new_empty|new|"
    r"_.*|[A-Z]\w*Tensor|Tensor|Transformer|checkpoint|is_autocast_.*|is_grad_enabled|get_.*|retain_grad|backward|in_place|Function|max_pool2d_gather|einsum)$")
# Ops for the gradient rules: not part of the library that people call.
INTERNAL = re.compile(r".*_grad_?$|.*_step_?$")


# ---- what is called ---------------------------------------------------------------------------------------


class Callable:
    """`text` is how it is called, with the place of its arguments left open."""

    def __init__(self, name, obj, text, params):
        self.name, self.obj, self.text, self.params = name, obj, text, params


def parameters(obj):
    """(name, may be left out, keyword only) of each parameter; from the docstring where there is no signature."""
    try:
        found = inspect.signature(obj).parameters.values()
        return [(p.name, p.default is not EMPTY or p.kind == p.VAR_POSITIONAL, p.kind == p.KEYWORD_ONLY)
                for p in found if p.kind != p.VAR_KEYWORD]
    except (ValueError, TypeError):
        pass
    m = re.match(r"\w+\(([^)]*)\)", obj.__doc__ or "")
    params, keyword = [], False
    for text in (m.group(1).split(",") if m else ["x"]):
        text = text.strip()
        if text == "*":
            keyword = True
        elif text:
            params.append((text.split("=")[0].strip("*"), "=" in text or text.startswith("*"), keyword))
    return params


def callables():
    found = {}
    for prefix, where in (("janus", janus), ("F", F)):
        for name in sorted(dir(where)):
            obj = getattr(where, name)
            if callable(obj) and not LEFT_OUT.match(name) and not INTERNAL.match(name) and \
                    not (inspect.isclass(obj) and issubclass(obj, BaseException)) and id(obj) not in found:
                found[id(obj)] = Callable(f"{prefix}.{name}", obj, "f(%s)", parameters(obj))
    methods = []
    for name in sorted(dir(janus.Tensor)):
        obj = getattr(janus.Tensor, name)
        if not callable(obj) or LEFT_OUT.match(name) or INTERNAL.match(name):
            continue
        params = parameters(obj)
        if type(obj).__name__ == "method_descriptor":
            params = [("self", False, False)] + (params if obj.__doc__ and obj.__doc__.startswith(name + "(") else [])
        methods.append(Callable(f"Tensor.{name}", None, "a0." + name + "(%s)", params))
    for name, sign in (("getitem", "a0[a1]"), ("setitem", "a0.__setitem__(a1, a2)"), ("matmul", "a0 @ a1"), ("add", "a0 + a1"),
                       ("rsub", "a1 - a0"), ("mul", "a0 * a1"), ("truediv", "a0 / a1"), ("floordiv", "a0 // a1"),
                       ("mod", "a0 % a1"), ("pow", "a0 ** a1"), ("rpow", "a1 ** a0"), ("and", "a0 & a1"),
                       ("lshift", "a0 << a1"), ("lt", "a0 < a1"), ("eq", "a0 == a1"), ("contains", "a1 in a0"),
                       ("getrow", "a0[a1, :2]"), ("getcolumn", "a0[:, a1]"), ("getrest", "a0[..., a1]"),
                       ("getnew", "a0[None, a1]"), ("getpair", "a0[a1, a2]"), ("slice_start", "a0[a1:]"),
                       ("slice_stop", "a0[:a1]"), ("slice_step", "a0[::a1]")):
        n = 3 if "a2" in sign else 2
        methods.append(Callable(f"operator.{name}", None, sign, [(f"a{i}", False, False) for i in range(n)]))
    modules = []
    for name in sorted(dir(janus.nn)):
        obj = getattr(janus.nn, name)
        if inspect.isclass(obj) and issubclass(obj, janus.nn.Module) and obj is not janus.nn.Module and \
                not LEFT_OUT.match(name):
            params = [(p.name, p.default is not EMPTY, p.kind == p.KEYWORD_ONLY)
                      for p in list(inspect.signature(obj.__init__).parameters.values())[1:]
                      if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
            modules.append(Callable(f"nn.{name}", obj, "f(%s)", params))
    return list(found.values()) + methods + modules


# ---- values -----------------------------------------------------------------------------------------------


def ramp(*shape, dtype=None):
    n = math.prod(shape)
    x = janus.tensor([math.sin(1.7 * (i + 1)) for i in range(n)])
    return x.reshape(*shape).to(dtype) if dtype else x.reshape(*shape)


# What arguments of the working call are made of, tried in this order; made anew for every call.
POOL = {
    "f34": lambda: ramp(3, 4), "one": lambda: 1, "half": lambda: 0.5, "i3": lambda: janus.tensor([2, 0, 1]),
    "f4": lambda: ramp(4), "zero": lambda: 0, "b34": lambda: ramp(3, 4) > 0, "f44": lambda: ramp(4, 4), "two": lambda: 2,
    "shape": lambda: (3, 4), "f243": lambda: ramp(2, 4, 3), "f234": lambda: ramp(2, 3, 4), "i34": lambda: janus.arange(12).reshape(3, 4) % 3,
    "list": lambda: [ramp(3, 4), ramp(3, 4)], "dtype": lambda: janus.float64, "pair": lambda: (0, 1),
    "image": lambda: ramp(1, 2, 4, 4), "weights": lambda: ramp(2, 2, 2, 2), "i4": lambda: janus.tensor([1, 0, 3, 2]),
    "index": lambda: (janus.tensor([0, 2]), janus.tensor([1, 0])), "f2": lambda: ramp(2), "str": lambda: "ij,jk->ik",
    "scalar": lambda: janus.tensor(0.5), "twos": lambda: (2, 2), "f32": lambda: janus.float32,
    "f23": lambda: ramp(2, 3), "row": lambda: [0, 2], "p34": lambda: ramp(3, 4).abs(),
}
HINTS = {"dim": "one zero pair", "dims": "pair one", "size": "shape one", "shape": "shape", "sizes": "shape pair twos", "index": "i3 i34 one i4",
         "mask": "b34", "target": "f34 i3", "dtype": "dtype", "tensors": "list", "k": "two", "num_classes": "two one",
         "indices": "index i34 i3", "equation": "str", "kernel": "pair two", "kernel_size": "two pair", "num_samples": "two", "p": "half two",
         "cond": "b34", "condition": "b34", "repeats": "two pair", "axes": "pair", "end": "two", "start": "zero", "n": "two",
         "length": "one", "shifts": "one", "sections": "two", "split_size_or_sections": "two", "chunks": "two"}

KINDS = {
    "int": (1, 2), "negative": (-1, -2), "zero": (0, 1), "float": (0.5, 1.5), "bool": (True, False), "none": (None, None),
    "str": ("mean", "sum"), "huge": (2**63 - 1, -2**63), "big": (2**40, -2**40), "bigger": (2**70, -2**70), "infinite": (math.inf, math.nan),
    "tensor int": (lambda: janus.tensor(1), lambda: janus.tensor(2)),
    "tensor float": (lambda: janus.tensor(0.5), lambda: janus.tensor(1.5)),
    "tensor bool": (lambda: janus.tensor(True), lambda: janus.tensor(False)),
    "tensor huge": (lambda: janus.tensor(2**63 - 1), lambda: janus.tensor(-2**63)),
    "element int": (lambda: janus.tensor([1]), lambda: janus.tensor([2])),
    "element float": (lambda: janus.tensor([0.5]), lambda: janus.tensor([[1.5]])),
    "item int": (lambda: janus.tensor(1), lambda: janus.tensor(2)),
    "item float": (lambda: janus.tensor(0.5), lambda: janus.tensor(1.5)),
    "computed": (lambda: janus.tensor(0), lambda: janus.tensor(1)),
    "pair of tensors": (lambda: janus.tensor(1), lambda: janus.tensor(0)),
    "list": ([0, 1], [1, 0]),
}
IN_TEXT = {"item int": "%s.item()", "item float": "%s.item()", "computed": "(%s + 1)", "pair of tensors": "(%s, 1)"}
if np is not None:
    KINDS.update({
        "numpy int": (np.int64(1), np.int32(2)), "numpy float": (np.float64(0.5), np.float32(1.5)), "numpy bool": (np.bool_(True), np.bool_(False)),
        "array": (lambda: np.array([0, 1]), lambda: np.array([1, 0])), "array of no dims": (lambda: np.array(1), lambda: np.array(2))})


def make(v):
    return v() if callable(v) and not isinstance(v, type) and not isinstance(v, janus.dtype) else v


# ---- running ----------------------------------------------------------------------------------------------

_codes = {}


def program(text, obj):
    """A function with this text, which `inspect` can see."""
    if text not in _codes:
        _codes[text] = code_of(text)
    scope = {"f": obj}
    exec(_codes[text], scope)
    return scope["call"]


def text_of(c, given, wrapped=None, pattern="%s"):
    """The program that calls with the parameters given (indices), that of `wrapped` within `pattern`."""
    args = [f"a{i}" for i in range(len(given))]
    def spell(at):
        return pattern % args[at] if at == wrapped else args[at]

    if c.name.startswith("operator."):
        body = re.sub(r"a(\d)", lambda m: spell(int(m.group(1))), c.text)
    else:
        method, parts, keyword = "%s" in c.text and c.text.startswith("a0."), [], False
        for at, i in enumerate(given):
            if method and at == 0:
                continue
            name, _, only = c.params[i]
            keyword = keyword or only or i != at
            parts.append(f"{name}={spell(at)}" if keyword else spell(at))
        body = c.text % ", ".join(parts)
    return f"def call({', '.join(args)}):\n    return {body}\n"


def frozen(v, depth=0):
    if isinstance(v, janus.Tensor):
        few = v if v.numel() <= 100 else v.reshape(-1)[:100]
        return ("tensor", str(v.dtype), tuple(v.shape), v.stride() if v.numel() else None, v.requires_grad, few.tolist())
    if np is not None and isinstance(v, (np.ndarray, np.generic)):
        return (type(v).__name__, str(v.dtype), v.tolist())
    if isinstance(v, (list, tuple)):
        return (type(v).__name__, [frozen(x, depth + 1) for x in v])
    if isinstance(v, janus.nn.Module):
        return ("module", repr(v), [(k, frozen(p)) for k, p in v.state_dict().items()])
    if v is None or isinstance(v, (bool, int, float, str)):
        return (type(v).__name__, v)
    if inspect.isgenerator(v) or hasattr(v, "__next__"):
        return (type(v).__name__, [frozen(x, depth + 1) for x in itertools.islice(v, 20)])
    return (type(v).__name__,)


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-5 * max(1, abs(a), abs(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


class TooLong(BaseException):
    """Nobody waits for sizes of 2**40."""


def too_long(*_):
    raise TooLong


def observe(f, args):
    janus.manual_seed(7)
    try:
        result = ("gives", frozen(f(*args)))
    except Exception as e:  # it is compared
        result = ("raises", type(e).__name__, str(e))
    return result, [frozen(a) for a in args], janus.get_rng_state().tolist()


def base(c):
    """Names of POOL for the required parameters of a call that works, and one more if it must be; or None."""
    need = [i for i, p in enumerate(c.params) if not p[1]]
    for more in [[]] + [[i] for i, p in enumerate(c.params) if p[1]]:
        found = base_of(c, sorted(need + more), 4000 if not more else 400)
        if found is not None:
            return found
    return None


def base_of(c, need, limit):
    pools = []
    for i in need:
        hinted = HINTS.get(c.params[i][0].rstrip("_"), "").split()
        pools.append(hinted + [k for k in POOL if k not in hinted])
    f = program(text_of(c, need), c.obj)
    # small sums of places first: what comes early in every pool
    for names in itertools.islice(ordered(pools), limit):
        try:
            janus.manual_seed(7)
            r = f(*[POOL[k]() for k in names])
            if r is not NotImplemented:
                return dict(zip(need, names))
        except Exception:
            continue
    return None


def ordered(pools):
    for total in range(sum(len(p) - 1 for p in pools) + 1):
        yield from places(pools, total)


def places(pools, total):
    if not pools:
        if total == 0:
            yield ()
        return
    for k in range(min(total, len(pools[0]) - 1) + 1):
        for rest in places(pools[1:], total - k):
            yield (pools[0][k],) + rest


def cases(c, found):
    for i, (name, _, _) in enumerate(c.params):
        if c.text.startswith("a0.") and i == 0:
            continue
        given = sorted(set(found) | {i})
        for kind, values in KINDS.items():
            at = given.index(i)
            pattern = IN_TEXT.get(kind, "%s")
            text = text_of(c, given, at, pattern)
            calls = []
            for v in (values[0], values[0], values[1]):
                calls.append([(lambda v=v: make(v)) if k == i else POOL[found[k]] for k in given])
            yield f"{c.name}({name}: {kind})", text, calls


def check(c, text, calls):
    """The first difference, or None; and how many calls ran as a graph."""
    plain, fast = program(text, c.obj), janus.function(program(text, c.obj), verify="never")
    for n, makers in enumerate(calls):
        signal.setitimer(signal.ITIMER_REAL, 2)
        try:
            want = observe(plain, [m() for m in makers])
        except TooLong:
            return None, 0
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        got = observe(fast, [m() for m in makers])
        if not same(want, got):
            return f"call {n}: plain {want}\n    decorated {got}", 0
    return None, fast.stats()["graph"]


def run_some(c, todo, out, verbose):
    """Runs cases of one callable and writes a line of JSON for each."""
    for name, text, calls in todo:
        out.write(json.dumps({"starts": name}) + "\n")
        out.flush()
        if verbose:
            print(name, flush=True)
        faulthandler.dump_traceback_later(20, exit=True)
        difference, graphs = check(c, text, calls)
        faulthandler.cancel_dump_traceback_later()
        out.write(json.dumps({"name": name, "difference": difference, "graphs": graphs, "text": text}) + "\n")
    out.flush()


def run(c, todo, verbose):
    """The answers of all cases; each crash costs a process."""
    answers = []
    while todo:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with os.fdopen(write, "w") as out:
                run_some(c, todo, out, verbose)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as lines:
            got = [json.loads(line) for line in lines]
        _, status = os.waitpid(child, 0)
        done = [a for a in got if "name" in a]
        answers += done
        todo = todo[len(done):]
        if status:
            text = todo[0][1] if todo else ""
            answers.append({"name": got[-1].get("starts", c.name), "difference": f"the process ends with status {status}",
                            "graphs": 0, "text": text})
            todo = todo[1:]
    return answers


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", default="0/1", help="I/N: cases I, I + N, I + 2 N, ...")
    options.add_argument("--only", help="a callable's name, or `NAME(PARAMETER: KIND)`")
    options.add_argument("--verbose", action="store_true")
    o = options.parse_args()
    part, parts = map(int, o.part.split("/"))
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # its shadow alone is larger
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    signal.signal(signal.SIGALRM, too_long)
    n = ran = graphs = differences = 0
    unknown = []
    for c in callables():
        if o.only and c.name != o.only.split("(")[0]:
            continue
        found = base(c)
        if found is None:
            unknown.append(c.name)
            continue
        todo = []
        for case in cases(c, found):
            n += 1
            if (n - 1) % parts == part and not (o.only and "(" in o.only and o.only != case[0]):
                todo.append(case)
        for a in run(c, todo, o.verbose):
            ran += 1
            graphs += a["graphs"] > 0
            if a["difference"]:
                differences += 1
                print(f"{a['name']}: {a['difference']}\n    {a['text'].splitlines()[-1].strip()}", flush=True)
    if unknown:
        print("no working call was found of", ", ".join(unknown))
    print(f"{ran} cases, {graphs} with graphs, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
