# SPDX-License-Identifier: Apache-2.0
"""Arguments that are views of other tensors and have a history: every way to take one, everything done with it, inside
and outside, decorated against undecorated."""
import itertools
import sys
import pathlib

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from diff.harness import Log, close, t  # noqa: E402

VIEWS = {"select": lambda b: b[1], "slice": lambda b: b[:2], "column": lambda b: b[:, 1], "transposed": lambda b: b.t(),
         "reshaped": lambda b: b.view(-1), "unsqueezed": lambda b: b.unsqueeze(0), "expanded": lambda b: b.unsqueeze(0).expand(2, 3, 3),
         "of a view": lambda b: b[1:][0], "chunk": lambda b: b.chunk(3)[2], "unbound": lambda b: b.unbind(0)[1], "itself": lambda b: b}
INSIDE = {"read": lambda v, b: v * 2, "returned": lambda v, b: v, "both": lambda v, b: v.sum() + b.exp(), "viewed": lambda v, b: v[..., 0] * 3,
          "kept": lambda v, b: (v, v * 2), "detached": lambda v, b: v.detach() + b, "shape": lambda v, b: b * v.numel(),
          "written": lambda v, b: v.mul_(2), "base written": lambda v, b: (b.add_(1), v * 2)[1], "item": lambda v, b: v[..., 0].sum().item() * b,
          "no grad": lambda v, b: [janus.no_grad().__enter__(), v * 2, janus.set_grad_enabled(True)][1] * b,
          "written, not recorded": lambda v, b: (v.data.mul_(2), b * 3)[1]}
OUTSIDE = {"backward": lambda v, b, r: None, "written before": lambda v, b, r: b.mul_(1.5), "view written before": lambda v, b, r: v.mul_(1.5),
           "written after": lambda v, b, r: b.mul_(1.5), "alternately no view": lambda v, b, r: None}


def flat(r):
    return [x for x in (r if isinstance(r, (tuple, list)) else [r]) if isinstance(x, janus.Tensor)]


def observe(f, take, outside):
    log = Log()
    for i in range(6):
        leaf = t(3, 3, seed=i, grad=True)
        b = leaf * 2
        v = take(b) if outside != "alternately no view" or i % 2 else take(b) * 1
        try:
            if "before" in outside:
                OUTSIDE[outside](v, b, None)
            r = f(v, b)
            log(*flat(r), v, b)
            if "after" in outside:
                OUTSIDE[outside](v, b, r)
            total = sum([x.sum() for x in flat(r)]) + v.sum() + (b * b).sum()
            total.backward()
            log(leaf.grad, [x.requires_grad for x in flat(r)])
        except RuntimeError as e:
            log.entries.append((type(e).__name__, str(e)))
        log(v.detach(), b.detach())
    return log.entries


GRAPHS = set()


@pytest.mark.parametrize("verify", ["never", "always"])
@pytest.mark.parametrize("view,outside", itertools.product(VIEWS, OUTSIDE))
def test_view(view, outside, verify):
    bad = []
    for name, inside in INSIDE.items():
        g = janus.function(inside, verify=verify, measure=False)
        want, got = observe(inside, VIEWS[view], outside), observe(g, VIEWS[view], outside)
        if g.stats()["graph"]:
            GRAPHS.add((view, name))
        if not close(want, got, False) or g.stats()["disproved"]:
            k = next((k for k, (x, y) in enumerate(zip(want, got)) if not close(x, y, False)), None)
            bad.append(f"{name}: {k if k is None else (want[k], got[k])}")
    assert not bad, "\n".join(bad)
    if verify == "never" and outside == "backward":
        assert (view, "read") in GRAPHS and (view, "both") in GRAPHS
