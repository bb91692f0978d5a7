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


@pytest.mark.parametrize("name", ["bert_base", "gpt2_block", "gpt2_small", "lstm_lm"])
def test_text_net_parameters(name):
    assert sum(p.numel() for p in zoo.make(name).parameters()) == zoo.TEXT_NETS[name][2]


SMALL = {"words": 50, "size": 32, "layers": 2, "heads": 4, "positions": 24}
TEXTS = {
    # name: (sizes, how it is called with words)
    "bert_base": ({**SMALL, "dropout": 0.0}, lambda net, words, mask: net(words, mask=mask)[1]),
    "bert_classifier": ({**SMALL, "dropout": 0.0}, lambda net, words, mask: net(words, words % 2, mask)),
    "gpt2_small": (SMALL, lambda net, words, mask: net(words)),
    "lstm_lm": ({"words": 50, "size": 32}, lambda net, words, mask: net(words.t())[0]),
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_net(name):
    """Results and gradients, decorated like undecorated, with texts of unequal lengths."""
    janus.manual_seed(0)
    sizes, call = TEXTS[name]
    net = zoo.make(name, **sizes)

    def step(words, mask):
        y = call(net, words, mask)
        loss = y.square().mean()
        loss.backward()
        return y.detach()

    f = janus.function(step, measure=False)
    for length in (12, 12, 12, 12, 20):
        words, lengths = janus.randint(0, 50, (3, length)), janus.tensor([length, 7, 1])
        mask = janus.arange(length)[None] < lengths[:, None]
        seen = []
        for g in (step, f):
            net.zero_grad()
            seen.append([g(words, mask), *[p.grad.clone() for p in net.parameters() if p.grad is not None]])
        assert len(seen[0]) == len(seen[1])
        for want, got in zip(*seen):
            assert ((got - want).abs() <= 1e-4 * (1 + want.abs())).all()
    assert f.stats()["graph"] >= 2, f.stats()


def test_a_word_sees_those_before_it():
    janus.manual_seed(0)
    block = zoo.make("gpt2_block", size=32, heads=4)
    x = janus.randn(2, 9, 32)
    with janus.no_grad():
        assert (block(x)[:, :5] - block(x[:, :5])).abs().max() < 1e-5


def test_padding_is_not_seen():
    janus.manual_seed(0)
    net = zoo.make("bert_base", **SMALL).eval()
    words = janus.randint(0, 50, (2, 9))
    mask = janus.arange(9)[None] < janus.tensor([[5], [9]])
    with janus.no_grad():
        padded, alone = net(words, mask=mask)[0], net(words[:1, :5])[0]
    assert (padded[0, :5] - alone[0]).abs().max() < 1e-5
