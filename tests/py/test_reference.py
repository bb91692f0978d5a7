# SPDX-License-Identifier: Apache-2.0
"""The API reference: every public name has a docstring and an example, and every example prints what it says."""
import doctest
import importlib.util
import os

import pytest

import janus

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
spec = importlib.util.spec_from_file_location("janus_reference", os.path.join(ROOT, "tools", "reference.py"))
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

EXAMPLES = reference.examples()
NAMES = reference.public_names()


def test_every_public_name_has_a_docstring():
    assert [n for n, v in NAMES.items() if not reference.docstring(v, n)] == []


def test_every_public_name_has_an_example():
    assert [n for n in NAMES if not reference.has_example(n, EXAMPLES)] == []


def test_examples_are_of_names_that_exist():
    for name in EXAMPLES:
        value = janus
        for part in name.split(".")[1:]:
            value = getattr(value, part)


def test_every_parameter_has_a_meaning():
    """In the table of the names of parameters, or in the docstring itself."""
    table = reference.parameters()
    assert sorted({f"{p} of {n}" for n, v in NAMES.items() for p in reference.unexplained(n, v, table)}) == []


@pytest.mark.parametrize("file", sorted({file for _, file in reference.example_files()}))
def test_examples(file):
    if "from_numpy" in "".join(names for names, at in reference.example_files() if at == file):
        pytest.importorskip("numpy")
    failed = []
    for names, at in reference.example_files():
        if at == file:
            failed += run(names, EXAMPLES[names.split(", ")[0]])
    assert not failed, "\n".join(failed)


def run(names, text):
    janus.manual_seed(0)
    parser, said = doctest.DocTestParser(), []
    globs = {"janus": janus, "nn": janus.nn, "F": janus.nn.functional, "__name__": "example"}
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(parser.get_doctest(text, globs, names, names, 0), out=said.append)
    return said
