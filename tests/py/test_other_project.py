# SPDX-License-Identifier: Apache-2.0
"""The package refuses to share its folder with PyPI's `janus`."""
import pytest

from janus import _other_project


def _site(tmp_path, *metadata):
    package = tmp_path / "janus"
    package.mkdir()
    for name in metadata:
        (tmp_path / name).mkdir()
    return [str(package)]


@pytest.mark.parametrize("name", ["janus-1.0.0.dist-info", "janus-2.0.0.dist-info", "janus-0.3.egg-info"])
def test_refuses_beside_the_other_project(tmp_path, name):
    with pytest.raises(ImportError, match="janus-engine") as caught:
        _other_project.refuse(_site(tmp_path, "janus_engine-0.1.0.dist-info", name))
    assert name in str(caught.value)


def test_accepts_its_own_metadata(tmp_path):
    _other_project.refuse(_site(tmp_path, "janus_engine-0.1.0.dist-info", "janus_tools-1.0.dist-info"))
