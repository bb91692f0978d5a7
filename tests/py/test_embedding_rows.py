# SPDX-License-Identifier: Apache-2.0
"""Gradients of embeddings stay rows, whether the lookups are inside a recursion or not."""

import random

import pytest

import janus
import janus.nn as nn
import janus.nn.functional as F

WORDS, SIZE, LOOKUPS = 20000, 16, 12
TABLE_BYTES = WORDS * SIZE * 4


class Tied(nn.Module):
    """Looks words up one by one; `tied`: the embedding scores them, too."""

    def __init__(self, tied):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, SIZE, padding_idx=3)
        self.output = nn.Linear(SIZE, 5)
        self.tied = tied

    def forward(self, words):
        loss = janus.zeros(())
        for word in words:
            x = janus.tanh(self.embedding(word))
            if self.tied:
                loss = loss + (x @ self.embedding.weight[:7].t()).square().mean() * 0.1
            loss = loss + F.cross_entropy(self.output(x), word % 5)
        return loss


def train(optimizer, decorate, tied=False, steps=4):
    janus.manual_seed(0)
    model = Tied(tied)
    opt = optimizer(model.parameters())

    def step(words):
        opt.zero_grad()
        loss = model(words)
        loss.backward()
        opt.step()
        return loss.detach()

    f = decorate(step)
    words = [janus.tensor([k * k % 11]) for k in range(LOOKUPS)]
    losses = [f(words).item() for _ in range(steps)]
    return model, losses, f


def graph(step):
    return janus.function(step, measure=False)


OPTIMIZERS = {
    "sgd": lambda params: janus.optim.SGD(params, lr=0.1),
    "adagrad": lambda params: janus.optim.Adagrad(params, lr=0.1),
    "momentum": lambda params: janus.optim.SGD(params, lr=0.1, momentum=0.9),
    "adam": lambda params: janus.optim.Adam(params, lr=0.01),
}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_are_summed_as_arrays_are(name, tied):
    plain, plain_losses, _ = train(OPTIMIZERS[name], lambda step: step, tied)
    model, losses, f = train(OPTIMIZERS[name], graph, tied)
    assert f.stats()["graph"] == 3
    assert losses == pytest.approx(plain_losses, rel=1e-6)
    for mine, other in zip(model.parameters(), plain.parameters()):
        assert (mine - other).abs().max().item() <= 1e-6
        assert (mine.grad - other.grad).abs().max().item() <= 1e-5


@pytest.mark.parametrize("name", ["sgd", "adagrad"])
def test_a_step_costs_no_table_for_each_lookup(name):
    _, _, f = train(OPTIMIZERS[name], graph)
    assert f.stats()["peak_bytes"] < 4 * TABLE_BYTES


@pytest.mark.parametrize("words", [900, 1100, 40])
@pytest.mark.parametrize("seed", range(6))
def test_rows_that_are_skipped(seed, words):
    """The same table is looked up with several padding_idx: each skips its own row, wherever rows lie in the sum."""
    source = random.Random(seed)
    paddings = [source.choice([None, 0, 1, 2, 5, words - 1]) for _ in range(3)]
    numbers = [source.choice([0, 1, 2, 3, 5, 6, words - 1, source.randrange(words)]) for _ in range(source.choice([2, 9, 60]))]
    asked = [janus.tensor(numbers[at:at + 1 + at % 3]) for at in range(len(numbers))]
    start = janus.arange(words * 512).reshape(words, 512).to(janus.float32).sin() * 0.1

    def run(decorate):
        table = nn.Parameter(start.clone())
        optimizer = janus.optim.SGD([table], lr=0.5)

        def step(asked):
            optimizer.zero_grad()
            loss = janus.zeros(())
            for at, index in enumerate(asked):
                loss = loss + (F.embedding(index, table, padding_idx=paddings[at % 3]) * (at + 1)).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        f = decorate(step)
        losses = [f(asked).item() for _ in range(4)]
        return table, losses, f

    plain, plain_losses, _ = run(lambda step: step)
    table, losses, f = run(lambda step: janus.function(step, measure=False, verify="never"))
    assert f.stats()["graph"] == 3
    assert losses == pytest.approx(plain_losses, rel=1e-4)
    assert (table - plain).abs().max().item() <= 1e-4 * plain.abs().max().item()
