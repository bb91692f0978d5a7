# SPDX-License-Identifier: Apache-2.0
"""Paths that a graph does not have and that are seldom taken: the graph stays."""

import pathlib
import random
import sys

import pytest
import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from diff import harness  # noqa: E402
from region_programs import clock, t  # noqa: E402
from texts import names_of  # noqa: E402


def test_a_path_that_is_seldom_taken_keeps_its_graph():
    """What runs every tenth time and is CPython's costs no conversion; what runs every third time is a statement of CPython's."""
    def main(function, log):
        @function
        def step(x, i, every):
            x = (x * 1.01 + i).tanh() + x
            if i % every == 0:
                clock()
            return x * 2

        for every in (10, 3):
            x = t(3)
            for i in range(80):
                x = step(x, i, every).tanh()
                log(x)
            log(x)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(regions=True, measure=False, verify="never")
    harness.compare("seldom", want, harness.run(main, recorder), False)
    assert recorder.total("conversions") < 12, janus.explain(recorder.made[0])
    assert recorder.total("ops_graph") > 4 * recorder.total("ops_eager"), janus.explain(recorder.made[0])


class Labelled:
    def __init__(self, label, kids=()):
        self.label, self.kids = label, kids


class Encoded:
    def __init__(self, h, loss):
        self.h, self.loss = h, loss


def tree_of(rng, depth, share):
    kids = [tree_of(rng, depth - 1, share) for _ in range(rng.randint(1, 3))] if depth else []
    return Labelled(rng.random() if rng.random() < share else None, kids)


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_what_fails_again_in_graphs_made_since_makes_no_more(seed, measure):
    """Of a tree in which nothing is labelled the loss has no gradient, and graphs assume that it has; the next one would, too."""
    def main(function, log):
        w, rng = janus.full((3,), 0.5).requires_grad_(), random.Random(seed)

        def encode(node):
            h, loss = w * 1.5, janus.zeros(())
            for kid in node.kids:
                a = encode(kid)
                h, loss = (h + a.h).tanh(), loss + a.loss
            if node.label is not None:
                loss = loss + (h - node.label).pow(2).sum()
            return Encoded(h, loss)

        encode = function(encode)
        trees = [tree_of(rng, rng.randint(0, 3), 0.5) for _ in range(8)]
        for i in range(160):
            out = encode(trees[i % 8])
            (out.h.sum() + out.loss).backward()
        log(out.h, out.loss, w.grad)

    want = harness.run(main, lambda f: f)
    recorder = harness.Recorder(measure=measure, verify="never", numerics="exact")
    harness.compare("labels", want, harness.run(main, recorder), True)
    if measure:
        assert recorder.total("conversions") <= 14, janus.explain(recorder.made[0])


STACK = """
class Empty(Exception):
    pass
def take(stack):
    try:
        return stack.pop()
    except IndexError:
        raise Empty(f"{{len(stack)}} left") from None
@function
def step(x, program, seen):
    stack = []
    for k in program:
        if k == 0:
            stack.append(x * (len(stack) + 1))
        elif k == 1:
            stack.append(take(stack) + take(stack))
        else:
            stack.append(take(stack).tanh())
    {check}
    seen.append(len(program))
    return take(stack)
"""
CHECKS = {"of a list": "take(stack)", "of data": "if x.sum() > 2:\n        raise ValueError(f'{len(program)}: {x.sum():.3f}')",
          "asserted": "assert x.sum() < 2, (len(stack), 'left')", "of an op": "x[len(stack) - 2]", "where it began": "pass"}


def outcomes_of_stack(text, function, raising):
    names = names_of(text, janus=janus, function=function)
    rng, seen, out = random.Random(raising), [], []
    for i in range(60):
        bad = rng.random() < raising / 10
        program = [0, 0, 0] + [rng.choice([0, 2, 2]) for _ in range(rng.randint(0, 5))] + ([1] * 12 if bad and i % 2 else [1])
        x = t(3) * (0.5 + i / 100) + (2 if bad else 0)
        try:
            out.append(names["step"](x, program, seen).tolist())
        except Exception as e:
            out.append((type(e).__name__, str(e), e.__traceback__.tb_next is not None, e.__cause__))
    return out, seen


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("raising", [0, 2, 4, 7])
def test_what_raises_in_both_keeps_its_graph(check, raising, measure):
    """A graph leaves it to CPython to raise, and is as good as before for calls that do not: however many of them do."""
    text = STACK.format(check=CHECKS[check])
    want = outcomes_of_stack(text, lambda f: f, raising)
    recorder = harness.Recorder(measure=measure, verify="never", numerics="exact")
    assert outcomes_of_stack(text, recorder, raising) == want
    f = recorder.made[0]
    if not measure:  # else some calls are CPython's, to compare
        ended = sum(isinstance(o, list) for o in want[0])
        assert f.stats()["conversions"] <= 6, janus.explain(f)
        assert f.stats()["graph"] > ended / 2, janus.explain(f)
