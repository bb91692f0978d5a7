# SPDX-License-Identifier: Apache-2.0
"""janus.data under the name that PyTorch's programs have for it."""
from . import data
