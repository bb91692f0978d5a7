# SPDX-License-Identifier: Apache-2.0
"""Every callable with every kind of argument, decorated and not: a part of what diff/arguments.py makes.

All of it: `cd tests/py && ../../run python3 -m diff.arguments` (50,000 cases, some minutes)."""
import os
import pathlib
import subprocess
import sys

from shares import EACH

HERE = pathlib.Path(__file__).parent
PARTS = 13
# Sizes that no memory has are a MemoryError under sanitizers, too.
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"}


def run(*options):
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "diff.arguments", *options], cwd=HERE, text=True,
                          capture_output=True, timeout=600, env=ENV)


def test_arguments():
    done = run("--part", f"7/{PARTS * EACH}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-7]) > 1000 // EACH, done.stdout


def test_a_difference_is_found():
    """The comparison sees what a decorated function does differently."""
    text = "import janus, sys\nfrom diff import arguments\njanus.function = lambda f: lambda *a: f(*a) if a[1:] != (2,) else None\n" \
           "sys.argv[1:] = ['--only', 'operator.getitem(a1: int)']\nsys.exit(arguments.main())"
    done = subprocess.run([sys.executable, "-c", text], cwd=HERE, text=True, capture_output=True, timeout=60,
                          env=ENV)
    assert done.returncode == 1 and "1 differences" in done.stdout, done.stdout + done.stderr
