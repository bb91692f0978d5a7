# SPDX-License-Identifier: Apache-2.0
"""A function that asks for gradients is no graph to be taken along: janus.export says so, and what can be instead, and leaves
the program as it was."""
import pytest

import janus
from janus import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)


def by_method(net, y):
    y.backward()


def by_function(net, y):
    janus.autograd.backward([y])


def by_grad(net, y):
    return janus.autograd.grad(y, [net.layer.weight])[0]


WAYS = [by_method, by_function, by_grad]


def in_a_function(net, way):
    def step(x):
        y = net(x).sum()
        way(net, y)
        return y
    return step


def in_a_call(net, way):
    def loss(x):
        y = (net(x) ** 2).mean()
        way(net, y)
        return y

    def step(x):
        return loss(x) * 2
    return step


def in_a_loop_of_a_step(net, way):
    optimizer = janus.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        for _ in range(2):
            optimizer.zero_grad()
            way(net, net(x).sum())
            optimizer.step()
        return net(x)
    return step


def in_a_module(net, way):
    class Trained(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.steps = net, 0

        def forward(self, x):
            self.steps += 1
            y = self.inner(x).sum()
            way(net, y)
            return y
    return Trained()


@pytest.mark.parametrize("place", [in_a_function, in_a_call, in_a_loop_of_a_step, in_a_module])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("decorate", [lambda f: f, janus.function], ids=["plain", "decorated"])
def test_it_is_said_what_to_do(tmp_path, place, way, decorate):
    net = Net()
    before = {k: v.tolist() for k, v in net.state_dict().items()}
    f = decorate(place(net, way))
    with pytest.raises(ValueError, match=r"janus\.export: it asks for gradients, by backward\(\) or grad\(\).*such as the model") as e:
        janus.export(f, tmp_path / "none", janus.ones(4, 3))
    assert isinstance(e.value.__cause__, RuntimeError) and not (tmp_path / "none").exists()
    assert {k: v.tolist() for k, v in net.state_dict().items()} == before
    assert net.layer.weight.grad is None
    janus.export(net, tmp_path / "net", janus.ones(4, 3))
    with janus.no_grad():
        expected = net(janus.ones(4, 3))
    assert (janus.load_graph(tmp_path / "net")(janus.ones(4, 3)) - expected).abs().max().item() < 1e-5


def test_errors_of_the_program_stay_its_own(tmp_path):
    def f(x):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="^no$"):
        janus.export(f, tmp_path / "none", janus.ones(2))
