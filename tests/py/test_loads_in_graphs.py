# SPDX-License-Identifier: Apache-2.0
"""Parts of janus's own Python inside graphs: properties of tensors, load_state_dict and what it returns."""
import itertools

import pytest

import janus
import janus.nn as nn
from diff.harness import t
from compared import close

PROPERTIES = [name for name in dir(janus.Tensor) if isinstance(getattr(janus.Tensor, name), property)]


@pytest.mark.parametrize("name, shape", list(itertools.product(PROPERTIES, [(2, 3), (3, 3), (2, 3, 4)])))
def test_properties_of_tensors(name, shape):
    def run(function):
        w, log = t(*shape, grad=True), []
        f = function(lambda w, x: getattr((w * x).sin(), name) + 1)
        for i in range(4):
            w.grad = None
            try:
                y = f(w, t(*shape, seed=i))
            except Exception as e:
                log.append(f"{type(e).__name__} {e}")
                continue
            y.sum().backward()
            log.append([list(y.shape), list(y.stride()), y.detach().tolist(), w.grad.tolist()])
        return log, f

    (want, _), (got, f) = run(lambda f: f), run(lambda f: janus.function(f, verify="never", measure=False))
    assert close(want, got)
    assert isinstance(want[0], str) or f.stats()["graph"] >= 2, janus.explain(f)


def all_of(r):
    return r


def by_place(r):
    return r[0], r[1], len(r)


def by_name(r):
    return r.missing_keys, r.unexpected_keys


def unpacked(r):
    missing, unexpected = r
    return missing, unexpected


@pytest.mark.parametrize("drop, add, strict, take", list(itertools.product(
    [(), ("0.bias",), ("0.weight", "2.bias")], [(), ("more",)], [True, False], [all_of, by_place, by_name, unpacked])))
def test_load_state_dict(drop, add, strict, take):
    def run(function):
        janus.manual_seed(3)
        a, b = (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(2))
        log = []

        def step(a, b, x):
            state = {k: v for k, v in a.state_dict().items() if k not in drop}
            for k in add:
                state[k] = x
            r = b.load_state_dict(state, strict=strict)
            return take(r), b(x).detach()

        f = function(step)
        for i in range(4):
            with janus.no_grad():
                for p in a.parameters():
                    p.add_(0.1)
            try:
                r, y = f(a, b, t(2, 3, seed=i))
            except RuntimeError as e:
                log.append(str(e))
                continue
            log.append([repr(r), type(r).__name__, [p.tolist() for p in b.parameters()], y.tolist()])
        return log, f

    (want, _), (got, f) = run(lambda f: f), run(lambda f: janus.function(f, verify="never", measure=False))
    assert close(want, got)
    if not strict or not (drop or add):
        assert f.stats()["graph"] >= 1, janus.explain(f)
