# SPDX-License-Identifier: Apache-2.0
"""Runs a case with one library, and compares what came out of two of them.

An outcome is ("raises", type) or ("gives", items): an item per leaf of the result, then one per gradient.
"""
import importlib
import math
import signal
import warnings

TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
FLOOR = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-4, "bfloat16": 1e-3}


def library(name):
    """What a case sees: T, F and np."""
    return {"T": importlib.import_module(name), "F": importlib.import_module(name + ".nn.functional"),
            "np": importlib.import_module("numpy"), "math": math, "copy": importlib.import_module("copy"),
            "pickle": importlib.import_module("pickle"), "inf": math.inf, "nan": math.nan}


def _dtype(T, name):
    return getattr(T, name)


def _make(T, i):
    """The tensor of an input, and its leaf."""
    dtype = _dtype(T, i.dtype)

    def tensor(values, shape):
        made = T.tensor(values, dtype=T.float64 if i.dtype in ("float16", "bfloat16") else dtype).reshape(shape)
        return made.to(dtype)
    if i.layout == "turned" and len(i.shape) >= 2:
        leaf = tensor(i.values, i.shape).transpose(0, 1).contiguous()
        view = (lambda x: x.transpose(0, 1))
    elif i.layout == "stepped" and len(i.shape) >= 1:
        plain = tensor(i.values, i.shape)
        leaf = T.stack([plain, plain], len(i.shape)).reshape(tuple(i.shape[:-1]) + (2 * i.shape[-1],)).contiguous()
        view = (lambda x: x[..., ::2])
    else:
        leaf = tensor(i.values, i.shape)
        view = (lambda x: x)
    if i.grad:
        leaf.requires_grad_(True)
    return leaf, view(leaf)


def _flat(value, out):
    if isinstance(value, (tuple, list)):
        out.append(["tuple", len(value)])
        for item in value:
            _flat(item, out)
    elif isinstance(value, dict):
        out.append(["dict", [str(k) for k in value]])
        for item in value.values():
            _flat(item, out)
    else:
        out.append(value)
    return out


def _numbers(t):
    values = t.detach().cpu().reshape(-1).tolist()
    return [float(v) if isinstance(v, float) else v for v in values]


def _item(T, value, storages):
    if isinstance(value, T.Tensor):
        dtype = str(value.dtype).rpartition(".")[2]
        shares = value.numel() > 0 and any(_inside(value, s) for s in storages)
        return ["tensor", dtype, list(value.shape), list(value.stride()) if shares else None,
                bool(value.requires_grad), _numbers(value)]
    if isinstance(value, list):
        return value
    if value is None or isinstance(value, (bool, int, float, str)):
        return [type(value).__name__, value.replace("janus.", "torch.") if isinstance(value, str) else value]
    return ["object", str(value).replace("janus.", "torch.")]


def _inside(value, span):
    return span[0] <= value.data_ptr() < span[1]


def _span(t):
    start = t.data_ptr()
    return start, start + max(t.numel(), 1) * t.element_size()


class TooLong(Exception):
    """A case takes longer than anybody waits."""


def _too_long(number, frame):
    raise TooLong


