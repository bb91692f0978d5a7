# SPDX-License-Identifier: Apache-2.0
"""What a graph prints is compared with what CPython prints: texts, files and their order, with no false alarm."""
import contextlib
import io
import itertools
import sys

import pytest

import janus

pytestmark = pytest.mark.filterwarnings("error::janus.SpeculationWarning")

SAYS = {
    "a number": 'print(n)',
    "items": 'print("n", n, x.shape, True, sep="-")',
    "no end": 'print("part of a line", end="")',
    "nothing": 'print()',
    "a float": 'print(x.sum().item())',
    "a float, rounded": 'print(f"{x.sum().item():9.4f}|")',
    "a float as an int": 'print("%d of %.0f" % (n, x.sum().item()))',
    "a tensor": 'print(x * 1.7)',
    "an argument": 'print(x)',
    "text of it": 'print("{} is {:>6}".format("n", n), flush=True)',
    "to a file": 'print("line", n, file=first)',
    "to another": 'print("line", n, file=second, end="|")',
    "to stderr": 'print("line", n, file=sys.stderr)',
}
PLACES = {
    "{a}; {b}": None,
    "{a}\n    if x.sum() > 0:\n        {b}": None,
    "for i in range(3):\n        {a}\n    {b}": None,
    "if x.sum() > 0:\n        {a}\n    else:\n        {b}": None,
}


def programs():
    for (a, b), place in itertools.product(itertools.permutations(SAYS, 2), PLACES):
        yield place.format(a=SAYS[a], b=SAYS[b])


def run(bodies, decorate, folder):
    """What each program prints to each file, and its graphs' statistics."""
    text = "\n".join(f"def f{i}(x, n):\n    {body}\n    return x + n\n" for i, body in enumerate(bodies))
    file = folder / "programs.py"
    file.write_text(text)
    first, second, out, err = io.StringIO(), io.StringIO(), io.StringIO(), io.StringIO()
    names = {"first": first, "second": second, "sys": sys}
    exec(compile(text, str(file), "exec"), names)
    said, stats = [], []
    for i in range(len(bodies)):
        f = decorate(names[f"f{i}"])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            for k in range(6):
                f(janus.tensor([1.25, 2.5, 3.7]) * (k if k % 2 else -k), k)
        said.append([to.getvalue() for to in (first, second, out, err)])
        stats.append(f.stats() if hasattr(f, "stats") else None)
        for to in (first, second, out, err):
            to.seek(0)
            to.truncate()
    return said, stats


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_all_kinds_of_text_in_all_places(part, numerics, tmp_path):
    bodies = list(programs())[part::8]
    want, _ = run(bodies, lambda f: f, tmp_path)
    got, stats = run(bodies, lambda f: janus.function(f, verify="always", numerics=numerics), tmp_path)
    for body, w, g in zip(bodies, want, got):
        assert w == g, body
    assert not any(s["disproved"] for s in stats)
    verified = sum(s["verified"] > 0 for s in stats)
    assert verified > len(bodies) * 0.6, f"{verified} of {len(bodies)} were graphs"


def test_write_is_what_it_was():
    """Also for whoever kept it before it was listened to."""
    seen = []
    kept = sys.stdout.write
    f = janus.function(lambda x: x + 1, verify="always")
    for _ in range(3):
        f(janus.ones(2))
        seen.append(sys.stdout.write == kept)
    assert seen == [True] * 3 and io.StringIO().write("four") == 4
    assert f.stats()["verified"] == 2
