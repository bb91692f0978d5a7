# SPDX-License-Identifier: Apache-2.0
"""States that require grad, are stored by a graph and are used when the call is over.

Programs are put together from a way to keep states (attributes, tuples, lists, dicts; recursion and loops; returned as
well, read again or not) and from what is done with them afterwards (losses over some of them and over the result, in any
order, with retain_graph or without, written, detached).  What an undecorated run does after each step is what a decorated
one does: values, gradients, flags, exceptions.
"""
import itertools
import os
import random

import janus as torch
import pytest
from janus import nn


class Node:
    def __init__(self, word, left=None, right=None):
        self.word, self.left, self.right = word, left, right
        self.state = None

    def all(self):
        below = self.left.all() + self.right.all() if self.left is not None else []
        return below + [self]


def tree(words):
    if len(words) == 1:
        return Node(words[0])
    cut = max(1, len(words) // 3)
    return Node(0, tree(words[:cut]), tree(words[cut:]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.embed = nn.Embedding(8, 3)
        self.down = nn.Linear(6, 3)
        self.out = nn.Linear(3, 2)


def visit_alone(net, node):
    if node.left is None:
        node.state = net.embed(torch.tensor([node.word]))
    else:
        visit_alone(net, node.left)
        visit_alone(net, node.right)
        node.state = torch.tanh(net.down(torch.cat([node.left.state, node.right.state], dim=1)))


def attributes(net, root, words, kept):
    visit_alone(net, root)
    return net.out(root.state)


def attributes_without_result(net, root, words, kept):
    visit_alone(net, root)


def visit_returned(net, node):
    if node.left is None:
        h = net.embed(torch.tensor([node.word]))
    else:
        h = torch.tanh(net.down(torch.cat([visit_returned(net, node.left), visit_returned(net, node.right)], dim=1)))
    node.state = h
    return h


def returned(net, root, words, kept):
    return net.out(visit_returned(net, root))


def returned_itself(net, root, words, kept):
    return visit_returned(net, root)


def visit_sums(net, node):
    if node.left is None:
        node.state = net.embed(torch.tensor([node.word]))
    else:
        visit_sums(net, node.left)
        visit_sums(net, node.right)
        node.state = node.left.state + node.right.state


def sums(net, root, words, kept):
    visit_sums(net, root)
    return net.out(root.state)


def visit_pairs(net, node):
    if node.left is None:
        h = net.embed(torch.tensor([node.word]))
        node.state = (h, h * 2)
    else:
        visit_pairs(net, node.left)
        visit_pairs(net, node.right)
        (a, b), (c, d) = node.left.state, node.right.state
        node.state = (torch.tanh(net.down(torch.cat([a, c], dim=1))), torch.sigmoid(b * d))


def pairs(net, root, words, kept):
    visit_pairs(net, root)
    return net.out(root.state[0] + root.state[1])


def visit_list(net, node, kept):
    if node.left is None:
        h = net.embed(torch.tensor([node.word]))
    else:
        h = torch.tanh(net.down(torch.cat([visit_list(net, node.left, kept), visit_list(net, node.right, kept)], dim=1)))
    kept.append(h)
    return h


def lists(net, root, words, kept):
    return net.out(visit_list(net, root, kept))


def lists_without_result(net, root, words, kept):
    visit_list(net, root, kept)


def visit_dict(net, node, memo):
    if node.left is None:
        memo[id(node)] = net.embed(torch.tensor([node.word]))
    else:
        visit_dict(net, node.left, memo)
        visit_dict(net, node.right, memo)
        memo[id(node)] = torch.tanh(net.down(torch.cat([memo[id(node.left)], memo[id(node.right)]], dim=1)))


def loops(net, root, words, kept):
    h = net.embed(torch.tensor([0]))
    for w in words:
        h = torch.tanh(net.down(torch.cat([h, net.embed(torch.tensor([w]))], dim=1)))
        kept.append(h)
    return net.out(h)


STYLES = [attributes, attributes_without_result, returned, returned_itself, sums, pairs, lists, lists_without_result, loops]


def states_of(root, kept):
    found = []
    for node in root.all():
        found += list(node.state) if isinstance(node.state, tuple) else [node.state] if node.state is not None else []
    return found + list(kept)


def raised(what):
    try:
        what()
    except RuntimeError as e:
        known = "second time" in str(e) or "inplace" in str(e)  # which comes first is not kept track of
        return "freed or written" if known else str(e)
    return None


def step(net, states, y, todo):
    kind, which, retain = todo
    some = [states[i % len(states)] for i in which]
    if kind == "result":
        if y is None:
            return "none"
        return raised(lambda: y.sum().backward(retain_graph=retain))
    if kind == "both":
        loss = sum((s * (i + 1)).sum() for i, s in enumerate(some))
        loss = loss if y is None else loss + (y * y).sum()
        return raised(lambda: loss.backward(retain_graph=retain))
    if kind == "states":
        return raised(lambda: sum((s * s).sum() for s in some).backward(retain_graph=retain))
    if kind == "grad":
        return raised(lambda: torch.autograd.grad(some[0].sum(), list(net.parameters()), allow_unused=True,
                                                  retain_graph=retain))
    if kind == "detached":
        return float(sum(s.detach().sum() for s in some))
    with torch.no_grad():
        some[0].add_(1.0)
    return "written"


def facts(net, states, y):
    return ([s.tolist() for s in states], [s.requires_grad for s in states], [s.is_leaf for s in states],
            [len({id(s) for s in states})], None if y is None else y.tolist(),
            [None if p.grad is None else p.grad.tolist() for p in net.parameters()])


def near(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    if isinstance(a, float):
        return abs(a - b) <= 1e-5 * (1 + abs(a))
    return a == b


SIZES = [[1, 2, 3], [4], [5, 6], [1, 2, 3, 4, 5], [1, 2, 3], [2, 7, 1, 3], [3, 1, 4]]


# What one arm of a branch keeps counts as kept whichever was taken: such states are not written here.
NOT_WRITTEN = {"returned", "returned_itself", "lists", "lists_without_result"}


def plans(style, seed, n):
    rng = random.Random(seed)
    kinds = ["result", "both", "states", "states", "grad", "detached"] + ["write"] * (style.__name__ not in NOT_WRITTEN)
    for _ in range(n):
        yield [(rng.choice(kinds), [rng.randrange(9) for _ in range(rng.randint(1, 3))], rng.random() < 0.4)
               for _ in range(rng.randint(1, 4))]


def run(function, plan, lengths):
    net, out = Net(), []
    for words in lengths:
        root, kept = tree(words), []
        net.zero_grad()
        y = function(net, root, words, kept)
        states = states_of(root, kept)
        out.append(facts(net, states, y))
        for todo in plan:
            out.append((step(net, states, y, todo), facts(net, states, y)))
            if out[-1][0] == "freed or written":  # what CPython's tape has used up on its way there is not kept track of
                break
    return out


@pytest.mark.parametrize("style", STYLES, ids=lambda f: f.__name__)
def test_used_afterwards(style):
    for plan in itertools.chain([[("result", [0], False)]], plans(style, int(os.environ.get("JANUS_SEED", 0)) + STYLES.index(style), int(os.environ.get("JANUS_PLANS", 40)))):
        f = torch.function(style, verify="never", measure=False)
        want, got = run(style, plan, SIZES), run(f, plan, SIZES)
        for i, (a, b) in enumerate(zip(want, got)):
            assert near(a, b), f"{plan}, fact {i}: {a}\n{b}"
        assert f.stats()["graph"] >= 3, (style.__name__, f.stats()["conversions"], torch.explain(f))


@pytest.mark.parametrize("style", STYLES, ids=lambda f: f.__name__)
def test_verified(style):
    f = torch.function(style, verify="always", measure=False)
    run(f, [("both", [0, 1], False)], SIZES)
    assert f.stats()["disproved"] == 0 and f.stats()["verified"] >= 3


def test_what_runs_between_results_of_one_call_is_refused():
    """Gradients within the run cannot be looked at: an error the first time, CPython's nodes from then on."""
    net = Net()
    f = torch.function(attributes, verify="never", measure=False)
    for _ in range(4):
        root = tree([1, 2, 3])
        y = f(net, root, [], [])
    with pytest.raises(RuntimeError, match="computed anew it can be had"):
        torch.autograd.grad(y.sum(), root.left.state)
    root = tree([1, 2, 3])
    y = f(net, root, [], [])
    assert torch.autograd.grad(y.sum(), root.left.state)[0].shape == (1, 3)


def test_history_is_let_go():
    """After backward() of all, what is left of a call is its states: no frame, no weights' old values."""
    import gc
    import weakref
    net, f = Net(), torch.function(returned, verify="never", measure=False)
    for _ in range(4):
        f(net, tree([1, 2, 3]), [], []).sum().backward()
    root, words = tree([1, 2, 3]), Node(0)
    y = f(net, root, words, [])
    seen = weakref.ref(words)
    del words
    y.sum().backward()
    gc.disable()
    try:
        assert seen() is None
    finally:
        gc.enable()
