# SPDX-License-Identifier: Apache-2.0
"""`squeeze_()` and `unsqueeze_()` of tensors with a history: gradients are those of the function that the program is, by
finite differences, whatever was taken of the tensor before and is written afterwards; decorated programs do the same."""
import itertools

import pytest

import janus
from texts import names_of

STEPS = {
    "squeeze": "y.squeeze_()",
    "squeeze0": "y.squeeze_(0)",
    "unsqueeze": "y.unsqueeze_(0)",
    "unsqueeze_last": "y.unsqueeze_(-1)",
    "silently": """
with janus.no_grad():
    y.unsqueeze_(1)""",
    "twice": "y.unsqueeze_(1).squeeze_(1)",
    "write": "y.mul_(3)",
    "element": "y.view(-1)[1] *= w[0]",
    "part": "v = y.view(-1)[1:]",
    "part_reshaped": "v = y.view(-1)[1:]; v.unsqueeze_(0)",
    "part_written": "v = y.view(-1)[:2]; v.unsqueeze_(0); v.mul_(w[1])",
    "part_later": "v.mul_(2)",
    "kept": "z = z + (y * y).sum()",
}
STARTS = ["y = x * w", "y = (x * x).sin()", "y = (x * 2)[:, 1:]", "y = x.exp()"]
RESHAPES = [s for s in STEPS if "queeze_(" in STEPS[s]]


def programs():
    for start, steps in itertools.product(STARTS, itertools.permutations(STEPS, 3)):
        if any(s in RESHAPES for s in steps):
            yield start, steps


def function_of(start, steps):
    lines = ["def f(x, w):", "    z, v = x.sum() * 0, x * 1", f"    {start}"]
    for step in steps:
        lines += ["    " + line for line in STEPS[step].strip().split("\n")]
    lines.append("    return z + (y.reshape(-1) * y.reshape(-1) * w[0]).sum() + v.cos().sum() + v.ndim + 10 * y.ndim")
    return names_of("\n".join(lines) + "\n", janus=janus)["f"]


def arguments():
    return (janus.tensor([[0.25, -0.5, 0.75]], dtype=janus.float64, requires_grad=True),
            janus.tensor([0.5, 1.5, -0.75], dtype=janus.float64, requires_grad=True))


def told(f):
    """The result and the gradients, or what is raised."""
    x, w = arguments()
    try:
        y = f(x, w)
        y.backward()
    except Exception as e:
        return type(e), str(e)
    return y.item(), [None if t.grad is None else t.grad.reshape(-1).tolist() for t in (x, w)]


def by_differences(f):
    found = []
    for which in range(2):
        found.append([])
        for i in range(3):
            ends = []
            for h in 1e-5, -1e-5:
                args = arguments()
                with janus.no_grad():
                    args[which].view(-1)[i] += h
                    ends.append(f(*args).item())
            found[which].append((ends[0] - ends[1]) / 2e-5)
    return found


def test_gradients():
    right = 0
    for start, steps in programs():
        f = function_of(start, steps)
        result = told(f)
        if isinstance(result[0], type):
            assert "modified by an inplace operation" in result[1] or "contiguous" in result[1], (start, steps, result)
            continue
        right += 1
        for found, expected in zip(result[1], by_differences(f)):
            assert found is None and max(map(abs, expected)) < 1e-9 or found == pytest.approx(expected, abs=1e-6), (start, steps)
    assert right > 1000


@pytest.mark.parametrize("ladder", [("graph", "imperative"), ("graph", "coexecution", "imperative")], ids=lambda l: l[-2])
@pytest.mark.parametrize("start", STARTS)
def test_decorated(start, ladder):
    for i, (of, steps) in enumerate(programs()):
        if of != start or i % 61:
            continue
        f = function_of(start, steps)
        decorated = janus.function(f, measure=False, ladder=ladder)
        expected = told(f)
        for _ in range(3):
            assert told(decorated) == expected, (start, steps)


@pytest.mark.parametrize("decorate", [lambda f: f, lambda f: janus.function(f, measure=False)])
@pytest.mark.parametrize("name, dims", [("squeeze", (0,)), ("squeeze", ()), ("unsqueeze", (0,)), ("unsqueeze", (-1,))])
def test_leaves(name, dims, decorate):
    """One that requires grad is not written, nor is a view of one; without a history it is the view."""
    @decorate
    def f(x):
        y = x * 2
        version = y._version
        getattr(y, name + "_")(*dims)
        assert y._version == version + 1
        return y

    @decorate
    def g(x, view):
        getattr(x.view(1, 3, 1) if view else x, name + "_")(*dims)

    shape = getattr(janus.ones(1, 3), name)(*dims).shape
    for _ in range(3):
        assert f(janus.ones(1, 3)).shape == f(janus.ones(1, 3, requires_grad=True)).shape == shape
        for view in False, True:
            leaf = janus.ones(1, 3, requires_grad=True)
            with pytest.raises(RuntimeError, match="a view of a leaf Variable" if view else "^a leaf Variable"):
                g(leaf, view)
            assert leaf.shape == (1, 3)
        with janus.no_grad():
            g(leaf, False)
        assert leaf.shape == shape and leaf.is_leaf and leaf.requires_grad


def test_kept_for_the_gradient():
    """It counts as a write: PyTorch says so of `exp`, which keeps its result."""
    y = janus.ones(1, 3, requires_grad=True).exp()
    y.squeeze_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
