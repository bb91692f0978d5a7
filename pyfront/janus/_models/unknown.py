# SPDX-License-Identifier: Apache-2.0
"""What the models have in common."""


def _unknown(what):
    """Refuses: a path that raises is never taken by a graph."""
    raise NotImplementedError(what)


# An argument that was not given.
_none = object()
