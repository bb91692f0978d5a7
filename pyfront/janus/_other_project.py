# SPDX-License-Identifier: Apache-2.0
"""Refuses to be imported from a folder shared with PyPI's `janus`, an unrelated project.

Both distributions install a package called `janus`; with both in one folder each would import
files of the other. This one is distributed as `janus-engine`.
"""
import os

# Its metadata folder; ours begins with "janus_engine-".
_ITS_METADATA = "janus-"


def refuse(package_path):
    """Raise ImportError if the other project's distribution lies beside this package."""
    for folder in package_path:
        site = os.path.dirname(os.path.abspath(folder))
        try:
            names = os.listdir(site)
        except OSError:
            continue
        for name in names:
            if name.startswith(_ITS_METADATA) and name.endswith((".dist-info", ".egg-info")):
                raise ImportError(
                    f"two projects own the package 'janus' in {site}: this one (distribution "
                    f"'janus-engine') and PyPI's 'janus' ({name}). Uninstall both, then install "
                    "one: pip uninstall janus janus-engine && pip install janus-engine, or use a "
                    "virtual environment"
                )
