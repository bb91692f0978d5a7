# SPDX-License-Identifier: Apache-2.0
"""Schedules: rates and momenta step by step, states, and resumed runs, against what PyTorch 2.15 gave.

`python3 tests/py/test_schedules.py` under a Python that has PyTorch writes tests/py/schedules.json anew.
"""
import json
import os

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules.json")
STEPS = 20


def half_of(epoch):
    return 0.5 ** (epoch / 3)


CASES = {}
for gamma in (0.1, 0.7):
    CASES[f"step {gamma}"] = lambda L, o, g=gamma: L.StepLR(o, 4, g)
    CASES[f"milestones {gamma}"] = lambda L, o, g=gamma: L.MultiStepLR(o, [2, 9, 9, 14], g)
    CASES[f"exponential {gamma}"] = lambda L, o, g=gamma: L.ExponentialLR(o, g)
for T in (1, 4, 30):
    for least in (0.0, 0.05):
        CASES[f"cosine {T} {least}"] = lambda L, o, T=T, e=least: L.CosineAnnealingLR(o, T, e)
for mult in (1, 2, 3):
    CASES[f"restarts {mult}"] = lambda L, o, m=mult: L.CosineAnnealingWarmRestarts(o, 3, m, 0.01)
for total in (1, 5, 40):
    CASES[f"constant {total}"] = lambda L, o, t=total: L.ConstantLR(o, 0.25, t)
    for end in (1.0, 0.5):
        CASES[f"linear {total} {end}"] = lambda L, o, t=total, e=end: L.LinearLR(o, 0.1, e, t)
    for power in (1.0, 0.9, 2):
        CASES[f"polynomial {total} {power}"] = lambda L, o, t=total, p=power: L.PolynomialLR(o, t, p)
for mode in ("triangular", "triangular2", "exp_range"):
    for down in (None, 7):
        CASES[f"cyclic {mode} {down}"] = lambda L, o, m=mode, d=down: L.CyclicLR(o, 0.1, 0.4, 3, d, m, 0.95)
CASES["cyclic own"] = lambda L, o: L.CyclicLR(o, 0.1, [0.4, 0.5], 3, scale_fn=half_of, scale_mode="iterations",
                                              cycle_momentum=False)
for shape in ("cos", "linear"):
    for three in (False, True):
        CASES[f"one cycle {shape} {three}"] = lambda L, o, s=shape, t=three: L.OneCycleLR(
            o, [0.3, 0.6], total_steps=STEPS + 1, anneal_strategy=s, three_phase=t)
CASES["one cycle epochs"] = lambda L, o: L.OneCycleLR(o, 0.3, epochs=9, steps_per_epoch=3, pct_start=0.1,
                                                      cycle_momentum=False)
CASES["lambda"] = lambda L, o: L.LambdaLR(o, [half_of, lambda epoch: 1 / (1 + epoch)])
CASES["multiplicative"] = lambda L, o: L.MultiplicativeLR(o, half_of)
CASES["sequential"] = lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, 1.0, 4), L.CosineAnnealingLR(o, 10),
                                                      L.StepLR(o, 3, 0.5)], [4, 15])
CASES["sequential restarts"] = lambda L, o: L.SequentialLR(o, [L.ConstantLR(o, 0.5, 9),
                                                               L.CosineAnnealingWarmRestarts(o, 3, 2)], [5])
CASES["chained"] = lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.5, 4), L.ExponentialLR(o, 0.9),
                                                    L.MultiStepLR(o, [3, 8])])
# Of Adam it is the first of `betas` that cycles.
WAYS = [("SGD", name) for name in CASES] + [("Adam", name) for name in CASES if "cycl" in name]


def optimizer_of(lib, kind):
    first, second = (lib.nn.Parameter(lib.ones(1)) for _ in range(2))
    make = getattr(lib.optim, kind)
    rest = {"momentum": 0.9} if kind == "SGD" else {}
    return make([{"params": [first]}, {"params": [second], "lr": 0.2}], lr=1.0, **rest)


def seen(optimizer, scheduler):
    """The rates, twice where they are not what the scheduler says, and the momenta."""
    groups = optimizer.param_groups
    rates, momenta = [group["lr"] for group in groups], [group.get("momentum", group.get("betas")) for group in groups]
    return rates + (scheduler.get_last_lr() if scheduler.get_last_lr() != rates else []) + \
        (momenta if "max_momentum" in groups[0] else [])


def plain(value):
    """What JSON makes of it, without PyTorch's note of whether `get_lr` is being called by a step."""
    return json.loads(json.dumps(value), object_hook=lambda d: {k: v for k, v in d.items() if "_within_step" not in k})


