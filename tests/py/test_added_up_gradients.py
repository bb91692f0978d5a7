# SPDX-License-Identifier: Apache-2.0
"""Epochs in which gradients are added to those of earlier steps, by optimizers of every kind whose rates and momenta a schedule changes: what a step has
written is what the next backward() comes to, by an arm where a number of the graph decides what the optimizer does."""
import itertools

import pytest

import janus
from compared import close
from texts import names_of

OPTIMIZERS = ("SGD(ps, lr=0.05)", "SGD(ps, lr=0.05, momentum=0.5)", "Adam(ps, lr=0.05)", "AdamW(ps, lr=0.05, amsgrad=True)", "RMSprop(ps, lr=0.02)",
              "RMSprop(ps, lr=0.02, momentum=0.5, centered=True)", "Adagrad(ps, lr=0.05)", "Adadelta(ps)", "NAdam(ps, lr=0.05)", "Adamax(ps, lr=0.05)")
SCHEDULES = ("None", "StepLR(opt, 1)", "LambdaLR(opt, lambda i: 1 / (i + 1))", "OneCycleLR(opt, 0.1, total_steps=60)", "CyclicLR(opt, 0.01, 0.1, step_size_up=2)")
ZEROED = ("never", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "if i == 1: opt.zero_grad()", "w.grad = None", "if b.grad is not None: b.grad.zero_()")
PROGRAM = """
w, b = janus.nn.Parameter(janus.randn(4, 4) * 0.5), janus.nn.Parameter(janus.randn(4))
ps = [w, b]
opt = janus.optim.{optimizer}
schedule = {schedule}
def epoch(xs):
    total = 0.0
    for i, x in enumerate(xs):
        {zeroed}
        loss = ((x @ w + b) ** 2).mean()
        loss.backward()
        opt.step()
        {step}
        total = total + loss.detach()
    return total
"""


def has_no_momentum(optimizer, schedule):
    """OneCycleLR and CyclicLR say so themselves."""
    return schedule.startswith(("OneCycleLR", "CyclicLR")) and optimizer.startswith(("Adagrad", "Adadelta"))


def outcome(text, decorate):
    janus.manual_seed(0)
    names = names_of(text, janus=janus)
    epoch = decorate(names["epoch"])
    seen = []
    for _ in range(4):
        seen.append(epoch([janus.randn(3, 4) for _ in range(2)]))
        state = names["opt"].state
        seen.append([(p.detach().clone(), p.grad if p.grad is None else p.grad.clone(), sorted(state[p])) for p in names["ps"]])
        seen.append([{k: v for k, v in g.items() if k != "params"} for g in names["opt"].param_groups])
    return seen, epoch


@pytest.mark.parametrize("optimizer, schedule", [p for p in itertools.product(OPTIMIZERS, SCHEDULES) if not has_no_momentum(*p)])
def test_as_undecorated(optimizer, schedule):
    for zeroed in ZEROED:
        full = "None" if schedule == "None" else f"janus.optim.lr_scheduler.{schedule}"
        text = PROGRAM.format(optimizer=optimizer, schedule=full, zeroed="pass" if zeroed == "never" else zeroed, step="pass" if schedule == "None" else "schedule.step()")
        want, _ = outcome(text, lambda f: f)
        got, epoch = outcome(text, lambda f: janus.function(f, verify="never", measure=False))
        assert close(want, got, 1e-3), (zeroed, want, got)
        assert epoch.stats()["graph"] + epoch.stats()["region_hits"] > 0, (zeroed, epoch.stats())
