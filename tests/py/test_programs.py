# SPDX-License-Identifier: Apache-2.0
"""tests/programs, a third of them each way: decorated on the model, on the step or on the epoch, they do the same."""
import importlib.util
import os
import pathlib

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

ROOT = pathlib.Path(os.environ.get("srcdir", pathlib.Path(__file__).parents[2])).resolve()
FOLDER = (ROOT if (ROOT / "tests" / "programs").exists() else pathlib.Path(__file__).parents[2]) / "tests" / "programs"
spec = importlib.util.spec_from_file_location("programs_run", FOLDER / "run.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)

NAMES, KNOWN = programs.names(), programs.known()


@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    place = programs.PLACES[NAMES.index(name) % 3]
    rows = programs.run(name, epochs=4, places=[place])
    assert rows["raised"] is None
    assert rows[place]["calls"] > 1
    differs = rows[place]["differs"]
    if (name, place) in KNOWN:
        assert differs, f"{name} {place} is listed in known.txt, and no longer differs"
    else:
        assert differs is None


def test_known_programs_exist():
    assert all(name in NAMES and place in programs.PLACES for name, place in KNOWN)


PROGRAM = """
import random
import janus as torch

calls = 0


def model(x):
    return x * 2.0


def step(x):
    {here}
    return model(x).sum().item()


def epoch(xs):
    return [step(x) for x in xs]


def main(epochs):
    return [epoch([torch.ones(2), torch.ones(3)]) for _ in range(epochs)], calls


MODEL, STEP, EPOCH = "model", "step", "epoch"
"""


@pytest.mark.parametrize("here, what", [
    ("pass", None),
    ("x = x + hasattr(step, 'stats')", "value at"),
    ("print('a' if hasattr(step, 'stats') else 'b')", "line 1 printed"),
    ("if hasattr(step, 'stats'): raise ValueError('decorated')", "raised None, decorated ValueError"),
    ("hasattr(step, 'stats') and random.random()", "generator"),
    ("if hasattr(step, 'stats'): import os; os._exit(3)", "the process ended with status 3"),
])
def test_what_differs_is_seen(tmp_path, here, what):
    """The harness itself: programs that look whether they are decorated."""
    (tmp_path / "sample.py").write_text(PROGRAM.format(here=here))
    row = programs.run("sample", epochs=2, places=["STEP"], folder=tmp_path)["STEP"]
    assert row["differs"] is None if what is None else what in row["differs"]


def test_digits_that_are_printed():
    close = programs.lines_close
    assert close("loss 0.1234 x", "loss 0.1235 x", False) and not close("loss 0.1234 x", "loss 0.1235 x", True)
    assert not close("loss 0.12", "loss 0.22", False) and not close("a 0.1", "b 0.1", False)
    assert not close("3 of 4", "2 of 4", False)


MAP = """
import janus as torch


def step(w):
    w.data.mul_(1.0 - w.data).mul_(%s)
    %s
    return w.tolist()


def epoch(w):
    return [step(w) for _ in range(20)]


def main(epochs):
    w = torch.nn.Parameter(torch.tensor([0.1 + 0.07 * i for i in range(9)]))
    torch.optim.SGD([w], lr=0.1)
    return [epoch(w) for _ in range(epochs)]


MODEL, STEP, EPOCH = "step", "step", "epoch"
"""


@pytest.mark.parametrize("factor, moved", [(2.0, False), (3.99, True)])
def test_programs_that_a_rounding_moves(tmp_path, factor, moved):
    """The logistic map settles or is chaotic; what is wrong when decorated differs in both."""
    path = tmp_path / "sample.py"
    path.write_text(MAP % (factor, "pass"))
    assert programs.moved_by_rounding(path, programs.observe(path, None, 4, {}), 4) is moved
    assert programs.run("sample", epochs=4, places=["STEP"], folder=tmp_path)["STEP"]["differs"] is None
    path.write_text(MAP % (factor, "if hasattr(step, 'stats'): w.data.mul_(1.0 + 0.01 * (w.sum().item() > 0.4))"))
    assert "value at" in programs.run("sample", epochs=4, places=["STEP"], folder=tmp_path)["STEP"]["differs"]
