# SPDX-License-Identifier: Apache-2.0
"""Every op against its definition in NumPy, and scalar ops against Python itself.

The samples are those of tests/conformance; its `dump` program runs them on both kernel sets.
"""
import json
import math
import operator
import os
import subprocess

import pytest

np = pytest.importorskip("numpy")

import references  # noqa: E402  (needs NumPy)

DUMP = os.path.join(os.environ.get("JANUS_BUILD", "."), "tests", "conformance", "dump")
pytestmark = pytest.mark.skipif(not os.path.exists(DUMP), reason="tests/conformance/dump not built")

KIND_TENSOR, KIND_INT, KIND_BOOL = 1, 2, 4


def run(*args, text=None):
    return subprocess.run([DUMP, *args], input=text, capture_output=True, text=True, check=True).stdout


def operand(v):
    if v is None:
        return None
    if v["kind"] != KIND_TENSOR:
        x = v["data"][0]
        return bool(x) if v["kind"] == KIND_BOOL else int(x) if v["kind"] == KIND_INT else float(x)
    return np.array(v["data"], references.NP[v["dtype"]]).reshape(v["dims"])


@pytest.fixture(scope="module")
def samples():
    return [json.loads(line) for line in run().splitlines()]


def check(sample):
    inputs = [operand(v) for v in sample["in"]]
    with np.errstate(all="ignore"):
        want = references.REFERENCES[sample["op"]](*inputs, **sample["attrs"])
    want = want if isinstance(want, tuple) else (want,)
    assert len(want) == len(sample["out"])
    for w, v in zip(want, sample["out"]):
        got, w = operand(v), np.asarray(w)
        assert list(w.shape) == v["dims"], f"{sample['text']}: shape {w.shape}, got {v['dims']}"
        narrow = v["dtype"] == "f32" or any(i and i["dtype"] == "f32" for i in sample["in"])
        tolerance = 2e-4 if narrow else 1e-8
        np.testing.assert_allclose(got.astype(np.float64), w.astype(np.float64), rtol=tolerance,
                                   atol=tolerance, err_msg=f"{sample['device']} {sample['text']}")


def test_every_op_has_a_reference(samples):
    assert {s["op"] for s in samples} == set(references.REFERENCES)


@pytest.mark.parametrize("op", sorted(references.REFERENCES))
def test_op(samples, op):
    mine = [s for s in samples if s["op"] == op]
    assert mine
    for sample in mine:
        check(sample)


INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 2**31, -2**31, 2**53, 2**53 + 1, -2**53 - 1,
        2**62, 2**63 - 1, -2**63, 2**63 - 512, 12345678901234567]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.7, -3.7, 1e300, -1e300, 1e-300, float("inf"),
          float("-inf"), float("nan"), 2.0**53, 2.0**63, -2.0**63, 9007199254740993.0, 0.1]
BOOLS = [False, True]
BINARY = {
    "s.add": operator.add, "s.sub": operator.sub, "s.mul": operator.mul,
    "s.truediv": operator.truediv, "s.floordiv": operator.floordiv, "s.mod": operator.mod,
    "s.pow": operator.pow, "s.eq": operator.eq, "s.ne": operator.ne, "s.lt": operator.lt,
    "s.le": operator.le, "s.gt": operator.gt, "s.ge": operator.ge}
BITS = {"s.and": operator.and_, "s.or": operator.or_, "s.xor": operator.xor,
        "s.shl": operator.lshift, "s.shr": operator.rshift}
UNARY = {"s.neg": operator.neg, "s.abs": abs, "s.not": operator.not_, "s.int": int,
         "s.float": float, "s.bool": bool, "s.round": round}
UNARY |= {f"s.{name}": getattr(math, name) for name in (
    "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "floor",
    "ceil", "isfinite", "isinf", "isnan")}


def word(v):
    if isinstance(v, bool):
        return f"b:{int(v)}"
    return f"i:{v}" if isinstance(v, int) else f"f:{v.hex()}"


def scalar_cases():
    values = INTS + FLOATS + BOOLS
    for name, f in BINARY.items():
        for a in values:
            for b in values:
                if f is operator.pow and isinstance(b, int) and abs(b) > 2**20 and abs(a) > 1:
                    continue  # Python would compute a number of gigabytes
                yield name, f, (a, b)
    for name, f in BITS.items():
        for a in INTS + BOOLS:
            for b in INTS + BOOLS:
                if name == "s.shl" and b > 4096 and a:
                    continue
                yield name, f, (a, b)
    for name, f in UNARY.items():
        for a in values:
            yield name, f, (a,)
    for a in INTS + BOOLS:
        yield "s.invert", operator.invert, (int(a),)
    for a in FLOATS:
        for b in FLOATS:
            yield "s.min", min, (a, b)
            yield "s.max", max, (a, b)


def python_result(f, args):
    try:
        r = f(*args)
    except (ArithmeticError, ValueError):
        return "error"
    if isinstance(r, complex):
        return "error"
    if isinstance(r, bool):
        return f"b {int(r)}"
    if isinstance(r, int):
        return f"i {r}" if -2**63 <= r < 2**63 else "error"
    return "f nan" if math.isnan(r) else f"f {r.hex()}"


def janus_result(line):
    kind, value = line.split()
    if kind == "error":
        return "error"
    if kind == "f":
        return "f nan" if "nan" in value else f"f {float.fromhex(value).hex()}"
    return line


def test_scalars_are_pythons():
    cases = list(scalar_cases())
    text = "".join(f"{n} {' '.join(map(word, a))}\n" for n, _, a in cases)
    lines = run("scalar", text=text).splitlines()
    assert len(lines) == len(cases)
    wrong = []
    for (name, f, args), line in zip(cases, lines):
        want, got = python_result(f, args), janus_result(line)
        if name == "s.pow" and isinstance(args[0], int) and isinstance(args[1], int) and args[1] < 0:
            want = "error"  # a float in Python: the graph converts the base first
        if want != got:
            wrong.append(f"{name}{args}: {got}, Python: {want}")
    assert not wrong, "\n".join(wrong[:20])
