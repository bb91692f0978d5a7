# SPDX-License-Identifier: Apache-2.0
"""Numbers that differ between calls are inputs of a graph, whatever the program computes with them: two conversions at most, and what
CPython raises is raised."""
import math

import janus
import pytest
from texts import names_of

NUMBERS = [0.3, 0.5, 1.0, 2.5, -0.5, 7.0, 0.0, 1e-3, -3.0, 30.0, 0.25, 800.0, float("inf"), 3.0]
FUNCTIONS = {"exp": "math.exp(n)", "expm1": "math.expm1(n)", "log": "math.log(n)", "log of base": "math.log(n, 3)",
             "to a base": "math.log(8.0, n)", "log1p": "math.log1p(n)", "log2": "math.log2(n)", "log10": "math.log10(n)", "sqrt": "math.sqrt(n)",
             "sin": "math.sin(n)", "cos": "math.cos(n)", "tan": "math.tan(n)", "atan": "math.atan(n)", "sinh": "math.sinh(n)",
             "cosh": "math.cosh(n)", "tanh": "math.tanh(n)", "floor": "math.floor(n)", "ceil": "math.ceil(n)", "trunc": "math.trunc(n)",
             "round": "round(n)", "isfinite": "math.isfinite(n)", "isinf": "math.isinf(n)", "isnan": "math.isnan(n)",
             "cosine": "0.5 * (1 + math.cos(math.pi * n / 10))", "warm": "min(1.0, n / 10) * math.sqrt(abs(n) + 1)",
             "noam": "min((abs(n) + 1) ** -0.5, n * 4 ** -1.5)", "if": "1.0 if math.isfinite(n) else 0.0"}


def program(text):
    text = f"import math\ndef f(x, n):\n    k = {text}\n    return x * k, k, type(k).__name__\n"
    return names_of(text)["f"]


def outcome(f, *args):
    try:
        x, *rest = f(*args)
        return repr((x.tolist(), rest))
    except (ValueError, OverflowError, ZeroDivisionError) as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("ints", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_a_number(name, ints):
    f = program(FUNCTIONS[name])
    g = janus.function(f, verify="never", measure=False)
    x = janus.tensor([1.0, -2.0])
    numbers = [int(n) for n in NUMBERS if math.isfinite(n)] if ints else NUMBERS
    results = 0
    for n in numbers:
        want = outcome(f, x, n)
        results += isinstance(want, str)
        assert outcome(g, x, n) == want, n
    stats = g.stats()
    assert stats["conversions"] <= 3 + stats["fallbacks"]
    assert stats["graph"] >= results - 3 - stats["fallbacks"], (stats, janus.explain(g))


SCHEDULERS = {
    "step": lambda o: janus.optim.lr_scheduler.StepLR(o, 2, 0.5), "exponential": lambda o: janus.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "lambda": lambda o: janus.optim.lr_scheduler.LambdaLR(o, lambda e: 1 / (1 + e)),
    "warm": lambda o: janus.optim.lr_scheduler.LambdaLR(o, lambda e: min((e + 1) ** -0.5, (e + 1) * 4 ** -1.5)),
    "cosine": lambda o: janus.optim.lr_scheduler.CosineAnnealingLR(o, 20),
    "milestones": lambda o: janus.optim.lr_scheduler.MultiStepLR(o, [3, 6]),
}
OPTIMIZERS = {"sgd": lambda p: janus.optim.SGD(p, 0.1), "momentum": lambda p: janus.optim.SGD(p, 0.1, momentum=0.9),
              "adam": lambda p: janus.optim.Adam(p, 0.01), "adamw": lambda p: janus.optim.AdamW(p, 0.01)}


def train(step, optimizer, scheduler, inside):
    janus.manual_seed(0)
    net = janus.nn.Linear(3, 2)
    o = OPTIMIZERS[optimizer](net.parameters())
    s = SCHEDULERS[scheduler](o)
    seen = []
    for i in range(12):
        loss = step(net, o, s if inside else None, janus.ones(4, 3) * i)
        if not inside:
            s.step()
        seen.append((loss, s.get_last_lr(), net.weight.tolist()))
    return seen


def a_step(net, o, s, x):
    o.zero_grad()
    loss = net(x).tanh().square().mean()
    loss.backward()
    o.step()
    if s is not None:
        s.step()
    return loss.item()


@pytest.mark.parametrize("inside", [False, True], ids=["step outside", "step inside"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_learning_rates(optimizer, scheduler, inside):
    f = janus.function(a_step, verify="never", measure=False, numerics="exact")
    assert train(f, optimizer, scheduler, inside) == train(a_step, optimizer, scheduler, inside)
    stats = f.stats()
    assert stats["conversions"] <= 3 and stats["graph"] >= 9, (stats, janus.explain(f))
