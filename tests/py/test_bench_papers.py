# SPDX-License-Identifier: Apache-2.0
"""bench/papers on two small programs without PyTorch: every mode has a time, peers that are not asked have no column."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).resolve().parents[2]))


def bench(path, *arguments, **variables):
    command = [sys.executable, str(ROOT / "bench" / "papers.py"), "--small", "--rounds", "1", "--seconds", "0.01",
               "--json", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **variables})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_table(tmp_path):
    path = tmp_path / "table.json"
    modes = ["janus imperative", "janus graph", "janus graph, not specialised", "janus graph, not unrolled",
             "janus graph, one thread"]
    text, rows = bench(path, "--programs", "lm_1b", "--modes", ";".join(modes))
    assert set(rows["lm_1b"]["seconds"]) == set(modes) and not rows["lm_1b"]["reasons"]
    assert rows["lm_1b"]["op_share"]["janus graph"] == 1
    assert "PyTorch" not in text and text.count("\n") == 3
    text, rows = bench(path, "--programs", "an", "--modes", "janus imperative;PyTorch eager",
                       JANUS_PEERS=str(tmp_path / "none"))
    assert list(rows) == ["lm_1b", "an"] and "| lm_1b | JANUS |" in text  # the other row is kept
    assert "PyTorch eager" in rows["an"]["seconds"] or "setup.sh" in text  # this interpreter may have it
