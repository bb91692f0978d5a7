# SPDX-License-Identifier: Apache-2.0
"""What of a tensor whose sizes change from call to call decides a number, a path or what a program unpacks: as undecorated, whatever the sizes are, though
two sizes may agree by chance (both make three pieces)."""
import itertools
import random

import pytest

import janus
from shares import share
from texts import names_of

PIECES = ("x.chunk(2)", "x.chunk(3)", "x.chunk(4, 0)", "x.chunk(3, dim=0)", "x.chunk(2, 1)", "x.chunk(2, -1)", "janus.chunk(x, 5)", "x.split(2)", "x.split(3, 0)", "x.split(2, 1)", "x.tensor_split(3)",
          "x.unbind()", "x.unbind(1)", "list(x)", "x[1:].chunk(3)", "(x * 2).chunk(3)", "x.t().chunk(3, 1)")
USES = ("x = x + len({p})", "x = x + sum(1 for q in {p})", "x = x * (2 if len({p}) > 2 else 3)", "q = [len(r) for r in {p}]\nx = x + sum(q)", "first, *rest = {p}\nx = x + len(rest)",
        "q = {p}[2]", "x = x + {p}[0].sum()", "x = x + {p}[-1].sum()", "for k, q in enumerate({p}): x = x + k", "a, b, c = {p}", "log.append(len({p}))", "q = {p}\nx = x + (q[2].sum() if len(q) > 2 else 0)")
NUMBERS = ("x.storage_offset()", "x[1:].storage_offset()", "x[:, 1:].storage_offset()", "x.stride(0)", "x.t().stride(0)", "x.t().stride(1)", "x[1:].numel()", "x[::2].size(0)", "len(x[:3])", "int(x[:, 1:].is_contiguous())",
           "x.nbytes", "x.topk(2, 0)[0].size(0)", "len(x.unfold(0, 2, 1))", "x.shape[0] // 2", "len(x.t())")
DEAD = ("x.topk(3, 1)", "x.kthvalue(3, 0)", "x[2]", "x[:, 3]", "x @ x", "x + x.t()", "x.view(3, -1)", "x.reshape(-1, 6)", "x.narrow(0, 1, 2)", "x.unfold(0, 3, 1)", "x.expand(5, 4)")
PROGRAM = """
log = []
def f(x):
    {body}
    return x * 2
"""


def programs():
    for p, use in itertools.product(PIECES, USES):
        yield use.replace("{p}", p)
    for n in NUMBERS:
        yield f"x = x + {n}"
        yield f"x = x * (2 if {n} > 3 else 3)"
    for e in DEAD:
        yield e
        yield f"q = {e}"


def outcomes(body, sizes, decorate):
    names = names_of(PROGRAM.format(body=body.replace("\n", "\n    ")), janus=janus)
    f, seen = decorate(names["f"]), []
    for rows, columns in sizes:
        try:
            seen.append((f(janus.ones(rows, columns)).tolist(), str(names["log"])))
        except Exception as e:
            seen.append((type(e).__name__, str(e)))
    return seen, f


@pytest.mark.parametrize("options", [{"verify": "never"}, {"verify": "never", "numerics": "exact"}], ids=str)
def test_as_undecorated(options):
    wrong, graphs = [], 0
    bodies = share(list(programs())["numerics" in options::2])
    for i, body in enumerate(bodies):
        r = random.Random(i)
        sizes = [(3, 4), (5, 4), (3, 4), *((r.choice((1, 2, 3, 4, 5, 6, 7, 9)), r.choice((4, 4, 4, 3, 5))) for _ in range(10))]
        want, _ = outcomes(body, sizes, lambda f: f)
        got, g = outcomes(body, sizes, lambda f: janus.function(f, measure=False, **options))
        wrong += [(body, s, a, b) for s, a, b in zip(sizes, want, got) if a != b][:1]
        graphs += g.stats()["graph"] + g.stats()["region_hits"] > 0
    assert not wrong, f"{len(wrong)}: {[w[:2] for w in wrong]}"
    assert graphs > len(bodies) // 3, graphs
