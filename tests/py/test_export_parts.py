# SPDX-License-Identifier: Apache-2.0
"""Graphs that look into their arguments outside of loops and recursions, and that write there: a loaded graph does what the
program does, to what it is given, or says what of it is not as it was."""
import copy
import json
import os
import subprocess

import pytest
from c_programs import compiled, needs_cjson

import janus


class Node:
    def __init__(self, value, left=None, right=None, state=None):
        self.value, self.left, self.right, self.state = value, left, right, state


def walk(n, x):
    if n.left is None:
        return x * n.value
    return walk(n.left, x) + walk(n.right, x)


def field(n, x):
    return x * n.value


def tensor_field(n, x):
    return x * n.state + n.left.state


def nested(n, x):
    return x * n.left.value + n.right.value if n.right is not None else x


def items(xs, x):
    return xs[0] * xs[2] + x


def all_items(xs, x):
    for i, y in enumerate(xs):
        x = x + y * i
    return x


def keys(d, x):
    return x * d["a"] + d["b"][0]


def then_walk(n, x):
    return walk(n.left, x) * n.value + walk(n.right, x)


def memory(t, x):
    t.add_(x)
    return t * 2


def memory_of_a_part(n, x):
    n.state.mul_(2).add_(x)
    return n.state.sum() + x


def attribute(n, x):
    n.state = x * n.value
    return x


def counts(n, x):
    n.value = n.value + 1
    return x * n.value


def replaces_items(xs, x):
    xs[0] = xs[0] + x
    return xs[0] * 2


def replaces_keys(d, x):
    d["a"] = d["a"] + 1
    d["b"] = [x, d["b"][0]]
    return x


def lengthens(xs, x):
    xs.append(x * 2)
    return xs[0] + x


def sometimes(n, x):
    if x.sum() > 0:
        n.state.add_(x)
    return n.state * 2


def tree():
    return Node(2.0, Node(3.0, state=janus.ones(2)), Node(4.0, Node(0.5), Node(1.5)), janus.tensor([1.0, 5.0]))


MAKE = {"n": tree, "xs": lambda: [janus.ones(2), janus.zeros(2), janus.tensor([3.0, 4.0])],
        "d": lambda: {"a": 2, "b": [janus.ones(2)]}, "t": lambda: janus.ones(2)}
PROGRAMS = [field, tensor_field, nested, items, all_items, keys, then_walk, memory, memory_of_a_part, attribute, counts, replaces_items,
            replaces_keys, sometimes, lengthens]
WRITE = PROGRAMS[7:]


def first(f):
    return MAKE[f.__code__.co_varnames[0]]()


def plain(o):
    """All that can be seen of an object."""
    if isinstance(o, janus.Tensor):
        return o.tolist()
    if isinstance(o, Node):
        return plain(vars(o))
    if isinstance(o, dict):
        return {k: plain(v) for k, v in o.items()}
    return [plain(v) for v in o] if isinstance(o, (list, tuple)) else o


def exported(f, path):
    janus.export(f, path, first(f), janus.ones(2), examples=[(first(f), -janus.ones(2))] if f is sometimes else ())
    return janus.load_graph(path, types=[Node])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_does_what_the_program_does(tmp_path, f):
    g = exported(f, tmp_path / "f")
    for k in range(3):
        a, b = first(f), first(f)
        for x in (janus.tensor([1.0, float(k)]), janus.tensor([-1.0, 0.5])):
            if f in (counts, replaces_keys) and plain(a) != plain(first(f)):
                continue  # a number that the graph has as a constant was changed
            assert plain(g(a, x)) == plain(f(b, x)) and plain(a) == plain(b)
    assert not g.state


