# SPDX-License-Identifier: Apache-2.0
"""The steps of documents that show how something is added, done on copies of the sources, which are then compiled.

A block begins with "```c FILE", and "behind TEXT", "before TEXT" or "replaces TEXT" says where in it; without it goes to
the end of the file."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("JANUS_BUILD", "."))
COMPILER = shutil.which("cc") or shutil.which("gcc")
# For make and what it would run: not what `make check` hands down, nor a sanitizer's runtime, under which GNU make itself stops.
BARE = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "LD_PRELOAD")}
TOOL = [f"tools/{n}.c" for n in ("janus-graph", "graph_run", "graph_view", "line_diff")]
RECURSION = SOURCES / "tests" / "golden" / "schedule" / "recursion.jir"


def document_text(document):
    return (SOURCES / "docs" / document).read_text(encoding="utf-8")


def steps(document):
    """(file, how, where, text) of each block."""
    text = document_text(document)
    return re.findall(r"^```c (\S+)(?: (behind|before|replaces) ([^\n]+))?\n(.*?)^```$", text, re.M | re.S)


def done_on(copy, found):
    """Does the steps; the files that they change."""
    for name, how, where, text in found:
        path = copy / name
        was = path.read_text(encoding="utf-8")
        if not how:
            now = was + "\n" + text
        else:
            assert was.count(where) == 1, f"{name}: {where!r} is there {was.count(where)} times"
            now = was.replace(where, {"behind": where + "\n" + text, "before": text + where,
                                      "replaces": text.rstrip("\n")}[how])
        path.write_text(now, encoding="utf-8")
    return sorted({name for name, *_ in found})


@pytest.fixture
def copy(tmp_path):
    if COMPILER is None or not (BUILD / "config.h").exists():
        pytest.skip("no compiler, or no build folder")
    for folder in ("exec", "graph", "ops", "include", "tests/conformance", "tests/py/references", "tests/toy", "tools"):
        shutil.copytree(SOURCES / folder, tmp_path / folder)
    return tmp_path


def flags_of(*variables):
    """What the build folder's Makefile says these are: sanitizers, for one, are in them."""
    shown = subprocess.run(["make", "-s", "--no-print-directory", "--eval", "shown-flags: ; @echo '" + " ".join(f"$({v})" for v in variables) + "'", "shown-flags"],
                           cwd=BUILD, capture_output=True, text=True, check=True, env=BARE)
    return shlex.split(shown.stdout)


def built(copy, names, program):
    """A program of these sources, which stand before the library's of the same name, built as the library was."""
    compiler, flags = flags_of("CC"), flags_of("AM_CFLAGS", "CFLAGS")
    objects = []
    for name in names:
        objects.append(str(copy / name.replace("/", "_")) + ".o")
        subprocess.run([*compiler, "-std=gnu17", *flags, "-c", f"-I{BUILD.resolve()}", f"-I{copy}", f"-I{copy / 'include'}",
                        "-DJANUS_MODULE_DIR=\"/nowhere\"", str(copy / name), "-o", objects[-1]], check=True, env=BARE)
    subprocess.run(["./libtool", "--silent", "--tag=CC", "--mode=link", *compiler, *flags, *flags_of("AM_LDFLAGS", "LDFLAGS"),
                    "-o", str(program), *objects, "libjanus_all.la"], cwd=BUILD, check=True, env=BARE)


def compiles(copy, names, *options):
    for name in names:
        found = subprocess.run([COMPILER, "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only",
                                f"-I{BUILD.resolve()}", f"-I{copy}", f"-I{copy / 'include'}", *options, str(copy / name)],
                               capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr


def test_a_pass(copy):
    """The program with the new pass says after it, and after those behind it, how many levels a window has."""
    found = steps("adding-a-pass.md")
    assert {how for _, how, _, _ in found} == {"", "behind", "before", "replaces"}
    names = done_on(copy, found)
    assert len(names) == 4
    compiles(copy, [n for n in names if n.endswith(".c")], "-DJN_CHECKED")
    program = copy / "janus-graph-counts"
    of_windows = [f.relative_to(copy) for f in sorted((copy / "exec").rglob("*.c")) if "jn_window" in f.read_text(encoding="utf-8")]
    built(copy, [*map(str, of_windows), *TOOL], program)
    done = subprocess.run([program, "schedule", RECURSION], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    windows = re.split(r"^(?=\S.*a window of \d+ tasks?, after )", done.stdout, flags=re.M)[1:]
    after = [re.match(r".*, after ([a-z ]+)", window).group(1) for window in windows]
    assert after and after == ["issuing", "late levels", "counting", "dealing"] * (len(after) // 4)
    for name, window in zip(after, windows):
        levels = len(set(re.findall(r"^ *level (\d+):", window, re.M)))
        assert (f"{levels} levels: " in window) == (name in ("counting", "dealing")), window


def test_an_op(copy):
    """The table of ops, which says what a row lacks, the kernel, the gradient and the sample compile; NumPy's function is found."""
    names = done_on(copy, steps("adding-an-op.md"))
    assert len(names) == 5
    compiles(copy, ["ops/table/table.c", *[n for n in names if n.endswith(".c")]])
    text = (copy / "tests/py/references/elementwise.py").read_text(encoding="utf-8")
    compile(text, "elementwise.py", "exec")


def test_a_device(copy):
    """What the page shows of the toy is its source; with its row janus-graph runs graphs there, and has its answers."""
    shown = re.findall(r"^```c (\S+) has\n(.*?)^```$", document_text("adding-a-device.md"), re.M | re.S)
    assert len(shown) >= 4
    for name, text in shown:
        assert text in (copy / name).read_text(encoding="utf-8"), text
    assert done_on(copy, steps("adding-a-device.md")) == ["exec/device/devices.c"]
    program = copy / "janus-graph-toy"
    built(copy, ["exec/device/devices.c", "tests/toy/toy.c", *TOOL], program)

    def run(*options):
        done = subprocess.run([program, "run", "-x", *options, RECURSION, "main", "7", "f32[1,4](0.5,-1,0.25,2)",
                               "f32[4,4](1,0.5,0,0,0,1,0.5,0,0,0,1,0.5,0.5,0,0,1)"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert run("-d", "toy") == run() and run().startswith("f32[1,4](")


def test_a_missing_step_is_found(copy):
    """Without its decision about batches a row does not compile."""
    found = [(name, how, where, text.replace("RULE(batch, ROWS)", "")) for name, how, where, text in steps("adding-an-op.md")]
    done_on(copy, found)
    with pytest.raises(AssertionError, match="cube"):
        compiles(copy, ["ops/table/table.c"])
