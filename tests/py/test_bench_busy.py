# SPDX-License-Identifier: Apache-2.0
"""bench/busy: rows of quiet and busy windows, and no process left behind."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).resolve().parents[2]))


def test_rows(tmp_path):
    path = tmp_path / "table.json"
    done = subprocess.run([sys.executable, str(ROOT / "bench" / "busy.py"), "--hidden", "8", "--batch", "5", "--rounds", "1",
                           "--seconds", "0.05", "--model", "treernn", "--rows", "MLP train", "--quick", "--busy", "1",
                           "--json", str(path)],
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # beside other tests a quiet window is not quiet
    table = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["model"], row["mode"]) for row in table["rows"]] == [("treernn", "train"), ("treernn", "infer"), ("MLP train", "step")]
    for row in table["rows"]:
        assert row["quiet_us"] > 0 and row["busy_us"] > 0 and row["times"] == pytest.approx(row["busy_us"] / row["quiet_us"])
