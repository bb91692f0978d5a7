# SPDX-License-Identifier: Apache-2.0
"""The type stubs: fresh, equal to the package as it runs (stubtest), and of use to programs (mypy).

What needs mypy is skipped where it is not installed; `scripts/check.sh --only docs` installs it.
"""
import importlib.util
import os
import subprocess
import sys

import pytest

import janus

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
STUBS = os.path.join(ROOT, "tools", "stubs")
PACKAGE = os.path.dirname(os.path.dirname(janus.__file__))

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


def writer():
    spec = importlib.util.spec_from_file_location("stubs_write", os.path.join(STUBS, "write.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_are_fresh():
    assert writer().stale() == [], "run `./run python3 tools/stubs/write.py`"


def test_package_says_it_has_types():
    assert os.path.exists(os.path.join(os.path.dirname(janus.__file__), "py.typed"))


@pytest.fixture
def configuration(tmp_path):
    """Private modules have no stubs: what mypy would say of them is nobody's business."""
    lines = ["[mypy]", "disable_error_code = var-annotated,import-not-found,import-untyped",
             "[mypy-janus._C]", "ignore_missing_imports = True", "[mypy-treedata.*]", "ignore_errors = True"]
    root = os.path.dirname(janus.__file__)
    for here, folders, names in os.walk(root):
        for name in sorted(folders + names):
            if name.startswith("_") and not name.startswith("__") and (name in folders or name.endswith(".py")):
                parts = os.path.relpath(os.path.join(here, name.removesuffix(".py")), os.path.dirname(root)).split(os.sep)
                lines += [f"[mypy-{'.'.join(parts)}{'.*' * (name in folders)}]", "ignore_errors = True"]
    path = tmp_path / "mypy.ini"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(tmp_path, *command):
    environment = dict(os.environ, MYPYPATH=PACKAGE, MYPY_CACHE_DIR=str(tmp_path / "cache"))
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


@needs_mypy
def test_stubtest(tmp_path, configuration):
    code, said = run(tmp_path, "-m", "mypy.stubtest", "janus", "--concise", "--mypy-config-file", configuration,
                     "--allowlist", os.path.join(STUBS, "allowed.txt"), "--ignore-unused-allowlist")
    assert code == 0, said


@needs_mypy
def test_a_typed_program(tmp_path, configuration):
    """types_program.py states types, and errors as ignored lines: an ignore without an error is one, too."""
    program = os.path.join(ROOT, "tests", "py", "types_program.py")
    code, said = run(tmp_path, "-m", "mypy", "--strict", "--config-file", configuration, program)
    assert code == 0, said


@needs_mypy
def test_samples(tmp_path, configuration):
    """Programs without types, as most are: what is inferred of janus's names must not be wrong."""
    samples = os.path.join(ROOT, "samples")
    # mypy is right about these: a layer called `double` hides Module's, a list holds cells of two kinds.
    other = ("inception.py", "nasnet.py")
    files = [os.path.join(here, f) for here in (samples, os.path.join(samples, "zoo"))
             for f in sorted(os.listdir(here)) if f.endswith(".py") and f not in other]
    code, said = run(tmp_path, "-m", "mypy", "--check-untyped-defs", "--config-file", configuration, *files)
    assert code == 0, said
