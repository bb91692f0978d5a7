# SPDX-License-Identifier: Apache-2.0
"""Steps in which numbers of the call decide whether an arm with a backward() of its own is taken: a graph for each way, none discarded."""
import pytest

import janus
from shares import LIGHT
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

PROGRAM = """
class Trainer:
    def __init__(self):
        janus.manual_seed(0)
        self.a, self.b = janus.nn.Linear(3, 2), janus.nn.Linear(2, 1)
        self.oa = janus.optim.{kind}(self.a.parameters(), lr=0.1)
        self.ob = janus.optim.{kind}(self.b.parameters(), lr=0.1)
        self.total = 0
    def critic(self, x):
        loss = self.b(self.a(x).detach()).pow(2).mean()
        self.ob.zero_grad()
        loss.backward()
        self.ob.step()
        return loss
    def actor(self, x):
        loss = {loss}
        self.oa.zero_grad()
        loss.backward()
        self.oa.step()
        return loss
    def step(self, x, n, flag, t):
        self.total += 1
        first = self.critic(x)
        second = None
{body}
        return first.item(), None if second is None else second.item()
"""
BODIES = {
    "by an argument": "        if n % 2 == 0:\n            second = self.actor(x)",
    "by a counter": "        if self.total % 3 == 0:\n            second = self.actor(x)",
    "by a flag": "        if flag:\n            second = self.actor(x)",
    "by a threshold": "        if t > 0.5 and n > 2:\n            second = self.actor(x)",
    "not": "        if not (n % 2 == 0 or flag):\n            second = self.actor(x)",
    "else": "        if n % 2:\n            second = self.actor(x)\n        else:\n            second = self.critic(x + 1)",
    "elif": "        if n % 3 == 0:\n            second = self.actor(x)\n        elif n % 3 == 1:\n            second = self.critic(x * 2)",
    "two": "        if n % 2 == 0:\n            second = self.actor(x)\n        if flag:\n            second = self.critic(x - 1)",
    "in one": "        if n % 2 == 0:\n            second = self.actor(x)\n            if flag:\n                second = self.critic(x - 1)",
    "left early": "        if n % 2 == 0:\n            return first.item(), 0.0\n        second = self.actor(x)",
    "a number and data": "        if n % 2 == 0 and first.item() > -1:\n            second = self.actor(x)",
}
LOSSES = {"of what was written": "-self.b(self.a(x)).mean()", "of another": "-self.a(x).mean()"}


def outcome(trainer, step, calls):
    draws = janus.Generator().manual_seed(1)
    results = [step(janus.randn(4, 3, generator=draws), n, n % 4 == 1, (n % 5) / 4) for n in range(calls)]
    return results, [p.tolist() for m in (trainer.a, trainer.b) for p in m.parameters()], trainer.total


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-4 * max(1, abs(a))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return a == b


@pytest.mark.parametrize("options", [{}, {"verify": "never"}, {"verify": "always"}, {"numerics": "exact"}], ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_each_way_has_a_graph(body, options):
    for kind in ("SGD", "Adam")[:1 if LIGHT > 2 else 2]:
        for of, loss in LOSSES.items():
            names = names_of(PROGRAM.format(kind=kind, loss=loss, body=BODIES[body]), janus=janus)
            plain, decorated = names["Trainer"](), names["Trainer"]()
            f = janus.function(decorated.step, measure=False, **options)
            want, got = outcome(plain, plain.step, 48), outcome(decorated, f, 48)
            assert close(list(want), list(got)), (kind, of)
            s = f.stats()
            if body != "a number and data":
                assert s["fallbacks"] <= 2 and s["graph"] + s["verified"] >= 28, (kind, of, s["graph"], s["fallbacks"], janus.explain(f))
