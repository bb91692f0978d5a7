# SPDX-License-Identifier: Apache-2.0
"""Versions of the caller's tensors count each write of a graph, as they count each op of the undecorated program: generated
statements that write a tensor, parts of it, or write it by ways that no version counts; steps of optimizers."""
import random

import pytest
import janus
from shares import LIGHT
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

WRITES = ["x.mul_(0.5)", "x[0] = 1.0", "x[1:] += 1", "y = x[1:]; y.add_(1)", "x.data.mul_(2)", "x.zero_()", "x.copy_(z)", "x.t().mul_(2)",
          "x.clamp_(0, 1)", "x[x > 0.5] = 0.1", "x -= z", "x.detach().add_(1)", "for i in range(2):\n        x.add_(1)", "x.fill_(2.0)",
          "x[0, 1] = z[0, 0]", "x.index_add_(0, k, z)", "x.view(-1)[0] = 3.0", "if flag:\n        x.mul_(2)", "x.sub_(z * 2)",
          "x[:, 0], x[:, 1] = 1.0, 2.0", "x.addcmul_(z, z)", "x.lerp_(z, 0.5)", "x.masked_fill_(z > 0, 0.5)", "x.index_fill_(0, k, 0.5)",
          "x.uniform_()", "x.normal_()", "x.exp_()"]


def test_writes():
    graphs = 0
    seeds = range(0, 300, 10 if LIGHT else 1)
    for seed in seeds:
        rng = random.Random(seed)
        body = "\n    ".join(rng.choice(WRITES) for _ in range(rng.randint(1, 4)))
        f = names_of(f"def f(x, z, k, flag):\n    {body}\n    return x.sum()\n")["f"]
        g = janus.function(f, measure=False, verify="never")
        logs = []
        for way in (f, g):
            janus.manual_seed(seed)
            x, log = janus.rand(3, 4) + 0.1, []
            for i in range(5):
                way(x, janus.rand(3, 4), janus.tensor([0, 1, 2]), i != 3)
                log.append(x._version)
            logs.append(log)
        assert logs[0] == logs[1], body
        graphs += g.stats()["graph"] > 0
    assert graphs > 0.7 * len(seeds)


OPTIMIZERS = {
    "sgd": lambda p: janus.optim.SGD(p, lr=0.1),
    "momentum": lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: janus.optim.Adam(p, lr=0.1),
    "adamw": lambda p: janus.optim.AdamW(p, lr=0.1, amsgrad=True),
    "rmsprop": lambda p: janus.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True),
    "adagrad": lambda p: janus.optim.Adagrad(p, lr=0.1)}


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    logs = []
    for way in (step, janus.function(step, measure=False, verify="never")):
        janus.manual_seed(0)
        model = janus.nn.Sequential(janus.nn.Linear(4, 8), janus.nn.BatchNorm1d(8), janus.nn.ReLU(), janus.nn.Linear(8, 2))
        optimizer, log = OPTIMIZERS[name](model.parameters()), []
        for i in range(6):
            way(model, optimizer, janus.randn(5, 4), janus.randn(5, 2))
            log.append([t._version for t in (*model.parameters(), *model.buffers())] +
                       [v._version for s in optimizer.state.values() for v in s.values() if isinstance(v, janus.Tensor)])
        logs.append(log)
    assert logs[0] == logs[1]
    assert way.stats()["graph"] > 0
