# SPDX-License-Identifier: Apache-2.0
"""The package and its extension come from one build."""
import re

import janus


def test_version_has_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", janus.__version__)
    assert janus._C.__version__ == janus.__version__
