# SPDX-License-Identifier: Apache-2.0
"""bench/dense, its small rows without PyTorch: all are graphs, and give what the eager program gives."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).resolve().parents[2]))


def test_quick_rows(tmp_path):
    path = tmp_path / "table.json"
    command = [sys.executable, str(ROOT / "bench" / "dense.py"), "--quick", "--rounds", "1", "--seconds", "0.002",
               "--modes", "janus eager;janus graph", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr  # it compares, and looks whether graphs ran
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len(rows) >= 12
    merged = subprocess.run([*command, "--merge", "softmax"], capture_output=True, text=True, timeout=300)
    assert merged.returncode == 0, merged.stdout + merged.stderr
    again = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert list(again) == list(rows) and {name for name in rows if again[name] != rows[name]} == {"softmax 64x64"}
    for name, row in rows.items():
        assert not row["errors"], name
        assert min(row["us"]["janus eager"], row["us"]["janus graph"]) > 0, name
        assert row["limit"] > 0, name
