# SPDX-License-Identifier: Apache-2.0
"""Functions that go down containers of tensors by calling themselves (states of recurrent networks that are detached, batches that are
cast): for all ways to write them and containers whose contents a conversion knows, a graph that does what the function does."""
import itertools

import janus
import pytest
from shares import share
from texts import names_of

# What is done with a container of what was made of its items, and with a tensor.
REBUILD = {
    "tuple": "return tuple({f}(v) for v in h)",
    "list": "return [{f}(v) for v in h]",
    "type": "return type(h)({f}(v) for v in h)",
    "map": "return type(h)(map({f}, h))",
    "loop": "out = []\n    for v in h:\n        out.append({f}(v))\n    return tuple(out)",
    "sum": "return sum({f}(v).sum() for v in h)",
}
LEAF = {"detach": "h.detach()", "scaled": "h * 2", "grown": "(h * w).tanh()", "row": "h[0]"}
HEADS = {
    "isinstance": "if isinstance(h, janus.Tensor):\n        return {leaf}\n    {rest}",
    "is_tensor": "if not janus.is_tensor(h):\n        {inner}\n    return {leaf}",
    "type": "if type(h) in (list, tuple):\n        {inner}\n    return {leaf}",
}
PROGRAM = """
def again(h):
    {body}

def step(h):
    kept = again(h)
    total = sum(x.sum() for x in flat(kept))
    return kept, total

def flat(h):
    if isinstance(h, janus.Tensor):
        return [h]
    out = []
    for v in h:
        out.extend(flat(v))
    return out
"""


def t(k):
    return janus.arange(6.0).reshape(2, 3) * 0.1 + k


STATES = {
    "pair": lambda k: (t(k), t(k + 1)),
    "layers": lambda k: [(t(k), t(k + 1)), (t(k + 2), t(k + 3))],
    "nested": lambda k: (t(k), (t(k + 1), [t(k + 2), (t(k + 3),)])),
    "one": lambda k: t(k),
    "lists": lambda k: [[t(k)], [t(k + 1), t(k + 2)]],
}


def program(head, rebuild, leaf, **names):
    rest = REBUILD[rebuild].format(f="again")
    body = HEADS[head].format(leaf=LEAF[leaf], rest=rest, inner=rest.replace("\n    ", "\n        "))
    return names_of(PROGRAM.format(body=body), janus=janus, w=janus.ones(3).requires_grad_(), **names)


def seen(x):
    if isinstance(x, janus.Tensor):
        return [x.tolist(), x.requires_grad]
    return [type(x).__name__, [seen(y) for y in x]]


CASES = list(itertools.product(HEADS, REBUILD, LEAF, STATES))


@pytest.mark.parametrize("case", share(CASES), ids="-".join)
def test_as_undecorated(case):
    head, rebuild, leaf, state = case
    step = program(head, rebuild, leaf)["step"]
    f = janus.function(step, numerics="exact", measure=False)
    for k in range(7):
        want, got = step(STATES[state](k)), f(STATES[state](k))
        assert seen(want) == seen(got)
    assert f.stats()["graph"] >= 2, janus.explain(f)


def test_dicts_and_other_items():
    def to(batch, dtype):
        if janus.is_tensor(batch):
            return batch.to(dtype)
        if isinstance(batch, dict):
            return {k: to(v, dtype) for k, v in batch.items()}
        if isinstance(batch, (list, tuple)):
            return [to(v, dtype) for v in batch]
        return batch

    def step(batch):
        batch = to(batch, janus.float64)
        return batch["x"] * batch["n"], batch

    f = janus.function(step, measure=False)
    for k in range(4):
        batch = {"x": t(k), "n": 3, "more": [t(k + 1), {"y": t(k), "name": "a"}]}
        want, got = step(batch), f(batch)
        assert want[0].tolist() == got[0].tolist() and str(want[1]) == str(got[1])


def test_containers_that_differ_each_time():
    """Trees as tuples are no such containers: they are a recursion, not a graph for each."""
    def leaves(h):
        if janus.is_tensor(h):
            return h * 2
        return leaves(h[0]) + leaves(h[1])

    def tree(k, depth):
        return t(k) if depth == 0 else (tree(k, depth - 1), tree(k + 1, 0 if k % 2 else depth - 1))

    f = janus.function(leaves, measure=False)
    for k in range(12):
        x = tree(k, 1 + k % 4)
        assert janus.allclose(leaves(x), f(x))
    assert f.stats()["conversions"] <= 6, janus.explain(f)
