# SPDX-License-Identifier: Apache-2.0
"""C programs of tests, linked with the library as it was built."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("JANUS_BUILD", "."))


def needs_cjson():
    """Skips where the library was built without what reads exported graphs in C."""
    if "define HAVE_CJSON 1" not in (BUILD / "config.h").read_text():
        pytest.skip("built without libcjson")


def compiled(program, text, *flags):
    """Writes the C text beside the path `program`, compiles it to there and returns it; skips where that cannot be."""
    compiler = os.environ.get("CC", "cc").split()
    library = next((d.resolve() for d in (BUILD / ".libs", BUILD) if (d / "libjanus.so").exists()), None)
    if shutil.which(compiler[0]) is None or library is None:
        pytest.skip("no C compiler, or no shared library")
    source = program.with_suffix(".c")
    source.write_text(text)
    subprocess.run([*compiler, "-std=gnu11", *flags, f"-I{SOURCE}/include", str(source), "-o", str(program),
                    f"-L{library}", "-ljanus", f"-Wl,-rpath,{library}"], check=True)
    return program
