# SPDX-License-Identifier: Apache-2.0
"""bench/ladder on two small programs: every contender has run every epoch, with the same random numbers."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).resolve().parents[2]))
CONTENDERS = ("imperative", "imperative again", "always", "coexecution")


def test_rows(tmp_path):
    path = tmp_path / "table.json"
    names = ["tree_visitor", "kmeans_em"]
    done = subprocess.run([sys.executable, str(ROOT / "bench" / "ladder.py"), *names, "--seconds", "0.02", "--rounds", "2",
                           "--contenders", ",".join(CONTENDERS), "--json", str(path)],
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert list(rows) == names
    for row in rows.values():
        assert set(row) == set(CONTENDERS)
        assert len({own["epochs"] for own in row.values()}) == 1 and row["imperative"]["times"] == 1
        assert all(own["ms"] > 0 and own["times"] > 0 and own["whole"] > 0 for own in row.values())
        assert row["always"]["coexecuted"] == row["always"]["epochs"] and not row["imperative"]["coexecuted"]
    assert all(word in done.stdout for word in ("median", "least", "Terra"))


def test_a_program_that_fails(tmp_path):
    """What one contender cannot run is said, and ends nothing."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import ladder
    finally:
        sys.path.pop(0)
    found = ladder.race(str(tmp_path), "tree_visitor", False, ["imperative", "always"], 3, 2, 60)
    assert [len(own["seconds"]) for own in found.values()] == [3, 3]
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "broken.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    was, ladder.PROGRAMS = ladder.PROGRAMS, tmp_path / "programs"
    try:
        found = ladder.race(str(tmp_path), "broken", False, ["imperative"], 3, 1, 60)
    finally:
        ladder.PROGRAMS = was
    assert "ended" in found["imperative"]["error"]
