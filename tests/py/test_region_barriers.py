# SPDX-License-Identifier: Apache-2.0
"""A barrier between every two statements of the differential suite's programs."""

import ast
import importlib.util
import pathlib
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402


LOG = None  # a file, in each test


def tick(n):
    """What no graph can have: it appends to a file."""
    with open(LOG, "a", encoding="utf-8") as stream:
        stream.write(f"{n}\n")


class Barriers(ast.NodeTransformer):
    """Puts a tick between every two statements of the functions that a program decorates."""

    def __init__(self, tree):
        self.n, self.decorated = 0, set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "function":
                self.decorated |= {a.id for a in node.args if isinstance(a, ast.Name)}

    def visit_FunctionDef(self, node):
        names = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
        if "function" in names or (node.name in self.decorated and node.name != "function"):
            node.body = self.between(node.body)
        else:
            self.generic_visit(node)
        return node

    def between(self, block):
        out = []
        for i, s in enumerate(block):
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(s, name, None)
                if isinstance(inner, list) and inner and not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
                    setattr(s, name, self.between(inner))
            if i and not isinstance(s, (ast.Global, ast.Nonlocal)):
                self.n += 1
                call = ast.Call(ast.Name("_tick", ast.Load()), [ast.Constant(self.n)], [])
                out.append(ast.copy_location(ast.Expr(call), s))
            out.append(s)
        return out


def with_barriers(path, folder):
    """The programs of a module with ticks: name -> program."""
    tree = ast.parse(path.read_text())
    tree = ast.fix_missing_locations(Barriers(tree).visit(tree))
    file = folder / ("ticking_" + path.name)
    file.write_text(ast.unparse(tree))
    before = dict(harness.CASES)
    harness.CASES.clear()
    try:
        spec = importlib.util.spec_from_file_location("diff.ticking_" + path.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        module._tick = tick
        spec.loader.exec_module(module)
        return dict(harness.CASES)
    finally:
        harness.CASES.clear()
        harness.CASES.update(before)


MODULES = sorted((HERE / "diff").glob("prog_*.py"))
# Programs that ask for a graph of the whole function.
ASK_FOR_GRAPHS = ("prog_late.one_update", "prog_late.state_and_parameter", "prog_late.update_after_a_recursion",
                  "prog_lengths.hidden_state", "prog_lengths.token_ids", "prog_lengths.total_from_zero",
                  "prog_lengths.bound_in_the_loop", "prog_lengths.lists_in_lists")


# The n-th assertion of each run that fails, in turn: the first, and those of every second program further on.
FAIL = (1, 2, 3, 5)


@pytest.fixture(autouse=True)
def log_of_ticks(tmp_path):
    global LOG
    LOG = tmp_path / "ticks"


def run_ticking(prog, function):
    LOG.write_text("")
    observed = harness.run(prog, function)
    return observed, LOG.read_text().split()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_barriers_between_statements(path, tmp_path):
    """Each program as ever, each tick once and in order; of every second one the regions are verified."""
    for i, (name, (prog, _)) in enumerate(with_barriers(path, tmp_path).items()):
        if name.replace("ticking_", "") in ASK_FOR_GRAPHS:
            continue
        want, ticks = run_ticking(prog, lambda f: f)
        recorder = harness.Recorder(regions=True, measure=False, verify=("never", "rarely")[i % 2])
        got, again = run_ticking(prog, recorder)
        harness.compare(name, want, got, False)
        assert again == ticks, name
        assert not recorder.total("disproved"), name


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_assertions_fail_between_barriers(path, tmp_path, monkeypatch):
    """The same while an assertion of each region's run fails: what was begun is undone, and each tick is there once."""
    for i, (name, (prog, _)) in enumerate(with_barriers(path, tmp_path).items()):
        if name.replace("ticking_", "") in ASK_FOR_GRAPHS:
            continue
        want, ticks = run_ticking(prog, lambda f: f)
        for n in FAIL if i % 2 else FAIL[:1]:
            monkeypatch.setenv("JANUS_FAIL_ASSERT", str(n))
            got, again = run_ticking(prog, harness.Recorder(regions=True, measure=False))
            monkeypatch.delenv("JANUS_FAIL_ASSERT")
            harness.compare(name, want, got, False)
            assert again == ticks, (name, n)
