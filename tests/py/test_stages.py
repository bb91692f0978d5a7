# SPDX-License-Identifier: Apache-2.0
"""A decorated network that gives features and what it computes from them; gradients come to any of its results.

Layers whose training keeps more than their result (statistics, masks, indices, states) stand before and after each
result that leaves.
"""
import itertools
import random

import pytest

import janus
import janus.nn as nn
from compared import close

LAYERS = {
    "batch_norm": lambda: nn.BatchNorm2d(2),
    "batch_norm without weights": lambda: nn.BatchNorm2d(2, affine=False),
    "instance_norm": lambda: nn.InstanceNorm2d(2, track_running_stats=True, affine=True),
    "group_norm": lambda: nn.GroupNorm(1, 2),
    "layer_norm": lambda: nn.LayerNorm(4),
    "conv": lambda: nn.Conv2d(2, 2, 3, padding=1),
    "max_pool": lambda: nn.MaxPool2d(3, 1, 1),
    "tanh": nn.Tanh,
    "relu in place": lambda: nn.ReLU(True),
}


def outcome(nets, forward, training):
    """Values, gradients and buffers after three steps, with gradients to other results in each."""
    found = []
    for net in nets:
        net.train(training)
    for step, wanted in enumerate([(0, 1, 2), (0,), (2,), (0, 2)]):
        janus.manual_seed(step)
        x = janus.randn(3, 2, 4, 4, requires_grad=True)
        results = forward(x)
        loss = sum((results[i] * (i + 1)).sin().sum() for i in wanted)
        loss.backward()
        found.append([loss.item(), x.grad.tolist()])
        found.append([None if p.grad is None else p.grad.tolist() for net in nets for p in net.parameters()])
        found.append([b.tolist() for net in nets for b in net.buffers()])
    return found


@pytest.mark.parametrize("training", [True, False])
def test_results_from_results(training):
    graphs, pairs = 0, list(itertools.product(LAYERS, LAYERS))
    for first, second in random.Random(5).sample(pairs, 40):
        both = []
        for decorate in (lambda f: f, janus.function(measure=False, verify="never")):
            janus.manual_seed(7)
            nets = [nn.Sequential(LAYERS[first](), nn.Conv2d(2, 2, 1)),
                    nn.Sequential(LAYERS[second](), nn.Conv2d(2, 2, 1)), nn.Sequential(LAYERS[first](), nn.Conv2d(2, 1, 1))]

            def forward(x, nets=nets):
                x = nets[0](x + 0.5)
                y = nets[1](x * 1.5)
                return x, y.mean(), nets[2](y * 0.5).flatten()

            forward = decorate(forward)
            both.append(outcome(nets, forward, training))
        assert close(both[0], both[1]), (first, second)
        graphs += forward.stats()["graph"] > 0
    assert graphs == 40, "not all of them are graphs"
