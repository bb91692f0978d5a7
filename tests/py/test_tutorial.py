# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: its programs, in order, print what it says they print."""
import os
import re
import subprocess
import sys

import pytest
from c_programs import SOURCE, compiled, needs_cjson

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (SOURCE / "docs/tutorial.md").read_text(encoding="utf-8"), flags=re.S | re.M)


def wanted(i):
    """The text right after a block."""
    return BLOCKS[i + 1][1] if i + 1 < len(BLOCKS) and BLOCKS[i + 1][0] == "text" else ""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """(the folder the programs ran in, their outputs): one file, so that each may use what the ones before it made."""
    folder = tmp_path_factory.mktemp("tutorial")
    parts = [text for kind, text in BLOCKS if kind == "python"]
    (folder / "tutorial.py").write_text("\nprint('=====')\n".join(parts), encoding="utf-8")
    done = subprocess.run([sys.executable, "tutorial.py"], cwd=folder, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, JANUS_QUIET="1", JANUS_MEASURE="0"))
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.split("=====\n")


def test_python(ran):
    places = [i for i, (kind, _) in enumerate(BLOCKS) if kind == "python"]
    assert len(places) == len(ran[1]) > 5
    for i, got in zip(places, ran[1]):
        assert got.strip() == wanted(i).strip(), BLOCKS[i][1]


def test_c(ran):
    needs_cjson()
    places = [i for i, (kind, _) in enumerate(BLOCKS) if kind == "c"]
    assert len(places) == 1
    program = compiled(ran[0] / "tutorial", BLOCKS[places[0]][1], "-Wall", "-Werror")
    done = subprocess.run([str(program)], cwd=ran[0], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, wanted(places[0]))
