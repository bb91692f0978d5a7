# SPDX-License-Identifier: Apache-2.0
"""Random recursive programs (generate.py), decorated against undecorated.

`python3 test_generated.py FIRST LAST` tries other seeds than the suite does.
"""
import importlib.util
import pathlib
import random
import sys

import pytest

import janus

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from diff import generate  # noqa: E402

SEEDS, CALLS = range(120), 5
# In "exact", an arm adds up its own uses of a value before the others': not the order of the tape.
RELATIVE = {"fast": 1e-4, "exact": 1e-14}


class Node:
    def __init__(self, rng, depth):
        self.word, self.share = rng.randrange(12), rng.random()
        self.rounds, self.tag = rng.randrange(3), rng.choice("abc")
        self.label, self.h = janus.tensor([rng.randrange(generate.SIZE)]), None
        self.left = self.right = None
        if depth > 0 and rng.random() < 0.8:
            self.left, self.right = Node(rng, depth - 1), Node(rng, depth - 1)
        self.children = [self.left, self.right] if self.left else []

    def all(self):
        return [self] + [node for child in self.children for node in child.all()]


def load(seed, folder):
    program = generate.Program(seed)
    path = pathlib.Path(folder) / f"generated_{seed}.py"
    path.write_text(program.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return program, module


def plain(value):
    """A tensor as what can be compared."""
    return (value.requires_grad, value.detach().tolist()) if isinstance(value, janus.Tensor) else value


def gradient(parameter):
    """In a recursion, what an arm does not use gets zeros, imperatively nothing: both are zeros here."""
    return plain(janus.zeros(parameter.shape) if parameter.grad is None else parameter.grad)


def run(program, module, seed, decorate):
    """What one can see of some calls, each with new trees."""
    rng = random.Random(seed)
    janus.manual_seed(seed)
    model = module.Model()
    step = decorate(module.make_step(model, janus.optim.SGD(model.parameters(), lr=0.05)))
    seen = []
    for _ in range(CALLS):
        roots, log = [Node(rng, rng.randrange(4)) for _ in range(rng.randrange(1, 4))], []
        try:
            result = step(roots, log)
            if not program.trains:
                model.zero_grad()
                result.backward()
        except RuntimeError as error:
            seen.append((type(error), str(error)))
            break
        seen.append((plain(result.detach()), result.requires_grad, [plain(value) for value in log], model.count,
                     [plain(node.h) for root in roots for node in root.all()],
                     [(name, gradient(p), plain(p)) for name, p in model.named_parameters()], plain(janus.rand(2))))
    return seen, step


def check(seed, folder):
    """How many calls ran as graphs."""
    program, module = load(seed, folder)
    want, _ = run(program, module, seed, lambda step: step)
    for numerics, relative in RELATIVE.items():
        got, step = run(program, module, seed, lambda f: janus.function(f, measure=False, numerics=numerics))
        assert flat(got) == pytest.approx(flat(want), rel=relative, abs=relative), f"{numerics}\n{program.text}"
    return step.stats()["graph"]


def flat(seen):
    """Numbers of all that was seen, by where they are."""
    out = {}

    def add(place, value):
        if isinstance(value, (list, tuple)):
            for number, part in enumerate(value):
                add(f"{place}.{number}", part)
        else:
            out[place] = value
    add("call", seen)
    return {place: value for place, value in out.items() if isinstance(value, float)} | {
        f"{place} is {value}": 0.0 for place, value in out.items() if not isinstance(value, float)}


def test_generated_programs(tmp_path):
    graphs = sum(check(seed, tmp_path) > 0 for seed in SEEDS)
    assert graphs > len(SEEDS) / 2


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            check(number, "/tmp")
        except AssertionError as difference:
            print(f"seed {number}\n{str(difference)[:2000]}")
