# SPDX-License-Identifier: Apache-2.0
"""Names of a program that get another value after many calls: guards compare versions of the dicts that they are read from."""
import itertools
import random

import pytest

import janus
from texts import names_of

PROGRAM = '''
class Part(janus.nn.Module):
    def forward(self, x):
        return helper(x) + scale

    def other(self, x):
        return x * 5

class Box:
    factor = 3

def helper(x, by=2):
    return x * by + len([1, 2])

def second(x, by=4):
    return x - by

def f(x):
    return part(x) * table["a"] + box.factor + max(1, 2)

part, box, table, scale = Part(), Box(), {"a": 2.0}, 0.5
'''

CHANGES = [lambda m: m.update(helper=m["second"]), lambda m: setattr(m["helper"], "__code__", m["second"].__code__),
           lambda m: setattr(m["helper"], "__defaults__", (7,)), lambda m: m.update(len=lambda x: 9),
           lambda m: m.update(max=lambda *x: 8), lambda m: m.pop("len", None), lambda m: m.update(scale=0.75),
           lambda m: m.update(scale=m["scale"] + 0.0), lambda m: m.update(part=m["Part"]()), lambda m: m.update(unread=3),
           lambda m: m.update(box=m["Box"]()), lambda m: setattr(m["box"], "factor", 11), lambda m: setattr(m["Box"], "factor", 4),
           lambda m: m.update(table={"a": 3.0}), lambda m: m["table"].update(a=1.5), lambda m: m["table"].update(b=1),
           lambda m: m["part"].__dict__.update(forward=m["part"].other), lambda m: setattr(m["Part"], "forward", m["Part"].other),
           lambda m: m["part"].register_buffer("more", janus.ones(1))]


def new():
    return names_of(PROGRAM, janus=janus)


@pytest.mark.parametrize("seed", range(len(CHANGES) + 12))
def test_a_name_that_changes_is_seen(seed):
    rng = random.Random(seed)
    a, b = new(), new()
    f = janus.function(a["f"], measure=False, verify="never")
    changes = [CHANGES[seed]] if seed < len(CHANGES) else rng.sample(CHANGES, 4)
    for change in changes:
        for k in range(6):
            x = janus.tensor([float(k), 1.0])
            assert f(x).tolist() == b["f"](x).tolist()
        change(a)
        change(b)
    for k in range(6):
        x = janus.tensor([float(k), 1.0])
        assert f(x).tolist() == b["f"](x).tolist()
    assert f.stats()["graph"] >= 4


def test_a_program_whose_own_names_change_at_every_call():
    """As at module level: the names that a function reads are as they were, the dict that they are in is not."""
    m = new()
    f = janus.function(m["f"], measure=False, verify="never")
    for k in itertools.count():
        m["step"], m["x"] = k, janus.tensor([float(k)])
        assert f(m["x"]).tolist() == m["f"](m["x"]).tolist()
        if k == 40:
            break
    assert f.stats()["graph"] >= 38 and f.stats()["conversions"] <= 3
