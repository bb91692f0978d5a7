# SPDX-License-Identifier: Apache-2.0
"""Expression trees of several node classes, evaluated by a visitor and fitted to targets."""
import random
import time

import janus as torch


class Num:
    def __init__(self, value):
        self.value = value

    def accept(self, visitor):
        return visitor.visit_num(self)


class Var:
    def __init__(self, name):
        self.name = name

    def accept(self, visitor):
        return visitor.visit_var(self)


class Binary:
    def __init__(self, op, left, right):
        self.op, self.left, self.right = op, left, right

    def accept(self, visitor):
        return visitor.visit_binary(self)


class Call:
    def __init__(self, fn, *args):
        self.fn, self.args = fn, args

    def accept(self, visitor):
        return visitor.visit_call(self)


class Evaluator:
    def __init__(self, env):
        self.env = env

    def visit_num(self, node):
        return torch.full((4,), node.value)

    def visit_var(self, node):
        return self.env[node.name]

    def visit_binary(self, node):
        left, right = node.left.accept(self), node.right.accept(self)
        if node.op == "+":
            return left + right
        if node.op == "*":
            return left * right
        return left - right

    def visit_call(self, node):
        args = [a.accept(self) for a in node.args]
        if node.fn == "tanh":
            return torch.tanh(args[0])
        if node.fn == "mean":
            return torch.stack(args).mean(0)
        raise ValueError("unknown function " + node.fn)


def evaluate(tree, env):
    return tree.accept(Evaluator(env))


def random_expression(rng, depth):
    kind = rng.random() if depth else rng.random() * 0.4
    if kind < 0.15:
        return Num(round(rng.uniform(-1, 1), 2))
    if kind < 0.4:
        return Var(rng.choice("abc"))
    if kind < 0.8:
        return Binary(rng.choice("+*-"), random_expression(rng, depth - 1), random_expression(rng, depth - 1))
    if kind < 0.9:
        return Call("tanh", random_expression(rng, depth - 1))
    return Call("mean", *[random_expression(rng, depth - 1) for _ in range(rng.randint(2, 3))])


def fit_step(tree, env, optimizer, target):
    optimizer.zero_grad()
    loss = ((evaluate(tree, env) - target) ** 2).mean()
    if loss.requires_grad:
        loss.backward()
        optimizer.step()
    return loss.item()


def fit_epoch(trees, env, optimizer, target):
    start = time.perf_counter()
    losses = [fit_step(tree, env, optimizer, target) for tree in trees]
    print(f"{sum(losses):.5f} ({time.perf_counter() - start:.3f} s)")
    return losses


def main(epochs):
    rng = random.Random(11)
    trees = [random_expression(rng, 4) for _ in range(12)]
    env = {name: torch.randn(4, requires_grad=True) for name in "abc"}
    optimizer = torch.optim.SGD(list(env.values()), lr=0.02, momentum=0.9)
    target = torch.linspace(-1, 1, 4)
    return [fit_epoch(trees, env, optimizer, target) for _ in range(epochs)], env


MODEL, STEP, EPOCH = "evaluate", "fit_step", "fit_epoch"
