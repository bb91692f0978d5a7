# SPDX-License-Identifier: Apache-2.0
"""Special methods: every slot of the converter's table, on every kind of operand, decorated against undecorated."""

import importlib.util
import pathlib
import re
import sys

import janus
import pytest

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate_slots, harness  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parents[3] / "pyfront/convert/model/slots.def"
CASES = list(generate_slots.cases(TABLE.read_text())) if TABLE.exists() else []
GROUPS = sorted({name.split()[0] for name, _ in CASES})


ADDRESS = re.compile(r"0x[0-9a-f]+")


def nameless(v):
    """Without the addresses in the texts of objects."""
    if isinstance(v, tuple):
        return tuple(nameless(x) for x in v)
    return ADDRESS.sub("0x", v) if isinstance(v, str) else v


def observe(make, function):
    """What the calls of a program show: results, identity, the objects afterwards, exceptions."""
    log = harness.Log()
    for call in make(function):
        try:
            log(call())
        except Exception as e:
            log.entries.append(("raised", type(e).__name__, str(e)))
    return nameless(tuple(log.entries))


def test_there_is_a_table():
    assert len(CASES) > 1000, "no cases were generated"


@pytest.mark.parametrize("group", GROUPS)
def test_slot(group, tmp_path):
    bad, graphs, cases = [], 0, [c for c in CASES if c[0].split()[0] == group]
    for i, (name, text) in enumerate(cases):
        path = tmp_path / f"slot_{i}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(f"{group}_{i}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        recorder = harness.Recorder(verify="never")
        want, got = observe(module.make, lambda f: f), observe(module.make, recorder)
        graphs += recorder.total("graph") > 0
        if not harness.close(want, got, True):
            k = next(k for k, (w, g) in enumerate(zip(want, got)) if not harness.close(w, g, True))
            bad.append(f"{name}, call {k}\n  undecorated {want[k]}\n  decorated   {got[k]}")
    assert not bad, f"{len(bad)} differ\n" + "\n".join(bad[:20])
    if group in generate_slots.SIGNS:  # else most of it is no more than refused
        assert graphs > len(cases) / 2, f"{graphs} of {len(cases)} ran as a graph"
