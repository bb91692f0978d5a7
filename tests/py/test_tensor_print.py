# SPDX-License-Identifier: Apache-2.0
"""repr(tensor): the layout that PyTorch users know."""
import janus

CASES = [
    (lambda: janus.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: janus.tensor(1.5), "tensor(1.5000)"),
    (lambda: janus.tensor([1, -20, 3]), "tensor([  1, -20,   3])"),
    (lambda: janus.tensor([True, False]), "tensor([ True, False])"),
    (lambda: janus.tensor([0.5, -1.25]), "tensor([ 0.5000, -1.2500])"),
    (lambda: janus.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
    (lambda: janus.tensor([1e10, 1.0]), "tensor([1.0000e+10, 1.0000e+00])"),
    (lambda: janus.tensor([float("nan"), 1.0, float("inf")]), "tensor([nan, 1., inf])"),
    (lambda: janus.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
    (lambda: janus.zeros(2, 1, 2), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])"),
    (lambda: janus.tensor([]), "tensor([])"),
    (lambda: janus.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: janus.tensor([1.0], dtype=janus.float64), "tensor([1.], dtype=janus.float64)"),
    (lambda: janus.tensor([1], dtype=janus.int32), "tensor([1], dtype=janus.int32)"),
    (lambda: janus.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: janus.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
    (lambda: janus.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (lambda: janus.nn.Parameter(janus.ones(1)), "Parameter containing:\ntensor([1.], requires_grad=True)"),
]


def test_texts():
    for make, text in CASES:
        assert repr(make()) == text


def test_long_vectors_are_wrapped():
    lines = repr(janus.arange(100)).split("\n")
    assert all(len(line) <= 80 for line in lines) and len(lines) > 1
    assert lines[1].startswith(" " * 8) and len(lines[0]) - len("tensor(") == len(lines[1]) - 7


def test_large_matrices_are_summarised():
    text = repr(janus.zeros(100, 100))
    assert text.count("...") == 7 and text.count("\n") == 6


def test_formats_of_numbers():
    assert f"{janus.tensor(1.23456):.2f}" == "1.23" and str(janus.tensor(3)) == "tensor(3)"
    assert repr(janus.Size([1, 2])) == "janus.Size([1, 2])" and repr(janus.float32) == "janus.float32"
    assert repr(janus.device("cpu")) == "device(type='cpu')"