CHANGES = {
    "value": lambda a: setattr(a, "value", 9.0), "type of a value": lambda a: setattr(a, "value", 2),
    "class": lambda a: setattr(a, "left", type("Other", (Node,), {})(1.0)), "none": lambda a: setattr(a, "right", None),
    "tensor": lambda a: setattr(a, "state", None), "shape": lambda a: setattr(a, "state", janus.ones(3)),
    "length": lambda a: a.append(janus.ones(2)), "item": lambda a: a.__setitem__(0, 3), "twice": lambda a: a.__setitem__(0, a[2]),
    "key": lambda a: a.__setitem__("a", 7), "key order": lambda a: a.update(a=a.pop("a")), "more keys": lambda a: a.update(c=1),
    "list of a key": lambda a: a["b"].append(1), "gone": lambda a: vars(a).pop("left"), "no key": lambda a: a.pop("b")}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("change", CHANGES)
def test_other_objects_are_taken_or_refused(tmp_path, f, change):
    g, x = exported(f, tmp_path / "f"), janus.tensor([1.0, 2.0])
    a, b = first(f), first(f)
    try:
        CHANGES[change](a)
        CHANGES[change](b)
    except (AttributeError, TypeError, LookupError):
        return
    before = plain(a)
    try:
        got = g(a, x)
    except (ValueError, RuntimeError) as error:
        assert str(error) and plain(a) == before  # all or nothing
        return
    assert plain(got) == plain(f(b, x)) and plain(a) == plain(b)


def test_what_is_refused_is_named(tmp_path):
    x = janus.ones(2)
    for f, change, why in ((field, "value", r"^n.value: the graph was exported for 2.0, got 9.0"), (nested, "none", r"^n.right"),
                           (items, "item", r"^xs\[0\]: .* a Tensor, got a int"), (all_items, "length", "3 items, got 4"),
                           (keys, "no key", r"^d\['b'\]"), (then_walk, "gone", r"^n.left")):
        g, a = exported(f, tmp_path / f.__name__), first(f)
        CHANGES[change](a)
        with pytest.raises(ValueError, match=why):
            g(a, x)
    g = exported(memory, tmp_path / "memory")
    with pytest.raises(ValueError, match="exported for different ones"):
        g(x, x)
    with pytest.raises(ValueError, match="^t: the graph writes to this memory, which another argument"):
        g(x, x.view(2))
    with pytest.raises(ValueError, match="must not require grad"):
        g(janus.ones(2, requires_grad=True), x)


def test_effects_that_cannot_be_taken_along(tmp_path):
    seen, log = [janus.ones(2)] * 20, {}

    def deletes(n, x):
        del n.left
        return x

    def appends(n, x):
        seen.append(x)
        return x

    def pops(n, x):
        return seen.pop() + x

    def clears(n, x):
        log.clear()
        return x + 1

    def odd_key(n, x):
        log[3] = x
        return x

    n = tree()
    before = plain(copy.copy(n))
    for f, why in ((deletes, "cannot be called twice .* no attribute 'left'"), (appends, "reads seen"), (pops, "reads seen"),
                   (clears, "all keys anew of log"), (odd_key, "a key that is no string to log")):
        with pytest.raises(ValueError, match=why):
            janus.export(f, tmp_path / "none", n, janus.ones(2))
        assert plain(n) == before and len(seen) == 20 and not log
    assert not (tmp_path / "none").exists()


def test_c_programs_say_that_they_cannot_check_it(tmp_path):
    needs_cjson()
    program = compiled(tmp_path / "load", """
        #include <janus.h>
        #include <stdio.h>
        int main(int n, char **path) {
            janus_model *m;
            if (janus_module_load(path[1], NULL, &m) != JANUS_OK)
                puts(janus_last_error()->message);
            return n - 2;
        }""")
    for f in (field, memory):
        exported(f, tmp_path / f.__name__)
        assert json.loads((tmp_path / f.__name__ / "signature.json").read_text())["format"] == 3
        r = subprocess.run([program, str(tmp_path / f.__name__)], capture_output=True, text=True, env=os.environ, timeout=60)
        assert "only janus.load_graph, in Python" in r.stdout, r.stdout + r.stderr
