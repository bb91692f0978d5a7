# SPDX-License-Identifier: Apache-2.0
"""Arguments by the names that PyTorch documents: each function is called with its first k arguments by position and the
others by name, for every k, and gives the same, decorated and not."""
import pytest

import janus
import janus.nn.functional as F

X = janus.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
Y = janus.tensor([[2.0, 2.0, -3.0], [1.5, 0.0, 1.0]])
S = janus.tensor([[2.0, 1.0], [0.0, 3.0]])
B = janus.tensor([[[2.0, 1.0], [0.0, 3.0]]])
I = janus.tensor([[0, 1], [2, 0]])
MASK = X > 0

# (function or method of X, its arguments in PyTorch's order with PyTorch's names, how many must be given by name)
ROWS = [
    (janus.linspace, dict(start=0, end=2, steps=5), 0),
    (janus.arange, dict(start=1, end=9, step=2), 0),
    (janus.arange, dict(start=1, end=5), 0),
    (janus.eye, dict(n=3, m=2), 0),
    (janus.full, dict(size=(2, 3), fill_value=1.5), 0),
    (janus.full_like, dict(input=X, fill_value=2), 0),
    (janus.zeros_like, dict(input=X), 0),
    (janus.ones_like, dict(input=X), 0),
    (janus.zeros, dict(size=(2, 3)), 0),
    (janus.ones, dict(size=(2, 3)), 0),
    (janus.rand, dict(size=(2, 3)), 0),
    (janus.randn, dict(size=(2, 3)), 0),
    (janus.rand_like, dict(input=X), 0),
    (janus.randn_like, dict(input=X), 0),
    (janus.randint, dict(low=2, high=9, size=(4,)), 0),
    (janus.randint, dict(high=9, size=(4,)), 0),
    (janus.randperm, dict(n=5), 0),
    (janus.normal, dict(mean=0.5, std=2.0, size=(3,)), 0),
    (janus.bernoulli, dict(input=janus.full((3,), 0.5)), 0),
    (janus.multinomial, dict(input=janus.ones(4), num_samples=2, replacement=True), 0),
    (janus.tensor, dict(data=[1.0, 2.0]), 0),
    (janus.as_tensor, dict(data=[1.0, 2.0]), 0),
    (janus.where, dict(condition=MASK, input=X, other=Y), 0),
    (janus.cat, dict(tensors=[X, Y], dim=1), 0),
    (janus.stack, dict(tensors=[X, Y], dim=1), 0),
    (janus.sum, dict(input=X, dim=1, keepdim=True), 0),
    (janus.mean, dict(input=X, dim=0, keepdim=True), 0),
    (janus.max, dict(input=X, dim=1, keepdim=True), 0),
    (janus.max, dict(input=X, other=Y), 0),
    (janus.min, dict(input=X, other=Y), 0),
    (janus.argmax, dict(input=X, dim=1, keepdim=True), 0),
    (janus.norm, dict(input=X, p=1, dim=1), 0),
    (janus.topk, dict(input=X, k=2, dim=1, largest=False), 0),
    (janus.sort, dict(input=X, dim=1, descending=True), 0),
    (janus.gather, dict(input=X, dim=1, index=I), 0),
    (janus.index_select, dict(input=X, dim=1, index=janus.tensor([2, 0])), 0),
    (janus.clamp, dict(input=X, min=-1, max=2), 0),
    (janus.transpose, dict(input=X, dim0=0, dim1=1), 0),
    (janus.permute, dict(input=X, dims=(1, 0)), 0),
    (janus.reshape, dict(input=X, shape=(3, 2)), 0),
    (janus.flatten, dict(input=X, start_dim=0, end_dim=1), 0),
    (janus.unsqueeze, dict(input=X, dim=1), 0),
    (janus.squeeze, dict(input=B, dim=0), 0),
    (janus.narrow, dict(input=X, dim=1, start=1, length=2), 0),
    (janus.roll, dict(input=X, shifts=1, dims=1), 0),
    (janus.flip, dict(input=X, dims=(1,)), 0),
    (janus.chunk, dict(input=X, chunks=2, dim=1), 0),
    (janus.matmul, dict(input=S, other=S), 0),
    (janus.mm, dict(input=S, mat2=S), 0),
    (janus.bmm, dict(input=B, mat2=B), 0),
    (janus.mv, dict(input=S, vec=janus.tensor([1.0, 2.0])), 0),
    (janus.mul, dict(input=X, other=Y), 0),
    (janus.sub, dict(input=X, other=Y, alpha=2), 1),
    (janus.add, dict(input=X, other=Y, alpha=2), 1),
    (janus.div, dict(input=X, other=2.0, rounding_mode="floor"), 1),
    (janus.pow, dict(input=X, exponent=2), 0),
    (janus.pow, dict(input=Y, exponent=X), 0),
    (janus.softmax, dict(input=X, dim=1), 0),
    (janus.cumsum, dict(input=X, dim=1), 0),
    (janus.logsumexp, dict(input=X, dim=1, keepdim=True), 0),
    (janus.tril, dict(input=S, diagonal=-1), 0),
    (janus.lerp, dict(input=X, end=Y, weight=0.25), 0),
    (janus.addcmul, dict(input=X, tensor1=Y, tensor2=Y, value=2), 1),
    (janus.masked_fill, dict(input=X, mask=MASK, value=5.0), 0),
    (F.one_hot, dict(tensor=I, num_classes=4), 0),
    (F.pad, dict(input=X, pad=(1, 1), mode="constant", value=2.0), 0),
    (F.gelu, dict(input=X, approximate="tanh"), 1),
    (F.cross_entropy, dict(input=S, target=janus.tensor([1, 0]), reduction="sum"), 1),
    (F.layer_norm, dict(input=X, normalized_shape=(3,), weight=None, bias=None, eps=1e-3), 0),
    ("view", dict(size=(3, 2)), 0),
    ("expand", dict(size=(2, 2, 3)), 0),
    ("repeat", dict(repeats=(2, 1)), 0),
    ("permute", dict(dims=(1, 0)), 0),
    ("split", dict(split_size=2, dim=1), 0),
    ("pow", dict(exponent=2), 0),
    ("where", dict(condition=MASK, other=Y), 0),
    ("max", dict(other=Y), 0),
    ("masked_fill", dict(mask=MASK, value=5.0), 0),
    ("scatter", dict(dim=1, index=I, src=S), 0),
    ("transpose", dict(dim0=0, dim1=1), 0),
    ("clamp", dict(min=-1, max=2), 0),
]


