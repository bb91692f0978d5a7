# SPDX-License-Identifier: Apache-2.0
"""The networks of samples/zoo: their numbers of parameters, and decorated like undecorated."""
import os
import pathlib
import sys

import pytest

import janus

SAMPLES = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).parents[2])) / "samples"
if not (SAMPLES / "zoo").exists():
    SAMPLES = pathlib.Path(__file__).parents[2] / "samples"
sys.path.insert(0, str(SAMPLES))
import zoo  # noqa: E402

# The smallest image that leaves something to the last layer.
SIZES = {"inception_v3": 75}


@pytest.mark.parametrize("name", sorted(zoo.NETS))
def test_net(name):
    janus.manual_seed(0)
    net = zoo.make(name)
    assert sum(p.numel() for p in net.parameters()) == zoo.NETS[name][2]
    net.eval()
    size = SIZES.get(name, 32)
    f = janus.function(lambda x: net(x), measure=False)
    with janus.no_grad():
        for _ in range(3):
            x = janus.randn(1, 3, size, size)
            want, got = net(x), f(x)
            assert got.shape == (1, 1000)
            assert ((got - want).abs() <= 1e-4 * (1 + want.abs())).all()
    assert f.stats()["graph"] >= 1, f.stats()


def test_training_step():
    """Statistics of batches and gradients, through depthwise convolutions and gates."""
    janus.manual_seed(0)
    net = zoo.make("efficientnet_b0")
    block = net.features[3]  # the first one
    x = janus.randn(2, 32, 8, 8)
    state = {k: v.clone() for k, v in block.state_dict().items()}
    runs = []
    for f in (lambda x: block(x).square().mean(), janus.function(lambda x: block(x).square().mean(), measure=False)):
        block.load_state_dict(state)
        seen = []
        for _ in range(3):
            block.zero_grad()
            loss = f(x)
            loss.backward()
            seen += [loss.detach(), *[p.grad.clone() for p in block.parameters()], *[b.clone() for b in block.buffers()]]
        runs.append(seen)
    for want, got in zip(*runs):
        assert ((got - want).abs() <= 1e-4 * (1 + want.abs())).all()
