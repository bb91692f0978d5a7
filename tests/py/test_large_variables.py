# SPDX-License-Identifier: Apache-2.0
"""Loops whose variables hold a table, a chain or a graph of objects that grows: what regions look at before they bind a variable again
is no more than grows with the rounds, and what the loop does is as undecorated."""
import itertools
import re

import pytest

import janus
from texts import names_of

GROWS = {"a list": ("held = []", "held.append(K(i))"), "a chain": ("held = None", "held = K(i, held)"), "a dict": ("held = {}", "held[i] = K(i)"),
         "a tuple": ("held = ()", "held = (held, K(i))"), "copies": ("held = [K(0)]", "held = held + [K(i)]")}
USES = {"before": "x = x * 1.01 + 1\n        {grow}", "behind": "{grow}\n        x = x * 1.01 + 1",
        "a list beside": "x = x * 1.01 + 1\n        seen = [x]\n        {grow}\n        held, seen = held, seen"}
TEXT = """
class K:
    def __init__(self, i, next=None):
        self.i, self.next = i, next

def opaque(x):
    return x.tolist()

def f(n, x):
    {first}
    for i in range(n):
        {use}
        if i % 7 == 3:
            opaque(x)
    return x, held

def length(held):
    n = 0
    while isinstance(held, K):
        n, held = n + 1, held.next
    return n or len(held or ())
"""


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("grows, use", list(itertools.product(GROWS, USES)))
def test_rounds_do_not_look_through_all(grows, use, measure):
    first, grow = GROWS[grows]
    names = names_of(TEXT.format(first=first, use=USES[use].format(grow=grow)), janus=janus, __name__="program")
    g = janus.function(names["f"], measure=measure)
    rounds = 0
    for n in (300, 900, 900, 900):
        want, got = names["f"](n, janus.ones(3)), g(n, janus.ones(3))
        assert got[0].tolist() == pytest.approx(want[0].tolist()) and names["length"](want[1]) == names["length"](got[1])
        rounds += n
    looked = [int(n) for n in re.findall(r"(\d+) objects looked through", str(janus.explain(g)))]
    # all of them in every round would be half a million
    assert sum(looked) < 800 * rounds or measure, looked
