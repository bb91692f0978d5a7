# SPDX-License-Identifier: Apache-2.0
"""The programs of samples/papers at small sizes, decorated like undecorated: losses, parameters, random state."""
import os
import pathlib
import random
import sys

import pytest

import janus

SAMPLES = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).parents[2])) / "samples"
if not (SAMPLES / "papers").exists():
    SAMPLES = pathlib.Path(__file__).parents[2] / "samples"
sys.path.insert(0, str(SAMPLES))
import papers  # noqa: E402
from shares import LIGHT

# Deep networks amplify what rounding leaves; these are asked to the bit only.
DEEP = {"resnet50", "resnet50_terra", "inception_v3"}
CASES = [(name, numerics, verify) for name in papers.PROGRAMS for numerics in ("fast", "exact")
         for verify in ("never", "always") if numerics == "exact" or name not in DEEP]
if LIGHT:  # each program once
    CASES = [(name, "exact" if name in DEEP else "fast", "never" if i % 2 else "always")
             for i, name in enumerate(papers.PROGRAMS)]
# Undecorated runs are needed for several ways to decorate.
undecorated = {}


def run(name, decorate):
    """Losses of all steps, what the modules hold afterwards, and where the generators stand."""
    janus.manual_seed(3)
    random.seed(3)
    modules, step, batches = papers.make(name, small=True, decorate=decorate)
    rounds = 1 if LIGHT and name in DEEP else 2  # over the batches
    losses = [float(step(batch)) for _ in range(rounds) for batch in batches]
    state = [(key, value.clone()) for module in modules for key, value in module.state_dict().items()]
    return losses, state, (janus.rand(3).tolist(), random.random())


def wanted(name):
    if name not in undecorated:
        undecorated[name] = run(name, papers.undecorated)
    return undecorated[name]


def compare(name, **options):
    made = []

    def decorate(function):
        made.append(janus.function(function, measure=False, **options))
        return made[-1]

    losses, state, drawn = wanted(name)
    got_losses, got_state, got_drawn = run(name, decorate)
    assert got_drawn == drawn
    assert [key for key, _ in got_state] == [key for key, _ in state]
    exact = options.get("numerics") == "exact"
    for want, got in zip(losses, got_losses):
        assert want == got or not exact and abs(want - got) <= 1e-3 * (1 + abs(want)), (losses, got_losses)
    for (key, want), (_, got) in zip(state, got_state):
        near = (want == got) | (want != want) & (got != got) if exact else (want - got).abs() <= 1e-3 * (1 + want.abs())
        assert near.all(), key
    for function in made:
        assert function.stats()["calls"] > 0
        assert function.stats()["disproved"] == 0
    return made


@pytest.mark.parametrize("name,numerics,verify", CASES)
def test_decorated_like_undecorated(name, numerics, verify):
    compare(name, numerics=numerics, verify=verify)


# What is a graph as a whole, by most of its calls.
GRAPHS = ["lenet", "lstm_ptb", "lm_1b", "tree_lstm", "ppo", "an", "pix2pix", "bert_qa", "dcgan", "dropblock",
          "music_transformer"]


@pytest.mark.parametrize("name", GRAPHS)
def test_is_a_graph(name):
    for function in compare(name, verify="never"):
        stats = function.stats()
        assert stats["graph"] >= stats["calls"] // 4, janus.explain(function)


def test_all_are_there():
    assert sum(paper == "JANUS" for paper, _ in papers.PROGRAMS.values()) == 11
    assert sum(paper == "Terra" for paper, _ in papers.PROGRAMS.values()) == 10
