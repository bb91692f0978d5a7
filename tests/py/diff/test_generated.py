# SPDX-License-Identifier: Apache-2.0
"""Random recursive programs (generate.py), decorated against undecorated; generated_main.py tries others."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate, generated_run  # noqa: E402

# Not yet: a gradient that there is not is zeros in a recursion, and zeros times infinity are not nothing.
FEATURES = [name for name in generate.FEATURES if name != "special"]
# Not yet: the tape multiplies the gradient of a sum, which is one number expanded, by another kernel.
LAST_BIT = [("weights", 1)]


@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature, tmp_path):
    for seed in [seed for seed in range(2) if (feature, seed) not in LAST_BIT]:
        text = generate.Program(seed, [feature]).text
        difference, _, _ = generated_run.compare(text, seed, tmp_path, f"generated_{feature}_{seed}")
        assert not difference, f"{feature} {seed}: {difference}\n{text}"


def test_many_run_as_graphs(tmp_path):
    graphs = 0
    for seed in range(20):
        text = generate.Program(seed).text
        difference, steps, _ = generated_run.compare(text, seed, tmp_path, f"generated_{seed}")
        assert not difference, f"{seed}: {difference}\n{text}"
        graphs += any(step.stats()["graph"] for step in steps)
    assert graphs >= 8
