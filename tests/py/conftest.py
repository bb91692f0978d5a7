# SPDX-License-Identifier: Apache-2.0
"""What a test counts must not depend on how fast the machine is.

JANUS_LIGHT_TESTS=N leaves every Nth of what a file generates, from 5 on each program of diff/ in one way of many, and
from 20 on every Nth of each file: what a source distribution has to be asked.  scripts/check.sh says how much each of its
steps runs.  JANUS_SHARE=I/N leaves the tests I, I + N, I + 2 N, ... of what is left: tests/pytest.sh runs N processes side
by side.
"""

import collections
import gc
import itertools
import os

import pytest
from shares import EACH, LIGHT

os.environ.setdefault("JANUS_MEASURE", "0")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy starts a thread else, in each process, which waits by spinning

# A file with more tests than these generates them, and each of them shows the class that it is a sample of.
MANY = 40


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """What earlier files left is no part of collections: some tests ask for one at every allocation."""
    gc.collect()
    gc.freeze()


def once(name, ways):
    """Whether this is the way in which a program runs: compared now and then, fast and exact numerics by turns."""
    if "-never]" in name or "-always]" in name:
        return False
    way = next(ways)
    return way % 2 == way // 2 % 2


def pytest_collection_modifyitems(config, items):
    kept, left_out, seen, ways = [], [], {}, itertools.count()
    files = collections.Counter(item.path for item in items)
    for item in items if LIGHT else ():
        n = seen[item.path] = seen.get(item.path, 0) + 1
        if 5 <= EACH < 20 and item.path.stem == "test_diff":
            light = once(item.name, ways)
        else:
            light = n % EACH == 1 or EACH < 20 and files[item.path] <= MANY
        (kept if light else left_out).append(item)
    if LIGHT:
        items[:] = kept
    share, shares = map(int, os.environ.get("JANUS_SHARE", "0/1").split("/"))
    left_out += [item for i, item in enumerate(items) if i % shares != share]
    items[:] = items[share::shares]
    config.hook.pytest_deselected(items=left_out)
