# SPDX-License-Identifier: Apache-2.0
"""Every kind of store in every control context (generate_stores.py); stores_main.py tries other values."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_stores, stores_main  # noqa: E402

GRAPHS = {}


@pytest.mark.parametrize("store", list(generate_stores.STORES))
def test_store(store, tmp_path):
    programs = list(generate_stores.programs(0, [store]))
    found = stores_main.compare(programs, tmp_path, "stores")
    for program, difference, graphs, _ in found:
        assert not difference, f"{program}: {difference}\n{generate_stores.function('step', *program)}"
    GRAPHS[store] = sum(graphs > 0 for _, _, graphs, _ in found)


def test_most_stores_are_in_graphs():
    """What is compared above must be graphs: of each kind of store that converts at all, some context is."""
    if len(GRAPHS) < len(generate_stores.STORES):
        pytest.skip("the others did not run")
    assert sum(n > 8 for n in GRAPHS.values()) > 60, GRAPHS


def test_random_functions(tmp_path):
    """Several stores under random control; stores_main.py --random --seeds A-B runs others."""
    for seed in range(80):
        program = ("random", seed)
        (_, difference, _, _), = stores_main.compare([program], tmp_path, f"random_{seed}")
        assert not difference, f"{seed}: {difference}\n{generate_stores.text('step', program)}"
