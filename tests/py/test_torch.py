# SPDX-License-Identifier: Apache-2.0
"""janus beside what PyTorch gave for the same expressions (tests/torch), where there need be no PyTorch."""
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))

import expected  # noqa: E402
import run  # noqa: E402

from shares import EACH, share  # noqa: E402

WANT = expected.read()
KNOWN = expected.deliberate()
PARTS = 16


@pytest.mark.parametrize("part", range(PARTS))
def test_as_pytorch(part):
    """No result, gradient, dtype, shape or refusal differs unless it is listed."""
    library, differences, compared = run.library("janus"), [], 0
    for case in share(expected.cases()[part::PARTS]):
        want = WANT.get(expected.key(case.name))
        assert want is not None, f"{case.name} is not in {expected.FILE.name}: compare.py --snapshot"
        got, message = run.run(library, case)
        why = run.differs(want, got, case, 4.0)
        compared += 1
        if why and run.silent(why) and case.name not in KNOWN:
            differences.append(f"{case.name}: {why} {message[:100]}")
    assert compared > 500 // EACH and not differences, "\n".join(differences[:50])
