# SPDX-License-Identifier: Apache-2.0
"""Containers that change while iterators over them are in use: every kind of iterator, of change and of use."""
import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import janus  # noqa: E402
from diff import generated_run  # noqa: E402
from shares import EACH, share  # noqa: E402

ITERATORS = {
    "list": "l", "iter": "iter(l)", "enumerate": "enumerate(l)", "zip": "zip(l, l)", "zip of two": "zip(l, m)",
    "reversed": "reversed(l)", "map": "map(lambda x: (x, k), l)", "map of two": "map(lambda x, y: x + y, l, m)",
    "generator": "((x, k) for x in l)", "filtered": "(x for x in l if x != 2)", "slice": "l[:]", "list of": "list(l)",
    "enumerate reversed": "enumerate(reversed(l))", "zip of iterators": "zip(iter(l), iter(m))",
    "pairs": "zip(i, i)", "keys": "d.keys()", "dict": "d", "items": "d.items()", "values": "d.values()",
    "reversed keys": "reversed(d)", "alias": "a",
}
CHANGES = {
    "append": "l.append(6)", "pop": "l.pop()", "insert": "l.insert(0, 7)", "item": "l[0] = 8", "last item": "l[-1] = 9",
    "clear": "l.clear()", "slice": "l[1:] = [5, 5]", "sort": "l.sort(reverse=True)", "reverse": "l.reverse()",
    "new key": "d['n'] = 1", "value": "d['q'] = 'other'", "del": "del d['q']", "dict clear": "d.clear()", "k": "k = 5",
    "both": "l.append(l.pop(0))", "next": "next(i)", "none": "pass", "rebound": "l = [0, 0]",
    "by key": "d['p'] = d.pop('p')",
}
USES = {
    "after": "    z = {it}\n    {change}\n    return list(z), len(l)",
    "half": "    z = iter({it})\n    x = next(z)\n    {change}\n    return x, list(z)",
    "inside": "    out = []\n    for z in {it}:\n        out.append(z)\n        if len(out) < 3:\n            {change}\n    return out",
    "inside and break": "    out = []\n    for z in {it}:\n        {change}\n        out.append(z)\n        if z == 2:\n            break\n    return out",
    "by hand": "    z = iter({it})\n    for x in z:\n        {change}\n        break\n    return x, sum(1 for y in z)",
    "any": "    z = iter({it})\n    x = any(y == 3 for y in z)\n    {change}\n    return x, list(z)",
    "comprehension": "    z = {it}\n    return [(x, len(l)) for x in z if not l.append(1) or len(l) > 6][:4]",
}
NEVER = "comprehension", "by hand", "any"  # that are graphs: an iterator that is left half used is not followed
HEAD = "def f(l, m, d):\n    a, k, i = l, 1, iter(l)\n"


def program(iterator, change, use):
    return HEAD + USES[use].replace("{it}", ITERATORS[iterator]).replace("{change}", CHANGES[change]) + "\n"


class Endless(Exception):
    pass


def ends(text):
    """Whether CPython itself comes to an end."""
    steps = 0

    def count(frame, event, arg):
        nonlocal steps
        steps += 1
        if steps > 500:
            raise Endless
        return count

    scope, was = {}, sys.gettrace()
    exec(compile(text, "<ends>", "exec"), scope)
    try:
        sys.settrace(count)
        scope["f"]([1, 2, 3], [5, 6, 7], {"p": 1, "q": 2, "r": 3})
    except Endless:
        return False
    except Exception:  # the program's own
        return True
    finally:
        sys.settrace(was)
    return True


def observe(f):
    parts = []
    for n in (3, 3, 4, 3, 2):
        seen, lists = generated_run.Seen(), ([1, 2, 3, 4][:n], [5, 6, 7], {"p": 1, "q": 2, "r": 3})
        try:
            seen(f(*lists))
        except Exception as error:
            seen(type(error).__name__, str(error))
        seen(*lists)
        parts.append(seen.entries)
    return parts


@pytest.mark.parametrize("use", list(USES))
def test_use(use, tmp_path):
    texts = [text for pair in share(itertools.product(ITERATORS, CHANGES)) if ends(text := program(*pair, use))]
    module = generated_run.load("\n\n".join(t.replace("def f(", f"def f{i}(") for i, t in enumerate(texts)), tmp_path, "iterators")
    graphs, wrong = 0, []
    for i, text in enumerate(texts):
        f = getattr(module, f"f{i}")
        step = janus.function(f, measure=False, verify="never")
        want, got = observe(f), observe(step)
        if want != got:
            wrong.append(f"{text}\nundecorated {want}\ndecorated   {got}")
        graphs += step.stats()["graph"] > 0
    assert not wrong, f"{len(wrong)} of {len(texts)}: " + "\n".join(wrong[:5])
    assert graphs > (20 // EACH if use not in NEVER else -1), (graphs, len(texts))
