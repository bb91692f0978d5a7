# SPDX-License-Identifier: Apache-2.0
"""Loops of many rounds over what is known: those that would make too large a graph are refused before their rounds are
made, and rounds that train, which are graphs of their own, at a tenth of that."""

import random

import pytest

import janus
import janus.nn.functional as F
from janus import nn


def programs(**options):
    """An epoch over batches of as many lengths, and the model that it trains; twice, the second one decorated."""
    for decorated in (False, True):
        janus.manual_seed(1)
        model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(8, 8), nn.Tanh())])
        optimizer = janus.optim.Adam(model.parameters(), lr=0.01)

        def epoch(batches, model=model, optimizer=optimizer):
            total = 0.0
            for x in batches:
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), x)
                loss.backward()
                optimizer.step()
                total += loss.item()
            return total

        yield janus.function(epoch, **options) if decorated else epoch, model


def batches(n, seed):
    janus.manual_seed(seed)
    made = [janus.randn(2 + i, 8) for i in range(n)]
    random.Random(seed).shuffle(made)
    return made


def same(plain, decorated, data):
    (f, model), (g, other) = plain, decorated
    assert g(data) == pytest.approx(f(data), rel=1e-5)
    for p, q in zip(model.parameters(), other.parameters()):
        assert janus.allclose(p, q, rtol=1e-4, atol=1e-6)


def test_epoch_of_many_lengths_is_no_graph():
    plain, decorated = programs(measure=True)
    for seed in range(3):
        same(plain, decorated, batches(80, seed))
    f = decorated[0]
    assert "a loop of 80 rounds is too large a graph" in str(janus.explain(f))
    assert not f.stats()["graph"]


def test_few_rounds_are_one():
    plain, decorated = programs(measure=True)
    data = batches(4, 1)
    same(plain, decorated, data)
    assert "too large" not in str(janus.explain(decorated[0]))
    assert decorated[0].stats()["entries"] == 1


def test_whoever_asks_for_graphs_has_them():
    plain, decorated = programs(measure=False)
    data = batches(80, 1)
    for _ in range(2):
        same(plain, decorated, data)
    assert decorated[0].stats()["graph"] == 1


def test_what_is_too_large_is_seen_early():
    """After two rounds; made one after the other they would end at some statement inside."""

    def many(rows):
        total = janus.zeros(())
        for row in rows:
            for _ in range(150):
                total = total * 0.5 + row.sum()
        return total

    rows = [janus.randn(1 + i % 3) for i in range(1900)]
    f = janus.function(many, measure=False)
    assert janus.equal(f(rows), many(rows))
    assert "a loop of 1900 rounds is too large a graph" in str(janus.explain(f))
