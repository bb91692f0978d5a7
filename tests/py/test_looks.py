# SPDX-License-Identifier: Apache-2.0
"""How an argument looks is asked once, by the guards (pyfront/guard/look.h): what binds it and makes a run's calls
again goes by that.  Whatever comes in place of the usual tensor, results and histories are those of the program."""
import itertools
import random

import janus
import pytest
from janus import nn


def values(*shape, start=0):
    n = 1
    for d in shape:
        n *= d
    return ((janus.arange(n) + start) % 7 * 0.25 - 0.5).reshape(*shape)


class Mine(janus.Tensor):
    pass


def usual(k):
    return values(3, 4, start=k)


def tracked(k):
    return usual(k).requires_grad_()


def with_a_history(k):
    return tracked(k) * 2


def hooked(k):
    t = tracked(k)
    t.register_hook(lambda g: g * 3)
    return t


def part_of_a_row(k):
    return values(12, start=k).view(3, 4)


def view_that_was_tracked_later(k):
    root = values(6, 4, start=k)
    view = root[:3]
    with janus.enable_grad():
        root.mul_(values(1).requires_grad_())
    return view


def turned(k):
    return values(4, 3, start=k).t()


def with_gaps(k):
    return values(3, 8, start=k)[:, ::2]


def expanded(k):
    return values(1, 4, start=k).expand(3, 4)


def longer(k):
    return values(5, 4, start=k)


def one_row(k):
    return values(1, 4, start=k)


def one_row_of_odd_steps(k):
    return values(4, 3, start=k)[:, :1].t()


def deeper(k):
    return values(2, 3, 4, start=k)


def row(k):
    return values(4, start=k)


def of_four_dims(k):
    return values(1, 1, 3, 4, start=k)


def large(k):
    return values(1 << 13, 4, start=k)


def empty(k):
    return values(0, 4)


def double(k):
    return usual(k).double()


def whole(k):
    return (usual(k) * 4).long()


def of_a_class(k):
    return Mine(usual(k))


def parameter(k):
    return nn.Parameter(usual(k), requires_grad=k % 2 == 0)


def number(k):
    return k + 0.5


LOOKS = [usual, tracked, with_a_history, hooked, part_of_a_row, view_that_was_tracked_later, turned, with_gaps, expanded, longer, one_row,
         one_row_of_odd_steps, deeper, row, of_four_dims, large, empty, double, whole, of_a_class, parameter, number]


def of_arguments(x, y):
    return x * 2 + y, (x - y).sum()


def of_items(xs, ys):
    return xs[0] * 2 + ys[-1], (xs[-1] - ys[0]).sum()


NET = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
for p in NET.parameters():
    p.requires_grad_(False)


def of_a_model(x, y):
    return NET(x * 1.5) + y, x.sum() - y


def of_types(x, y):
    return x * 2 + y, isinstance(x, nn.Parameter), type(y) is janus.Tensor


def of_gradients(x, y):
    (x * y).sum().backward()
    return x.grad


PROGRAMS = [of_arguments, of_items, of_a_model, of_types]


def told(v, given):
    if isinstance(v, (tuple, list)):
        return [told(x, given) for x in v]
    if not isinstance(v, janus.Tensor):
        return v
    grads = []
    if v.requires_grad:
        leaves = [x for x in given if isinstance(x, janus.Tensor) and x.requires_grad]
        for x in leaves:
            x.retain_grad()
        grads = [g is not None and g.tolist() for g in janus.autograd.grad(v.sum(), leaves, allow_unused=True, retain_graph=True)]
    return [type(v).__name__, str(v.dtype), list(v.shape), list(v.stride()), v.requires_grad, v.tolist(), grads]


def alike(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 1e-4 * max(1.0, abs(b)) if isinstance(a, float) and isinstance(b, float) else a == b


def outcome(f, make, other, k, lists):
    x, y = make(k), other(k + 1)
    try:
        return told(f([x, x], [y, y]) if lists else f(x, y), (x, y))
    except (RuntimeError, TypeError, ValueError, AttributeError) as e:
        return type(e).__name__


@pytest.mark.filterwarnings("ignore::janus.PerformanceWarning")
@pytest.mark.parametrize("program, grad", [(p, g) for p in PROGRAMS for g in (True, False)] + [(of_gradients, True)])
def test_whatever_comes_in_its_place(program, grad):
    """Each look, in the place of each argument, between calls that look as usual and make the calls of earlier runs."""
    f = janus.function(program, verify="never", measure=False)
    rng, lists, before = random.Random(f"{program.__name__} {grad}"), program is of_items, janus._C._replays()
    most = tracked if program is of_gradients else usual
    pairs = [p for look in LOOKS for p in ((look, most), (most, look), (look, look))]
    rng.shuffle(pairs)
    with janus.set_grad_enabled(grad):
        for k in range(12):
            assert alike(outcome(f, most, most, k, lists), outcome(program, most, most, k, lists)), k
        assert (program is of_gradients) or janus._C._replays() > before
        for k, (make, other) in enumerate(itertools.chain(pairs, pairs)):
            for makes in ((make, other), (most, most)):
                got, expected = outcome(f, *makes, k, lists), outcome(program, *makes, k, lists)
                assert alike(got, expected), (k, *[m.__name__ for m in makes])
    assert f.stats()["graph"] > 2 * len(pairs)  # the usual ones, among others


@pytest.mark.parametrize("rows", [1, 2, 8])
@pytest.mark.parametrize("fast", [False, True])
def test_weights_that_are_arguments_may_be_others_in_the_same_place(rows, fast):
    """What lists of calls keep of weights is of the tensor, and not of whatever lies where it lay."""
    nets = nn.ModuleList([nn.Linear(16, 16) for _ in range(2)])

    def program(x, w):
        y = nn.functional.linear(x, w).relu()
        return nets[1](nets[0](y)) if fast else y * 2

    f = janus.function(program, verify="never", measure=False)
    before, x = janus._C._replays(), values(rows, 64)
    with janus.no_grad():
        for k in range(120):
            if k % 40 == 0:
                w = values(16, 64, start=k).clone()  # stays for a while
            if k % 40 >= 20:
                new, w = values(16, 64, start=k), None
                w = new.clone()  # where the last one was, often
            assert alike(told(f(x, w), ()), told(program(x, w), ())), k
    assert janus._C._replays() > before + 60


def test_runs_of_other_options_come_in_between():
    """A run that is left with its list for the next one is as new: of another numerics, seed or number of threads."""
    def program(x, y):
        return (x @ y.t()).softmax(-1), x.sum()

    functions = [janus.function(program, verify="never", measure=False, numerics=n) for n in ("fast", "exact")]
    threads, rng = janus.get_num_threads(), random.Random(1)
    try:
        with janus.no_grad():
            for k in range(100):
                if k > 20 and k % 9 == 0:
                    janus.set_num_threads(rng.choice([1, 2]))
                x, y = rng.choice([usual, usual, usual, longer])(k), usual(2 * k)
                for f in functions:
                    assert alike(told(f(x, y), ()), told(program(x, y), ())), k
    finally:
        janus.set_num_threads(threads)
