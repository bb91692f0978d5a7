# SPDX-License-Identifier: Apache-2.0
"""Programs whose schedules are in the goldens beside this file: `python3 programs.py NAME` calls one of them as a graph,
three times; the last call's schedule is the golden."""
import sys

import janus


class Node:
    def __init__(self, *children):
        self.children = children


def tree(depth):
    return Node(tree(depth - 1), tree(depth - 1)) if depth else Node()


class Tree(janus.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.leaf = janus.nn.Parameter(janus.zeros(1, size))
        self.both = janus.nn.Linear(2 * size, size)

    def forward(self, node):
        if not node.children:
            return self.leaf.tanh()
        return self.both(janus.cat([self(node.children[0]), self(node.children[1])], 1)).tanh()


def levels():
    """Four trees of different depths, small: groups over trees, level by level."""
    model, trees = Tree(8), [tree(d) for d in (0, 1, 2, 2)]

    def step():
        return sum(model(t).sum() for t in trees)
    return step


def late():
    """Gradients of leaves at every depth: one group, when all wait for the deepest."""
    model = Tree(8)
    chain = Node()
    for _ in range(3):
        chain = Node(chain, Node())

    def step():
        model.zero_grad()
        loss = model(chain).sum()
        loss.backward()
        return loss.detach()
    return step


def lanes():
    """Trees of a batch, enough work: each lane has its trees, what joins them comes behind."""
    model, trees = Tree(256), [tree(5) for _ in range(4)]

    def step():
        return sum(model(t).sum() for t in trees)
    return step


def meeting():
    """Gradients of losses that wait for all trees: forward and backward are phases that meet; a worker has a head start in the first."""
    model, trees = Tree(128), [tree(d) for d in (6, 5, 5, 5, 4, 4, 4, 6)]
    out = janus.nn.Linear(128, 2)

    def step():
        model.zero_grad()
        out.zero_grad()
        loss = 0
        for t in trees:
            loss = loss + out(model(t)).sum()
        loss = loss / len(trees)
        loss.backward()
        return loss.detach()
    return step


PROGRAMS = {"levels": (levels, {}), "late": (late, {}), "lanes": (lanes, {"threads": 2}), "meeting": (meeting, {"threads": 2}),
            "in_order": (levels, {"numerics": "exact"})}


def main(name):
    make, options = PROGRAMS[name]
    janus.set_num_threads(options.get("threads", 1))
    janus.manual_seed(0)
    f = janus.function(make(), measure=False, verify="never", numerics=options.get("numerics", "fast"))
    for i in range(3):
        print(f"call {i}", file=sys.stderr, flush=True)
        f()
    assert f.stats()["graph"] > 0, f.stats()


if __name__ == "__main__":
    main(sys.argv[1])
