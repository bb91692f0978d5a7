# SPDX-License-Identifier: Apache-2.0
"""The list of cases, what PyTorch gives for each as a file, and which differences are meant."""
import json
import lzma
import zlib
from pathlib import Path

import cases_composed
import cases_margins
import cases_index
import cases_math
import cases_names
import cases_nn
import cases_object
import cases_shape
import cases_volumes
from inputs import Cases

HERE = Path(__file__).resolve().parent
FILE, DELIBERATE = HERE / "expected.xz", HERE / "deliberate.txt"


def cases():
    """Every case, in a fixed order."""
    collected = Cases()
    for part in (cases_math, cases_shape, cases_index, cases_nn, cases_object, cases_names, cases_composed, cases_volumes,
                 cases_margins):
        part.collect(collected)
    return collected.all


def deliberate():
    """Names of the cases that differ on purpose."""
    lines = DELIBERATE.read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def key(name):
    """A short name of a case."""
    return format(zlib.crc32(name.encode()), "x")


def _short(value):
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return [_short(v) for v in value] if isinstance(value, (list, tuple)) else value


def write(outcomes):
    """Keeps the outcomes, numbers with 6 digits; the size of the file."""
    shared, rows = {}, {}
    for name, outcome in outcomes.items():
        text = json.dumps(_short(outcome), separators=(",", ":"), default=str)
        rows[key(name)] = shared.setdefault(text, len(shared))
    text = "\n".join(shared) + "\n\n" + json.dumps(rows, separators=(",", ":"))
    FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return FILE.stat().st_size


def read():
    """Outcomes by key."""
    outcomes, _, rows = lzma.decompress(FILE.read_bytes()).decode().rpartition("\n\n")
    outcomes = outcomes.split("\n")
    return {k: json.loads(outcomes[i]) for k, i in json.loads(rows).items()}
