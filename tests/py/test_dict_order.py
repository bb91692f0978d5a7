# SPDX-License-Identifier: Apache-2.0
"""Dicts whose keys are taken out and put in, while the caller iterates over them: generated operations.

A key that was taken out lies behind the others, so an iterator that is under way comes to it, even where the order is what it was.
It leaves a gap, and gaps and the room that there is decide when a dict is made anew, which moves the places of all its keys.
"""
import itertools
import random
import sys
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


ROOM_OPS = {"pop": "d.pop({k!r}, None)", "set": "d[{k!r}] = x", "again": "d[{k!r}] = d.pop({k!r}, x)", "clear": "d.clear()",
            "default": "d.setdefault({k!r}, x)"}
ATTR_OPS = {"del": "del o.{k}", "set": "o.{k} = x", "twice": "o.{k} = getattr(o, {k!r}, x) * 2"}
HEADS = {"function": "", "region": "    at = clock()\n", "loop": "    for j in range(n):\n        x = x * 1\n"}


def rooms(ops):
    single = [text.format(k=k) for text in ops.values() for k in ("abz" if "{" in text else "a")]
    yield from ([one] for one in single)
    yield from map(list, itertools.product(single, repeat=2))
    draw = random.Random(6)
    yield from ([draw.choice(single) for _ in range(draw.randint(3, 5))] for _ in range(60))


def room_left(d):
    """The sizes that the dict has as keys are put in."""
    sizes = []
    for i in range(8):
        d[f"later{i}"] = i
        sizes.append(sys.getsizeof(d))
    return sizes


def dicts(more, _):
    for holes, step in itertools.product(range(5), (0, 2)):
        d = {f"gone{i}": None for i in range(holes)}
        d.update((k, janus.ones(2) * i) for i, k in enumerate(KEYS))
        for i in range(holes):
            del d[f"gone{i}"]
        d.update((f"more{i}", janus.ones(2)) for i in range(more))
        yield d, d, step


def instances(more, cls):
    for d, _, step in dicts(more, None):
        o = cls()
        o.__dict__.update(q=1)
        for i in range(step):
            setattr(o, f"gone{i}", None)
        for k, v in d.items():
            setattr(o, k, v)
        for i in range(step):
            delattr(o, f"gone{i}")
        yield o, vars(o), step


def left(f, objects, n):
    seen = []
    for o, d, step in objects:
        it = iter(d)
        for _ in range(step):
            next(it)
        try:
            f(o, janus.ones(2), n)
        except AttributeError as e:
            seen.append(str(e))
        try:
            seen.append(list(it))
        except RuntimeError as e:
            seen.append(str(e))
        seen.append((list(d), room_left(d)))
    return seen


@pytest.mark.parametrize("place", HEADS)
@pytest.mark.parametrize("kind", ["dict", "instance"])
@pytest.mark.filterwarnings("error::janus.SpeculationWarning")
def test_room_is_what_it_would_be(kind, place):
    ops, objects, name = (ROOM_OPS, dicts, "d") if kind == "dict" else (ATTR_OPS, instances, "o")
    all_bodies = list(rooms(ops))
    text = "\n".join(f"def f{i}({name}, x, n):\n{HEADS[place]}    if True:\n        " + "\n        ".join(body) + "\n    return x * 2, x + 1\n"
                     for i, body in enumerate(all_bodies))
    if place == "loop":
        text = text.replace("    if True:\n", "")
    names = names_of(text, clock=time.perf_counter, janus=janus)
    wrong, graphs = [], 0
    for i, body in enumerate(all_bodies):
        plain = names[f"f{i}"]
        f = janus.function(plain, verify="never", measure=False, regions=place == "region")
        one, other = (type("Kept", (), {}) for _ in range(2))  # of each their own: instances share what is known of names
        for more in (0, 0, 1, 2, 2, 3):
            want, got = left(plain, objects(more, one), 2 + more % 2), left(f, objects(more, other), 2 + more % 2)
            if want != got:
                wrong.append((body, [(w, g) for w, g in zip(want, got) if w != g][0]))
                break
        stats = f.stats()
        graphs += stats["graph"] + stats["region_hits"] > 0
    assert not wrong, f"{len(wrong)} of {len(all_bodies)}: {wrong[:3]}"
    assert graphs > len(all_bodies) * 0.1, f"{graphs} of {len(all_bodies)} were graphs"
