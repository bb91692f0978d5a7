# SPDX-License-Identifier: Apache-2.0
"""Numbers that vary as operands of ops called by name, `x.mul_(1 - lr)` and `torch.where(c, x, n)`: what an operator takes, they take."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

OPERANDS = {  # the op -> its arguments behind the tensor, n being the number
    "mul": "n", "add": "n", "sub": "n", "div": "n", "pow": "n", "eq": "n", "ne": "n", "lt": "n", "le": "n", "gt": "n", "ge": "n",
    "lerp": "y, n", "where": "x > 1, n", "add ": "y, alpha=n", "sub ": "y, alpha=n", "addcmul": "y, y, value=n", "addcdiv": "y, y, value=n",
    "masked_fill": "x > 1, -n", "clamp": "-n, n", "clamp ": "max=n", "clip": "n", "clamp_min": "n", "clamp_max": "n", "div ": "n, rounding_mode='floor'",
}
IN_PLACE = ["mul", "add", "sub", "div", "pow", "lerp", "add ", "sub ", "addcmul", "addcdiv", "masked_fill", "clamp", "clamp "]
FORMS = {
    "method": "def f(x, y, n):\n    return x.{op}({args}), x * y\n",
    "function": "def f(x, y, n):\n    return torch.{op}(x, {args}), x * y\n",
    "computed": "def f(x, y, n):\n    n = n * 2 + 1\n    return x.{op}({args}) * y\n",
    "in a loop": "def f(x, y, n):\n    for i in range(3):\n        y = y + x.{op}({args})\n        n = n + 1\n    return y\n",
    "an arm": "def f(x, y, n):\n    if x.sum() > 3:\n        y = y + x.{op}({args})\n    else:\n        y = y - x.{op}({args})\n    return y\n",
}
WRITES = {
    "method": "def f(x, y, n):\n    x.{op}_({args})\n    return x + y\n",
    "chain": "def f(x, y, n):\n    x.add_(1).{op}_({args}).mul_(2)\n    return x.sum()\n",
    "no_grad": "def f(x, y, n):\n    with torch.no_grad():\n        x.{op}_({args})\n    return y * 2\n",
    "a part": "def f(x, y, n):\n    y = y[1:]\n    x[1:].{op}_({args})\n    return x.sum()\n",
    "made here": "def f(x, y, n):\n    z = x * y\n    z.{op}_({args})\n    return z + x\n",
}
NUMBERS = {"floats": lambda i: 0.25 + 0.5 * i, "ints": lambda i: 1 + i}


def run(f, dtype, number, numerics):
    """What is seen in calls with ever other numbers, and the function."""
    g = janus.function(f, numerics=numerics, measure=False, verify="never", regions=False) if numerics else f
    seen = []
    for i in range(8):
        x, y = janus.tensor([0.5, 1.5, 2.0], dtype=dtype), janus.tensor([1.0, 2.0, 4.0], dtype=dtype)
        try:
            got = g(x, y, NUMBERS[number](i))
        except Exception as e:
            seen.append(type(e))
            continue
        seen.append([(r.dtype, r.tolist()) for r in (got if isinstance(got, tuple) else (got,)) + (x,)])
    return seen, g


def check(text, dtype, number):
    f = names_of(text, torch=janus)["f"]
    want, _ = run(f, dtype, number, None)
    got, g = run(f, dtype, number, "exact")
    assert got == want, text
    if dtype is janus.float32 and not any(isinstance(w, type) for w in want):
        s = g.stats()
        assert s["graph"] >= 5 and s["conversions"] <= 3, (text, janus.explain(g))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", [janus.float32, janus.float64, janus.int64, janus.float16], ids=str)
@pytest.mark.parametrize("op", OPERANDS)
def test_results(op, dtype, number):
    for form in share(FORMS):
        check(FORMS[form].format(op=op.strip(), args=OPERANDS[op]), dtype, number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", [janus.float32, janus.float64, janus.int64], ids=str)
@pytest.mark.parametrize("op", IN_PLACE)
def test_writes(op, dtype, number):
    for form in share(WRITES):
        check(WRITES[form].format(op=op.strip(), args=OPERANDS[op]), dtype, number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("text", ["x.fill_(n)", "x.copy_(n)", "x[1:].fill_(n)", "x.copy_(torch.where(x > 1, n, x))", "x.copy_(torch.pow(n, x))"])
def test_filled(text, number):
    for dtype in (janus.float32, janus.float64, janus.int64):
        check(f"def f(x, y, n):\n    {text}\n    return x + y\n", dtype, number)


@pytest.mark.parametrize("op", OPERANDS)
@pytest.mark.parametrize("number", NUMBERS)
def test_gradients(op, number):
    f = names_of(f"def f(x, y, n):\n    return (x.{op.strip()}({OPERANDS[op]}) * 1.0).sum() + (x * y).sum()\n", torch=janus)["f"]
    g = janus.function(f, measure=False, verify="never", regions=False)
    for i, call in itertools.product(range(5), (f, g)):
        x, y = (janus.tensor(v).requires_grad_() for v in ([0.5, 1.5, 2.25], [1.0, 2.0, 4.0]))
        call(x, y, NUMBERS[number](i)).backward()
        if call is f:
            want = x.grad.tolist() + y.grad.tolist()
        else:
            assert x.grad.tolist() + y.grad.tolist() == pytest.approx(want, rel=1e-6), i
    assert g.stats()["conversions"] <= 3 and g.stats()["graph"] >= 2, janus.explain(g)
