# SPDX-License-Identifier: Apache-2.0
"""What f.stats() says of the host strand."""

import pytest

import janus

if not hasattr(janus, "function"):
    pytest.skip("janus.function is not built", allow_module_level=True)


class Node:
    def __init__(self, n):
        self.value = n % 7
        self.left = Node(n // 2) if n > 1 else None
        self.right = Node(n - n // 2) if n > 1 else None


def count(node):
    if node.left is None:
        return node.value
    return count(node.left) + count(node.right)


def test_nodes_and_the_time_for_each():
    @janus.function(measure=False)
    def f(root):
        return count(root)

    root = Node(200)
    assert f.stats()["ns_per_node"] == 0.0
    for _ in range(3):
        f(root)
    before, best = f.stats(), float("inf")
    for _ in range(50):
        f(root)
        after = f.stats()
        nodes = after["nodes"] - before["nodes"]
        assert nodes == 400  # the function and its 399 nodes
        best = min(best, (after["host_ns"] - before["host_ns"]) / nodes)
        before = after
    assert before["ns_per_node"] == pytest.approx(before["host_ns"] / before["nodes"])
    assert 5 < best < 2000  # about 100 on a quiet machine, most of it reads of attributes


def test_time_of_the_tensor_strand_is_apart():
    w = janus.ones(200, 200)

    @janus.function(measure=False)
    def f(x):
        for _ in range(20):
            x = janus.tanh(x @ w)
        if x.sum() > 0:
            return x * 2
        return x

    for _ in range(10):
        f(janus.ones(50, 200))
    stats = f.stats()
    assert stats["graph"] and stats["tensor_ns"] > stats["host_ns"]


def test_share_of_tensor_ops_in_graphs():
    w = janus.ones(3)

    def ops(x):
        return ((x * w + w).tanh() - x) * w  # five

    f = janus.function(ops, measure=False, verify="never")
    assert f.stats()["op_share"] == 0.0
    f(janus.ones(3))
    assert (f.stats()["ops_eager"], f.stats()["ops_graph"], f.stats()["op_share"]) == (5, 0, 0.0)
    for _ in range(3):
        f(janus.ones(3))
    ops(janus.ones(3))  # not under a decorated call
    assert (f.stats()["ops_eager"], f.stats()["ops_graph"], f.stats()["op_share"]) == (5, 15, 0.75)


def test_share_of_a_function_that_stays_imperative():
    @janus.function
    def f(x):
        with open("/dev/null") as null:
            null.read()
        return x - 1.0

    for _ in range(4):
        f(janus.ones(2))
    assert f.stats()["ops_eager"] == 4
    assert f.stats()["ops_graph"] == 0
