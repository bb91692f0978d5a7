# SPDX-License-Identifier: Apache-2.0
"""janus: imperative deep-learning programs run as speculative symbolic graphs."""
from . import _other_project

_other_project.refuse(__path__)

from ._C import __version__  # noqa: E402
