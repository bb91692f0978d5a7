# SPDX-License-Identifier: Apache-2.0
"""Objects that a program reaches in two ways and compares with others: a graph holds for the call that it was made for, and for those
in which the same ways lead to one object; where they lead to two, the program does what it does undecorated."""
import itertools

import janus
import janus.nn as nn
import pytest
from texts import names_of

# Each reaches the layers of `net` and says which of them it met: two of these are put into one program.
WAYS = {
    "attributes": "layers = [net.a, net.b]",
    "modules": "layers = [m for m in net.modules() if m is not net and not isinstance(m, nn.ModuleList)]",
    "children": "layers = [m for m in net.children() if not isinstance(m, nn.ModuleList)]",
    "dict": "layers = list(net._modules.values())[:2]",
    "list": "layers = [net.all[0], net.all[-1]]",
    "slice": "layers = [m for m in net.all[:1]] + [m for m in net.all[1:]]",
    "argument": "layers = pair",
    "global": "layers = [A, B]",
}
USES = {
    "set": "met = len(set(layers) | {net})",
    "memo": "met = 0\n    for m in layers:\n        met += m not in memo\n        memo.append(m)",
    "is": "met = layers[0] is layers[-1], layers[0] is net, layers[0] is not layers[-1]",
    "equal": "met = layers[0] == layers[-1], layers[0] != net",
    "dict": "met = {}\n    for m in layers:\n        met[m] = met.get(m, 0) + 1\n    met = sorted(met.values())",
    "written": "for m in layers:\n        m.seen = m.seen + 1\n    met = layers[0].seen",
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.all = nn.ModuleList([self.a, self.b])
        self.a.seen = self.b.seen = 0


def program(first, second, use):
    text = f"def f(net, pair, x):\n    memo = []\n    {WAYS[first]}\n    {USES[use]}\n    one = met\n    for m in layers:\n        x = m(x).tanh()\n"
    text += f"    {WAYS[second]}\n    {USES[use]}\n    for m in layers:\n        x = m(x).tanh()\n    return x, one, met, len(memo)\n"
    scope = names_of(text, nn=nn, janus=janus)
    return scope, scope["f"]


def calls(decorate, *case):
    scope, f = program(*case)
    janus.manual_seed(3)
    nets = [Net(), Net()]
    nets[1].all[1] = nets[1].b = nets[1].a  # one layer at both places
    f = janus.function(f, verify="never", measure=False) if decorate else f
    said = []
    with janus.no_grad():
        for i in range(8):
            net = nets[i == 5]
            scope["A"], scope["B"] = net.a, net.b
            pair = [net.a, net.b] if i != 6 else [net.b, net.a]
            x, *met = f(net, pair, janus.ones(2, 3) * i)
            said.append((x.tolist(), met))
    return said, f


@pytest.mark.parametrize("case", list(itertools.product(WAYS, WAYS, USES)), ids=lambda c: "-".join(c))
def test_two_ways(case):
    want, _ = calls(False, *case)
    got, f = calls(True, *case)
    assert got == want
    stats = f.stats()
    if stats["entries"]:  # 1, 5 and 6 may be conversions, and whatever a list of another length is
        assert stats["graph"] >= 4, (stats, janus.explain(f))


def test_module_seen_by_attribute_and_by_iteration():
    """`net(x)` reads `net.l`, `net.parameters()` the items of `net._modules`: one graph."""
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
            self.last = nn.Linear(2, 1)

        def forward(self, x):
            for layer in self.layers[:-1]:
                x = layer(x)
            return self.last(self.layers[-1](x))

    net = Chain()
    f = janus.function(lambda net, x: net(x).sum() + sum((p * p).sum() for p in net.parameters()), verify="never", measure=False)
    x = janus.ones(3, 2)
    want = net(x).sum() + sum((p * p).sum() for p in net.parameters())
    for _ in range(6):
        assert abs(f(net, x).item() - want.item()) < 1e-5
    assert f.stats()["conversions"] == 1 and f.stats()["graph"] == 5
