# SPDX-License-Identifier: Apache-2.0
"""arange and linspace with each bound and step as each kind of number, of which the graph knows some only when it runs."""
import itertools

import pytest

import janus
import shares
from texts import names_of

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

NUMBERS = {"int": "{}", "float": "{}.5", "of the graph": "i{0}.item()", "float of the graph": "f{0}.item()", "size": "s{0}.shape[0]",
           "sum": "(i{0}.item() + {0})", "half": "(i{0}.item() / 2)", "truth": "(i{0}.item() > 0)"}
CALLS = ["janus.arange({1})", "janus.arange(end={1})", "janus.arange({0}, {1})", "janus.arange(start={0}, end={1})",
         "janus.arange({0}, {1}, {2})", "janus.arange({0}, {1}, {2}, dtype=janus.int64)", "janus.arange({0}, {1}, dtype=janus.float64)",
         "janus.linspace({0}, {1}, 3)", "janus.arange({1}, {0}, -{2})"]
VALUES = (1, 6, 2)  # start, end, step


def result(f, tensors):
    try:
        y = f(*tensors)
        return y.dtype, y.tolist()
    except (TypeError, ValueError, RuntimeError) as e:
        return type(e).__name__


@pytest.mark.parametrize("call", CALLS)
def test_ranges_of_all_kinds_of_numbers(call):
    graphs = 0
    used = [k for k in range(3) if "{%d}" % k in call]
    for kinds in shares.share(itertools.product(NUMBERS, repeat=len(used))):
        given = dict(zip(used, kinds))
        numbers = [NUMBERS[given[k]].format(v) if k in given else "" for k, v in enumerate(VALUES)]
        params = [f"{kind}{v}" for v in VALUES for kind in "ifs"]
        f = names_of(f"def f({', '.join(params)}):\n    return {call.format(*numbers)}\n", janus=janus)["f"]
        decorated = janus.function(f, verify="never", measure=False)
        for more in (0, 0, 1, 0):
            tensors = [t for v in VALUES for t in (janus.tensor(v + more), janus.tensor(v + more + 0.25), janus.zeros(v + more))]
            assert result(decorated, tensors) == result(f, tensors), (kinds, more)
        graphs += decorated.stats()["graph"]
    assert graphs
