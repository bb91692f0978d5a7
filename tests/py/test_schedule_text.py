# SPDX-License-Identifier: Apache-2.0
"""What JANUS_LOG=schedule says of each window after each pass, against the goldens in tests/golden/schedule.

JANUS_UPDATE_GOLDEN=1 (make update-golden) writes them anew; look at the difference before committing it.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "schedule"
spec = importlib.util.spec_from_file_location("schedule_programs", FOLDER / "programs.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)


def schedule(name):
    done = subprocess.run([sys.executable, FOLDER / "programs.py", name], capture_output=True, text=True, check=False,
                          env={**os.environ, "JANUS_LOG": "schedule", "JANUS_FLUSH_EVERY": ""})
    assert done.returncode == 0, done.stderr
    return done.stderr.partition("call 2\n")[2]


def tasks(window):
    """The numbers of a window's text, one for each place where a task stands."""
    found = []
    for ids in re.findall(r"(?: x \d+:|a worker has tasks) (.*)", window):
        for part in ids.split(", "):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return found


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_golden(name):
    path = FOLDER / (name + ".txt")
    got = schedule(name)
    if os.environ.get("JANUS_UPDATE_GOLDEN"):
        path.write_text(got, encoding="utf-8")
    assert path.exists(), f"{path} is missing: make update-golden"
    assert got == path.read_text(encoding="utf-8"), f"{name}: the schedule is another one (make update-golden)"
    for window in got.split("janus schedule: ")[1:]:
        n = int(re.search(r"a window of (\d+) tasks", window)[1])
        assert sorted(tasks(window)) == list(range(n)), window


def test_of_a_file():
    """`janus-graph schedule` prints what JANUS_LOG=schedule says of a run with the arguments given and others made up."""
    tool, file = pathlib.Path(os.environ["JANUS_BUILD"]) / "tools" / "janus-graph", FOLDER / "recursion.jir"
    quiet = {**os.environ, "JANUS_LOG": "", "JANUS_FLUSH_EVERY": "", "JANUS_NUM_THREADS": "2"}

    def said(*words, env=quiet):
        done = subprocess.run([tool, *words], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        return done
    got = said("schedule", file, "main", "6")
    path = file.with_suffix(".txt")
    if os.environ.get("JANUS_UPDATE_GOLDEN"):
        path.write_text(got.stdout, encoding="utf-8")
    assert got.stdout == path.read_text(encoding="utf-8") and got.stderr == ""
    ones = "(" + ",".join("1" * 16) + ")"
    logged = said("run", file, "main", "6", f"f32[3,4]({','.join('1' * 12)})", "f32[4,4]" + ones, env={**quiet, "JANUS_LOG": "schedule"})
    assert logged.stderr.replace("janus schedule: ", "") == got.stdout
    assert said("schedule", file, "f", "1").stdout.count("a window of 1 tasks") == 1
    assert said("schedule", file).stdout.startswith("main, a window of 5 tasks, after issuing")
    none = subprocess.run([tool, "schedule", file, "main", "x"], capture_output=True, text=True, check=False, env=quiet)
    assert none.returncode == 2 and "parameter n: expected int" in none.stderr


def test_every_golden_has_its_program():
    assert {p.stem for p in FOLDER.glob("*.txt")} == {*programs.PROGRAMS, "recursion"}


def test_passes_in_text():
    """Each pass does what its text says: fewer groups after late levels, each tree in one lane."""
    before, after = [len(re.findall("level", w)) for w in schedule("late").split("janus schedule: ")[1:3]]
    assert after < before
    dealt = schedule("lanes").split("after dealing\n")[1]
    lanes = {lane: {t // 64 for t in tasks(text)} for lane, text in
             re.findall(r"  phase 1, lane (\d):\n((?:    .*\n)*)", dealt)}
    assert len(lanes) == 2 and not lanes["0"] & lanes["1"] and lanes["0"] | lanes["1"] == {0, 1, 2, 3}


def test_each_phase_is_dealt():
    """A lane that has a head start in one phase has its fair share of the next one, in which all lanes begin at once."""
    dealt = schedule("meeting").split("after dealing\n")[1]
    leaves = [int(n) for n in re.findall(r"segment \d+ \(tanh_grad, acc.add\) x (\d+):", dealt.partition("phase 3")[2])]
    assert sum(leaves) == 272 and len(leaves) == 2, leaves
    assert abs(leaves[0] - leaves[1]) <= 16, "the smallest tree has 16 leaves"
