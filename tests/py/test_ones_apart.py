# SPDX-License-Identifier: Apache-2.0
"""Lists of all lengths, one and none among them, whose length becomes a size of tensors: a graph of all sizes is for none of 0 and 1, so that a list with one item has a graph of its
own, and does not have the others made anew for each length (pyfront/run/hints.c)."""
import random

import pytest

import janus
from compared import close
from texts import names_of

WORDS = ["S", "a", "b", "c"]
table = janus.nn.Embedding(4, 6)
layers = {"gru": janus.nn.GRU(6, 4, bidirectional=True, batch_first=True), "lstm": janus.nn.LSTM(6, 4), "linear": janus.nn.Linear(6, 4), "conv": janus.nn.Conv1d(6, 4, 3, padding=1)}
NUMBERS = {"found": "[WORDS.index(s) for s in words]", "lengths": "[len(s) for s in words]", "places": "[i % 4 for i, _ in enumerate(words)]"}
USES = {
    "recurrent": "layers['gru'](table(ids.unsqueeze(0)))[0][0, at]",
    "from the end": "layers['lstm'](table(ids).unsqueeze(1))[0][-1]",
    "convolved": "layers['conv'](table(ids).t().unsqueeze(0)).squeeze(0).sum(1)",
    "mean": "layers['linear'](table(ids)).mean(0)",
    "squeezed": "layers['linear'](table(ids)).squeeze().sum()",
    "weighted": "(janus.softmax(table(ids).sum(1), 0).unsqueeze(1) * table(ids)).sum(0)",
}


def program(numbers, use):
    names = dict(janus=janus, WORDS=WORDS, table=table, layers=layers)
    return names_of(f"def f(words, at):\n    ids = janus.tensor({NUMBERS[numbers]})\n    return {USES[use]}\n", **names)["f"]


def outcome(f, words, at):
    table.weight.grad = None
    try:
        y = f(words, at)
        y.sum().backward()
        return y.detach(), table.weight.grad.clone()
    except Exception as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("use", USES)
def test_lists_of_all_lengths(numbers, use):
    f = program(numbers, use)
    g = janus.function(f, measure=False, verify="never")
    rng, before = random.Random(5), 0
    for i in range(48):
        words = [rng.choice(WORDS) for _ in range(0 if i == 20 else rng.choice([1, 1, 2, 3, 4, 5, 7]))]
        at = rng.randrange(len(words)) if words else 0
        assert close(outcome(f, words, at), outcome(g, words, at)), (i, words, at)
        before = g.stats()["graph"] if i == 29 else before
    if use == "squeezed":  # what that leaves of a size of 1 is looked at
        return
    assert g.stats()["graph"] - before >= 14, str(janus.explain(g))
    assert g.stats()["conversions"] <= 16
