# SPDX-License-Identifier: Apache-2.0
"""Values of every kind in every place, used in every way and changed between calls (generate_values.py), and programs
whose classes, functions and modules change (generate_changes.py): a share of all.  values_main.py tries all of them."""
import pathlib
import random
import subprocess
import sys
import textwrap

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_changes, generate_values  # noqa: E402

PARTS, FUNCTIONS, SHARE = 4, 120, 0.12


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("part", range(PARTS))
def test_never_the_old_result(part, tmp_path):
    rng = random.Random(part)
    pairs = rng.sample(generate_values.PAIRS, FUNCTIONS)
    functions = generate_values.load(tmp_path, pairs)
    wrong, graphs, total = [], 0, 0
    for kind, place, use, other in generate_values.cases(pairs, rng, SHARE):
        difference, ran = generate_values.run(functions, kind, place, use, other)
        total += 1
        graphs += ran > 0
        if difference:
            wrong.append(f"{kind} in {place}, {use} (then {other}): {difference}")
    assert not wrong, "\n".join(wrong)
    assert graphs > total / 5


def test_changes_of_the_program(tmp_path):
    module = generate_changes.load(tmp_path)
    wrong, graphs, total = [], 0, 0
    for scene, what in generate_changes.cases(random.Random(0), 0.2):
        difference, ran = generate_changes.run(module, scene, what, generate_values.difference)
        total += 1
        graphs += ran > 0
        if difference:
            wrong.append(f"{scene}, {what}: {difference}")
    assert not wrong, "\n".join(wrong)
    assert graphs > total / 2


class Counted:
    n = 0
    scale = 2

    def times(self, x):
        return x * self.scale


def test_an_unrelated_attribute_of_the_class_changes_at_every_call():
    o = Counted()

    @janus.function(measure=False)
    def f(x):
        return o.times(x) + isinstance(o, Counted)

    for i in range(25):
        Counted.n = i
        assert f(janus.tensor([1.0])).tolist() == [3.0]
    assert f.stats()["conversions"] == 1
    Counted.scale = 5
    assert f(janus.tensor([1.0])).tolist() == [6.0]
    Counted.scale = 2


WATCHED = {
    "settrace": "sys.settrace(watch)",
    "setprofile": "sys.setprofile(watch)",
    "monitoring": """
        m = sys.monitoring
        m.use_tool_id(3, "t")
        m.register_callback(3, m.events.PY_START, lambda code, at: seen.append(code.co_name))
        m.set_events(3, m.events.PY_START)""",
}


@pytest.mark.parametrize("how", WATCHED)
def test_who_watches_sees_every_call(how, tmp_path):
    if how == "monitoring" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring is new in CPython 3.12")
    program = tmp_path / "watched.py"
    program.write_text(textwrap.dedent("""
        import sys
        import janus
        seen = []

        def watch(frame, event, arg):
            seen.append(frame.f_code.co_name)
            return None

        def inner(x):
            return x + 1

        @janus.function(measure=False)
        def outer(x):
            return inner(x) * 2

        for _ in range(4):
            outer(janus.tensor([1.0]))
        graphs = outer.stats()["graph"]
        assert graphs == 3, graphs
        """) + textwrap.dedent(WATCHED[how]) + textwrap.dedent("""
        for _ in range(3):
            outer(janus.tensor([1.0]))
        """) + ("sys.monitoring.set_events(3, 0); sys.monitoring.free_tool_id(3)" if how == "monitoring" else
                f"sys.{how}(None)") + textwrap.dedent("""
        assert seen.count("inner") >= 3 and seen.count("outer") >= 3, seen
        assert outer.stats()["graph"] == graphs
        for _ in range(2):
            outer(janus.tensor([1.0]))
        assert outer.stats()["graph"] == graphs + 2
        """))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


class Private:
    __limit = 3

    @janus.function(measure=False)
    def __init__(self, n, __k=1):
        self.__n, self.public = n, self.__limit
        del self.public

        def __scaled(__x):
            return [__x * __y for __y in (1, self.__limit)]

        self.__all, self.__k = __scaled(n), __k
        try:
            self.__n += 1
        except ValueError as __e:
            self.__n = __e

    def read(self):
        return self.__n, self.__all, self.__k


class _Leading(Private):
    @janus.function(measure=False)
    def set(self, n):
        self.__n = n
        return self.__n


class ___:
    @janus.function(measure=False)
    def set(self, n):
        self.__n = n


def test_private_names():
    for i in range(6):
        p = Private(i)
        assert vars(p) == {"_Private__n": i + 1, "_Private__all": [i, 3 * i], "_Private__k": 1} and p.read() == (i + 1, [i, 3 * i], 1)
        q = _Leading(i)
        assert q.set(i) == i and vars(q)["_Leading__n"] == i and vars(q)["_Private__n"] == i + 1
        r = ___()
        r.set(i)
        assert vars(r) == {"__n": i}
