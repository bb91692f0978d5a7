# SPDX-License-Identifier: Apache-2.0
"""Of what one test generates and goes through itself, the share that is asked for (conftest.py has it of tests)."""
import os

EACH = int(os.environ.get("JANUS_LIGHT_TESTS") or 1)

# Whether less is asked for than everything.
LIGHT = EACH > 1


def share(items):
    """All of them, or every Nth with JANUS_LIGHT_TESTS=N."""
    return list(items)[::EACH]
