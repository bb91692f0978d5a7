# SPDX-License-Identifier: Apache-2.0
"""Results have the strides of the undecorated ones, also where sizes vary from call to call or only the run knows them."""
import itertools

import pytest

import janus
from shares import share

ORDERS = [p for n in (2, 3, 4) for p in itertools.permutations(range(n))]
MAKES = {"computed": lambda x: x * 2, "of a mask": lambda x: x[x.flatten(1).sum(1) > 0] if x.dim() > 1 else x[x > 0], "of a number": lambda x: x.new_ones(int(x.abs().max()) + 2, *x.shape[1:]) * 3,
         "rows": lambda x: janus.stack([r * 2 for r in x.unbind(0)])}
VARY = {"no": (), "first": (0,), "last": (-1,), "both": (0, -1)}


def cases():
    return itertools.product(ORDERS, MAKES, VARY)


@pytest.mark.parametrize("options", [{"verify": "never"}, {}], ids=str)
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_strides(options):
    wrong, graphs, n = [], 0, 0
    for order, make, vary in share(cases()):
        make_of = MAKES[make]

        def f(x):
            return make_of(x).permute(order)

        g = janus.function(f, measure=False, **options)
        for i in range(7):
            dims = [2, 3, 4, 5][:len(order)]
            for axis in VARY[vary]:
                dims[axis] += i
            janus.manual_seed(i)
            x = janus.randn(*dims)
            a, b = f(x), g(x)
            if (a.shape, a.stride(), a.tolist()) != (b.shape, b.stride(), b.tolist()):
                wrong.append((order, make, vary, i, a.shape, a.stride(), b.shape, b.stride()))
        n, graphs = n + 1, graphs + (g.stats()["graph"] > 0)
    assert not wrong, (len(wrong), n, wrong[:4])
    assert graphs > 0.9 * n, (graphs, n)
