# SPDX-License-Identifier: Apache-2.0
"""janus.dump where there is nothing to write, or nobody to draw it: what it says, and that no file is made."""
import janus
import pytest


@pytest.mark.parametrize("suffix", ["jir", "json", "dot", "svg", "html"])
def test_a_function_without_graphs(tmp_path, suffix):
    @janus.function
    def f(x):
        return eval("x")

    for why in ("it was not called", "eval"):
        with pytest.raises(ValueError, match=f"f has no graph yet: .*{why}"):
            janus.dump(f, tmp_path / f"none.{suffix}")
        for _ in range(3):
            f(janus.ones(2))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dot, error, match", [(None, FileNotFoundError, "dot of Graphviz, which cannot be run .*graphviz"),
                                               ("echo wrong >&2; exit 3", RuntimeError, "dot of Graphviz failed: wrong"),
                                               ("cat", None, None)])
def test_without_graphviz(tmp_path, monkeypatch, dot, error, match):
    (tmp_path / "bin").mkdir()
    if dot:
        (tmp_path / "bin" / "dot").write_text(f"#!/bin/sh\n{dot}\n")
        (tmp_path / "bin" / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{':/usr/bin:/bin' if dot else ''}")
    text = 'module {\n  sub @main(%"größe": f32[2]) -> f32[2] {\n    %1 = tanh %"größe" : f32[2]\n    return %1\n  }\n}\n'
    if error:
        with pytest.raises(error, match=match):
            janus.dump(text, tmp_path / "t.svg")
    else:
        janus.dump(text, tmp_path / "t.svg")
    assert (tmp_path / "t.svg").exists() == (error is None)
    if not error:
        assert "größe" in (tmp_path / "t.svg").read_text(encoding="utf-8")


def test_what_cannot_be_dumped(tmp_path):
    with pytest.raises(ValueError, match="no format goes with the suffix"):
        janus.dump("module {\n}\n", tmp_path / "none.pdf")
    with pytest.raises(TypeError, match="a janus.function or a graph's text is needed, got int"):
        janus.dump(3, tmp_path / "none.jir")
