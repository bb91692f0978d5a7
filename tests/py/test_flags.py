# SPDX-License-Identifier: Apache-2.0
"""Parameters that are told to require grad or not while a step goes on, as adversarial networks are trained.

Programs are made of statements in any order: flags set by one name or another, gradients, updates, writes in place.
"""
import random

import pytest

import janus
import janus.nn as nn
from shares import LIGHT
from texts import names_of

STATEMENTS = [
    "for p in net.parameters():\n    p.requires_grad_(True)",
    "for p in net.parameters():\n    p.requires_grad_(False)",
    "net.weight.requires_grad_(True)",
    "net.weight.requires_grad_(False)",
    "net.bias.requires_grad = not net.bias.requires_grad",
    "net.requires_grad_(k % 2 == 0)",
    "loss = net(x).tanh().sum()",
    "loss = (net(x) * other(x)).sum()",
    "loss = (loss.detach() * net.bias).sum() + other(x).sum()",
    "loss.backward()",
    "loss.backward()\noptimizer.step()",
    "optimizer.step()",
    "optimizer.zero_grad()",
    "with janus.no_grad():\n    net.weight.mul_(0.5)",
    "net.bias.data.add_(0.25)",
    "seen.append(net.weight.requires_grad)",
    "seen.append((net.bias * 2).requires_grad)",
    "kept = net.weight.detach().clone()\nseen.append(kept.sum())",
]
LINES = ["def step(net, other, optimizer, x, k):", "    seen, loss = [], net(x).sum() + other(x).sum()"]


def program(seed):
    source = random.Random(seed)
    chosen = [line for _ in range(source.randint(3, 8)) for line in source.choice(STATEMENTS).split("\n")]
    text = "\n".join(LINES + ["    " + line for line in chosen] + ["    return seen, loss"])
    return names_of(text, janus=janus)["step"], text


def state(net, seen):
    return ([(p.tolist(), p.requires_grad, p.is_leaf, None if p.grad is None else p.grad.tolist())
             for p in net.parameters()], [s if isinstance(s, bool) else s.tolist() for s in seen])


def run(step, calls):
    """What each call gives and leaves, or how it fails; with what else there is to compare."""
    janus.manual_seed(3)
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = janus.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1, momentum=0.5)
    x, found = janus.randn(4, 3), []
    for k in range(calls):
        try:
            seen, loss = step(net, other, optimizer, x, k)
            found.append((loss.tolist(), loss.requires_grad, state(net, seen), state(other, [])))
        except RuntimeError as error:
            found.append((str(error), state(net, []), state(other, [])))
    return found


@pytest.mark.parametrize("part", range(4))
def test_flags(part):
    graphs = 0
    each = 30 if LIGHT else 150
    for seed in range(part * each, (part + 1) * each):
        step, text = program(seed)
        decorated = janus.function(step, measure=False, verify="never", numerics="exact")
        assert repr(run(decorated, 4)) == repr(run(step, 4)), text
        graphs += decorated.stats()["graph"] > 0
    assert graphs > each // 4, "hardly any of the programs is a graph"


def test_an_adversarial_step_is_a_graph():
    """The critic is told not to require grad while the maker learns."""
    maker, critic = nn.Linear(3, 3), nn.Linear(3, 1)
    makes, tells = (janus.optim.SGD(m.parameters(), lr=0.1) for m in (maker, critic))

    @janus.function(measure=False)
    def step(x):
        made = maker(x)
        for p in critic.parameters():
            p.requires_grad_(True)
        tells.zero_grad()
        critic(made.detach()).mean().backward()
        tells.step()
        for p in critic.parameters():
            p.requires_grad_(False)
        makes.zero_grad()
        loss = critic(made).sum()
        loss.backward()
        makes.step()
        return loss.detach()

    for _ in range(4):
        step(janus.ones(2, 3))
    assert step.stats()["graph"] == 3
    assert not any(p.requires_grad for p in critic.parameters())