def run(lib, kind, make):
    """What is seen before each step, and the state in the middle."""
    optimizer = optimizer_of(lib, kind)
    scheduler = make(lib.optim.lr_scheduler, optimizer)
    rows, state = [], None
    for step in range(STEPS):
        rows.append(seen(optimizer, scheduler))
        if step == 7:
            state = plain(scheduler.state_dict())
        optimizer.step()
        scheduler.step()
    return plain({"rows": rows, "state": state})


def main():
    import torch
    with open(KEPT, "w", encoding="utf-8") as f:
        found = {f"{kind} {name}": run(torch, kind, CASES[name]) for kind, name in WAYS}
        f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    main()
else:
    import janus
    import pytest

    with open(KEPT, encoding="utf-8") as f:
        EXPECTED = json.load(f)

    @pytest.mark.parametrize("kind, name", WAYS)
    def test_rates_and_states_are_pytorchs(kind, name):
        assert run(janus, kind, CASES[name]) == EXPECTED[f"{kind} {name}"]

    @pytest.mark.parametrize("kind, name", WAYS)
    def test_goes_on_from_a_state(kind, name):
        rows = EXPECTED[f"{kind} {name}"]["rows"]
        first = optimizer_of(janus, kind)
        scheduler = CASES[name](janus.optim.lr_scheduler, first)
        for _ in range(7):
            scheduler.step()
        second = optimizer_of(janus, kind)
        again = CASES[name](janus.optim.lr_scheduler, second)
        again.load_state_dict(scheduler.state_dict())
        second.load_state_dict(first.state_dict())
        for row in rows[7:]:
            assert plain(seen(second, again)) == row
            again.step()

    @pytest.mark.parametrize("name", CASES)
    def test_a_decorated_step_is_the_same(name):
        def training(optimizer, scheduler, x):
            optimizer.zero_grad()
            w = optimizer.param_groups[0]["params"][0]
            (w * x).sum().backward()
            optimizer.step()
            scheduler.step()

        ends = []
        for decorate in (lambda f: f, janus.function):
            optimizer = optimizer_of(janus, "SGD")
            scheduler, step = CASES[name](janus.optim.lr_scheduler, optimizer), decorate(training)
            rows = []
            for i in range(8):
                step(optimizer, scheduler, janus.tensor([0.5 + i]))
                rows.append((seen(optimizer, scheduler), optimizer.param_groups[0]["params"][0].tolist()))
            ends.append((rows, plain(scheduler.state_dict())))
        assert ends[0] == ends[1]

    @pytest.mark.parametrize("error, make", [
        (TypeError, lambda L, o: L.LinearLR(o.param_groups)),
        (TypeError, lambda L, o: L.OneCycleLR(None, 0.1, total_steps=3)),
        (ValueError, lambda L, o: L.LinearLR(o, 0.0)),
        (ValueError, lambda L, o: L.LinearLR(o, 1.5)),
        (ValueError, lambda L, o: L.LinearLR(o, 0.5, -1.0)),
        (ValueError, lambda L, o: L.ConstantLR(o, 1.5)),
        (ValueError, lambda L, o: L.OneCycleLR(o, 0.1)),
        (ValueError, lambda L, o: L.OneCycleLR(o, 0.1, total_steps=0)),
        (ValueError, lambda L, o: L.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=-1)),
        (ValueError, lambda L, o: L.OneCycleLR(o, 0.1, total_steps=5, pct_start=2.0)),
        (ValueError, lambda L, o: L.OneCycleLR(o, 0.1, total_steps=5, anneal_strategy="sin")),
        (ValueError, lambda L, o: L.OneCycleLR(o, [0.1], total_steps=5)),
        (ValueError, lambda L, o: L.CyclicLR(o, 0.1, 0.2, mode="up")),
        (ValueError, lambda L, o: L.CosineAnnealingWarmRestarts(o, 0)),
        (ValueError, lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 1.5)),
        (ValueError, lambda L, o: L.SequentialLR(o, [], [])),
        (ValueError, lambda L, o: L.SequentialLR(o, [L.StepLR(o, 2)], [3])),
        (ValueError, lambda L, o: L.ChainedScheduler([])),
        (ValueError, lambda L, o: L.ChainedScheduler([L.ReduceLROnPlateau(o)], o)),
        (ValueError, lambda L, o: L.ChainedScheduler([L.StepLR(o, 2)], optimizer_of(janus, "SGD"))),
        (KeyError, lambda L, o: L.StepLR(o, 2, last_epoch=3)),
        (ValueError, lambda L, o: L.LambdaLR(o, [half_of])),
        (TypeError, lambda L, o: L.MultiplicativeLR(o, [half_of, 3])),
    ])
    def test_wrong_arguments(error, make):
        with pytest.raises(error):
            make(janus.optim.lr_scheduler, optimizer_of(janus, "SGD"))
