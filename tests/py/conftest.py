# SPDX-License-Identifier: Apache-2.0
"""What a test counts must not depend on how fast the machine is.

JANUS_LIGHT_TESTS=1 leaves out most of what is generated: scripts/check.sh runs everything with gcc, and elsewhere
(sanitizers, other compilers and interpreters) each program once and a fifth of the generated tests.  JANUS_LIGHT_TESTS=2
leaves a twentieth of each file: what a source distribution has to be asked.  JANUS_SHARE=I/N leaves the tests I, I + N,
I + 2 N, ... of what is left: tests/pytest.sh runs N processes side by side.
"""

import gc
import os

import pytest

os.environ.setdefault("JANUS_MEASURE", "0")

# Files whose tests are parts of one large generated set.
GENERATED = (
    "test_allocations",
    "test_arguments",
    "test_attributes",
    "test_deferred_programs",
    "test_generated",
    "test_iterators",
    "test_ladder",
    "test_mutations",
    "test_programs",
    "test_region_barriers",
    "test_region_boundary",
    "test_slots",
    "test_stores",
    "test_strides",
    "test_torch",
    "test_values",
)


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """What earlier files left is no part of collections: some tests ask for one at every allocation."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    kept, left_out, seen = [], [], {}
    how = os.environ.get("JANUS_LIGHT_TESTS")
    for item in items if how in ("1", "2") else ():
        name = item.path.stem
        seen[name] = seen.get(name, 0) + 1
        if name == "test_diff":
            light = "-never]" not in item.name and "-always]" not in item.name
        else:
            light = name not in GENERATED or seen[name] % 5 == 1
        light = light if how == "1" else seen[name] % 20 == 1
        (kept if light else left_out).append(item)
    if how in ("1", "2"):
        items[:] = kept
    share, shares = map(int, os.environ.get("JANUS_SHARE", "0/1").split("/"))
    left_out += [item for i, item in enumerate(items) if i % shares != share]
    items[:] = items[share::shares]
    config.hook.pytest_deselected(items=left_out)