def run(lib, case):
    """The outcome of a case, and the message where it raises."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(5)
    try:
        return _run(lib, case)
    finally:
        signal.alarm(0)


def _run(lib, case):
    T = lib["T"]
    names = dict(lib)
    leaves = []
    T.manual_seed(7)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in case.inputs:
                leaf, names[i.name] = _make(T, i)
                leaves.append(leaf)
    except Exception as e:
        return ("no input", type(e).__name__), str(e)
    spans = [_span(leaf) for leaf in leaves]
    before, _, last = case.source.rpartition("; ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if before:
                exec(before, names)
            result = eval(last, names)
            flat = _flat(result, [])
            items = [_item(T, value, spans) for value in flat]
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            roots = [v for v in flat if isinstance(v, T.Tensor) and v.requires_grad]
            if wanted and roots:
                items += _gradients(T, roots, wanted)
    except Exception as e:
        return ("raises", type(e).__name__), str(e)
    return ("gives", items), ""


def _gradients(T, roots, wanted):
    weights = [((T.arange(v.numel()) % 5 + 1).to(v.dtype) * 0.5).reshape(v.shape) for v in roots]
    found = T.autograd.grad(roots, wanted, weights, allow_unused=True)
    return [["no gradient"] if g is None else
            ["gradient", str(g.dtype).rpartition(".")[2], list(g.shape), _numbers(g)] for g in found]


def _near(a, b, dtype, scale):
    if isinstance(a, bool) or isinstance(b, bool) or isinstance(a, int) and isinstance(b, int):
        return a == b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if a == b:
        return a != 0 or math.copysign(1, a) == math.copysign(1, b) or scale > 1
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= scale * (TOLERANCE.get(dtype, 1e-6) * max(abs(a), abs(b)) + FLOOR.get(dtype, 1e-9) *
                                  (1 if max(abs(a), abs(b)) > 1e-2 else max(1e-30, min(1, 100 * max(abs(a), abs(b))))))


def differs(want, got, case, slack=1.0):
    """What is different, in words, or None; a difference begins with its kind."""
    tolerance = case.tolerance * slack
    used = [i.dtype for i in case.inputs if i.dtype in TOLERANCE]
    mixed = len(set(used)) > 1
    loosest = max(used, key=TOLERANCE.get) if mixed else None
    if slack > 1:  # kept with 6 digits
        loosest = max(used + ["float32"], key=TOLERANCE.get)
    if want[0] != got[0]:
        if got[0] == "raises":
            return f"refused: {got[1]}"
        return f"accepted: {want[1] if want[0] == 'raises' else want[0]}"
    if want[0] != "gives":
        return None if want[1] == got[1] else f"error type: {want[1]} / {got[1]}"
    if len(want[1]) != len(got[1]):
        return f"structure: {len(want[1])} / {len(got[1])} items"
    for k, (a, b) in enumerate(zip(want[1], got[1])):
        why = _item_differs(a, b, tolerance, loosest)
        if why:
            return f"{why} (item {k})"
    return None


def silent(why):
    """Whether nothing tells a program of a difference.  It is told where janus raises and PyTorch does not, or something
    else; and it is none where janus takes arguments that PyTorch's argument parser does not, or computes what PyTorch
    has no kernel for."""
    return not why.startswith(("refused", "error type", "accepted: NotImplementedError", "accepted: TypeError",
                               "accepted: OverflowError"))


def _item_differs(a, b, tolerance, loosest):
    if a[0] != b[0]:
        return f"kind: {a[0]} / {b[0]}"
    if a[0] == "tensor":
        for what, at in (("dtype", 1), ("shape", 2), ("requires_grad", 4), ("strides", 3)):
            if a[at] != b[at]:
                return f"{what}: {a[at]} / {b[at]}"
    if a[0] == "gradient":
        if a[1:3] != b[1:3]:
            return f"gradient's type: {a[1:3]} / {b[1:3]}"
    if a[0] in ("tensor", "gradient"):
        scale = tolerance if a[0] == "tensor" else 4 * tolerance  # signs of zero gradients may differ
        # Where much is added up, errors are those of the largest numbers.
        size = max((abs(v) for v in a[-1] if math.isfinite(v)), default=0.0) if tolerance >= 8 else 0.0
        room = min(size, 1e3) * TOLERANCE.get(loosest or a[1], 0.0)
        for i, (x, y) in enumerate(zip(a[-1], b[-1])):
            if not _near(x, y, loosest or a[1], scale) and not abs(x - y) <= room:
                return f"{'values' if a[0] == 'tensor' else 'gradient'}: [{i}] {x} / {y}"
        return None
    if a[0] == "float":
        return None if _near(a[1], b[1], "float32", tolerance) else f"number: {a[1]} / {b[1]}"
    return None if a == b else f"other: {a} / {b}"
