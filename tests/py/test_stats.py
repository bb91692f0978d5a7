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
