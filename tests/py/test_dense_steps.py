# SPDX-License-Identifier: Apache-2.0
"""Training steps without recursion are one graph whose optimizer writes parameters and states in place, behind all that can
fail: decorated and undecorated they leave the same numbers, also where the step's results are read, shared or an error follows."""
import janus
import pytest
from janus import nn


def network(tied):
    janus.manual_seed(3)
    first, second = nn.Linear(80, 80), nn.Linear(80, 80)
    if tied:
        second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second)


def plain(model, optimizer, x, index):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


def read_before_and_behind(model, optimizer, x, index):
    weight = model[0].weight
    old = weight.detach().clone()
    loss = plain(model, optimizer, x, index)
    return loss, (weight.detach() - old).abs().sum(), old, weight.detach() * 2


def twice(model, optimizer, x, index):
    return plain(model, optimizer, x, index) + plain(model, optimizer, x * 0.5, index)


def copied_over(model, optimizer, x, index):
    """Parameters are read by a store behind the step."""
    loss = plain(model, optimizer, x, index)
    with janus.no_grad():
        model[0].bias.copy_(model[2].bias)
        model[2].weight.copy_(model[0].weight.t())
    return loss


def error_behind(model, optimizer, x, index):
    loss = plain(model, optimizer, x, index)
    return loss + x[0][index].sum()


STEPS = [plain, read_before_and_behind, twice, copied_over, error_behind]
OPTIMIZERS = {
    "momentum": lambda p: janus.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "sgd": lambda p: janus.optim.SGD(p, lr=0.1),
    "adam": lambda p: janus.optim.Adam(p, lr=0.01),
    "adamw": lambda p: janus.optim.AdamW(p, lr=0.01),
}


def flat(result):
    return [t.detach() for t in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_same_numbers(step, name, tied):
    kept = []
    for decorate in (False, True):
        model = network(tied)
        optimizer = OPTIMIZERS[name](model.parameters())
        f = janus.function(step, measure=False, verify="never") if decorate else step
        seen = []
        for k in range(6):
            janus.manual_seed(k)
            index = janus.tensor([k, 79 if k != 4 else 80])  # the fifth is out of range
            try:
                seen += flat(f(model, optimizer, janus.randn(40, 80), index))
            except IndexError:
                assert step is error_behind and k == 4
                seen.append(janus.zeros(()))
            seen += [t.detach().clone() for p in model.parameters() for t in (p, p.grad)]
        seen += [v.clone() for s in optimizer.state.values() for v in s.values() if isinstance(v, janus.Tensor)]
        kept.append(seen)
        if decorate and step is plain and name != "sgd":
            assert f.stats()["graph"] > 0 and f.stats()["late"] > 0
    assert len(kept[0]) == len(kept[1])
    for a, b in zip(*kept):
        assert janus.allclose(a, b, rtol=1e-4, atol=1e-5), (step.__name__, name)
