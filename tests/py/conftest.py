# SPDX-License-Identifier: Apache-2.0
"""What a test counts must not depend on how fast the machine is."""

import os

os.environ.setdefault("JANUS_MEASURE", "0")
