# SPDX-License-Identifier: Apache-2.0
"""`len()` and the truth of ranges whose bounds only the graph knows."""
import pytest

import janus
from shares import share
from texts import names_of


@pytest.mark.parametrize("bounds", share(["n", "1, n", "n, 1, -1", "0, n, 2", "n, n + 3", "-n, n, 3", "2, n, -1", "0, n, m"]))
def test_sizes_of_ranges(bounds):
    names = names_of(f"def f(x, m):\n    n = int(x.sum().item())\n    r = range({bounds})\n    return len(r), bool(r), x * len(r) if r else x, [v for v in r if len(r) > 2]\n", janus=janus)
    decorated = janus.function(names["f"], measure=False, verify="never")
    for k in range(12):
        x = janus.tensor([float(k % 7), float(-(k % 3))])
        want, got = names["f"](x, 1 + k % 2), decorated(x, 1 + k % 2)
        assert (want[0], want[1], want[2].tolist(), want[3]) == (got[0], got[1], got[2].tolist(), got[3]), k
    assert decorated.stats()["graph"] >= 6, janus.explain(decorated)
