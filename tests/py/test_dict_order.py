# SPDX-License-Identifier: Apache-2.0
"""Dicts whose keys are taken out and put in again, while the caller iterates over them: generated operations.

A key that was taken out lies behind the others, so an iterator that is under way comes to it, even where the order is what it was.
"""
import itertools
import random
import time

import pytest

import janus
from texts import names_of

OPS = {"pop": "d.pop({k!r}, None)", "set": "d[{k!r}] = x", "del": "if {k!r} in d:\n            del d[{k!r}]",
       "again": "d[{k!r}] = d.pop({k!r}, x)", "get": "x = x + d.get({k!r}, x)", "loop": "for k in d:\n            x = x + d[k]",
       "clear": "d.clear()"}
KEYS = "abc"


def bodies():
    """All pairs of operations, and longer ones by chance."""
    single = [text.format(k=k) for name, text in OPS.items() for k in (KEYS if "{" in text else "a")]
    yield from ([one] for one in single)
    yield from map(list, itertools.product(single, repeat=2))
    draw = random.Random(5)
    for _ in range(150):
        yield [draw.choice(single) for _ in range(draw.randint(3, 6))]


def text_of(i, body, place):
    lines = "\n        ".join(body)
    if place == "function":
        return f"def f{i}(d, x):\n    if True:\n        {lines}\n    return x, list(d)\n"
    return (f"def f{i}(d, x):\n    at = clock()\n    if True:\n        {lines}\n    return x, list(d)\n" if place == "region" else
            f"def f{i}(d, x):\n    for k in d:\n        x = x * 2\n        if x.sum() > 1e6:\n            break\n        {lines}\n"
            "    return x, list(d)\n")


def leaves_a_gap(body):
    """Whether a key is put in and taken out again: of that a commit leaves no trace, and the place that it took is seen when keys
    are put in later, by another graph (docs/roadmap.md)."""
    there, put = set(KEYS), set()
    for op in body:
        k = next((k for k in KEYS if repr(k) in op), None)
        if "pop" in op or "del" in op:
            if k in put and k in there:
                return True
            there.discard(k)
        if op.startswith("d[") and k not in there:
            there.add(k)
            put.add(k)
        if "clear" in op:
            there, put = set(), set()
    return False


def observed(f, seed):
    """What a caller sees who iterates over the dict, or has one with places of keys that were deleted."""
    seen = []
    for holes, step in itertools.product((0, 3), (0, 1, 2, 3)):
        d = {f"gone{i}": None for i in range(holes)}
        d.update((k, janus.ones(2) * i) for i, k in enumerate(KEYS))
        for i in range(holes):
            del d[f"gone{i}"]
        it = iter(d.items())
        for _ in range(step):
            next(it)
        try:
            seen.append([str(v) if isinstance(v, list) else v.tolist() for v in f(d, janus.ones(2) * (seed + 1))])
            for _ in range(6):  # it may come to its own keys for ever
                k, v = next(it, (None, None))
                seen.append((k, v if v is None else v.tolist()))
        except RuntimeError as e:
            seen.append(str(e))
        seen.append([(k, v.tolist()) for k, v in d.items()])
    return seen


@pytest.mark.parametrize("place", ["function", "region", "loop"])
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_iterators_go_on_as_they_would(place):
    all_bodies = list(bodies())
    if place == "region":
        all_bodies = [b for b in all_bodies if not leaves_a_gap(b)]
    if place == "loop":  # over the dict itself: what changes it ends it, or goes on
        all_bodies = [b for b in all_bodies if not any("for k" in op for op in b)]
    text = "\n".join(text_of(i, body, place) for i, body in enumerate(all_bodies))
    names = names_of(text, clock=time.perf_counter, janus=janus)
    wrong, graphs = [], 0
    for i, body in enumerate(all_bodies):
        plain = names[f"f{i}"]
        f = janus.function(plain, verify="never", measure=False, regions=place == "region")
        for round in range(3):
            want, got = observed(plain, round), observed(f, round)
            if want != got:
                wrong.append((body, [(w, g) for w, g in zip(want, got) if w != g][0]))
                break
        stats = f.stats()
        graphs += stats["graph"] + stats["region_hits"] > 0
    assert not wrong, f"{len(wrong)} of {len(all_bodies)}: {wrong[:3]}"
    assert graphs > len(all_bodies) * (0.02 if place == "loop" else 0.5), f"{graphs} of {len(all_bodies)} were graphs"