def name_of(row):
    function, arguments, _ = row
    return f"{function if isinstance(function, str) else function.__name__}({', '.join(arguments)})"


def calls(row):
    """A function without arguments for each number of arguments that are given by position."""
    function, arguments, named = row
    method = isinstance(function, str)
    for k in range(len(arguments) - named + 1):
        first = list(arguments.values())[:k]
        rest = dict(list(arguments.items())[k:])

        def call(first=first, rest=rest):
            f = getattr(X, function) if method else function
            return f(*first, **rest)
        yield call


def flat(value):
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [(tuple(value.shape), value.dtype, value.tolist())]


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_by_name(row):
    results = []
    for call in calls(row):
        for f in (call, janus.function(call, verify="never")):
            for _ in range(3):
                janus.manual_seed(5)
                results.append(flat(f()))
    assert all(r == results[0] for r in results)


@pytest.mark.parametrize("call, message", [
    (lambda: janus.linspace(0, 1, 3, steps=4), "multiple values for argument 'steps'"),
    (lambda: janus.linspace(0, steps=4), "missing required argument 'end'"),
    (lambda: janus.full((2,), value=3), "unexpected keyword argument 'value'"),
    (lambda: janus.full(fill_value=3), "missing required argument 'size'"),
    (lambda: janus.zeros(2, size=(3,)), "multiple values for argument 'size'"),
    (lambda: janus.eye(1, 2, 3), "at most 2 positional arguments"),
    (lambda: janus.arange(step=2), "arange"),
    (lambda: janus.randint(low=0, size=(3,)), "randint"),
    (lambda: janus.tensor(dtype=janus.int64), "missing required argument 'data'"),
    (lambda: janus.zeros_like([1.0]), "must be Tensor, not list"),
    (lambda: janus.pow(X, 2, exponent=3), "multiple values for argument 'exponent'"),
])
def test_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()
