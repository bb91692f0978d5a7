# SPDX-License-Identifier: Apache-2.0
"""Of what one test generates and goes through itself, the share that is asked for (conftest.py has it of tests)."""
import os

EACH = {"1": 5, "2": 20}.get(os.environ.get("JANUS_LIGHT_TESTS"), 1)


def share(items):
    """All of them, every fifth with JANUS_LIGHT_TESTS=1, every twentieth with 2."""
    return list(items)[::EACH]
