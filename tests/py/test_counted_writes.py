# SPDX-License-Identifier: Apache-2.0
"""Writes that versions count on some paths, beside those by way of `.data`, which they never count."""
import itertools

import pytest
from shares import share
from texts import names_of

import janus

COUNTED = {  # a write that versions count
    "an arm": "if c.sum() > {edge}:\n            x.mul_(2)",
    "both arms": "if c.sum() > {edge}:\n            x.mul_(2)\n        else:\n            x.add_(1)",
    "rounds": "for i in range(n):\n            if c.sum() > {edge}:\n                x.mul_(2)",
    "a loop while": "i = 0\n        while c.sum() * i < n:\n            x.mul_(2)\n            i += 1",
    "an arm of data": "if c.sum() > {edge}:\n            x.data.mul_(2)\n        else:\n            x.mul_(2)",
}
UNCOUNTED = ["x.data.add_(c)", "x.detach().data.add_(c)", "x.data[:1].mul_(3)", "x.data.copy_(c)"]
ORDERS = ["{counted}\n        {uncounted}", "{uncounted}\n        {counted}", "{uncounted}\n        {counted}\n        {uncounted}"]


def versions(f):
    """What is seen of a tensor that is written: its values, whether its version is another one, and whether backward() minds."""
    seen = []
    for i in range(12):
        x, c = janus.tensor([1.0, 2.0]), janus.tensor([0.5, 0.25 + i % 3])
        w = janus.ones(2, requires_grad=True)
        loss, before = (x * w).sum(), x._version
        f(x, c, i % 2)
        try:
            loss.backward()
            seen.append((x.tolist(), x._version != before, w.grad.tolist()))
        except RuntimeError:
            seen.append((x.tolist(), x._version != before, "modified"))
    return seen


@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize("edge", [0.9, 1.6, 9])
def test_versions_count_what_was_written(counted, edge):
    for uncounted, order in share(itertools.product(UNCOUNTED, ORDERS)):
        body = order.format(counted=COUNTED[counted].format(edge=edge), uncounted=uncounted)
        f = names_of(f"def f(x, c, n):\n    with torch.no_grad():\n        {body}\n    return c * 2\n", torch=janus)["f"]
        g = janus.function(f, measure=False, verify="never", regions=False)
        assert versions(g) == versions(f), body
        assert g.stats()["graph"] >= 4, janus.explain(g)
