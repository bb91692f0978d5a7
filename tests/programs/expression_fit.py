# SPDX-License-Identifier: Apache-2.0
"""Expression trees matched by `match`, evaluated over a batch of inputs; their leaves, a constant for each input, are fitted, and the worst trees replaced."""
from __future__ import annotations
import random
from dataclasses import dataclass
import janus as torch
import janus.nn.functional as F


@dataclass
class Var:
    name: str


@dataclass
class Const:
    value: torch.Tensor


@dataclass
class Unary:
    op: str
    arg: object


@dataclass
class Binary:
    op: str
    left: object
    right: object


OPS = {"+": torch.add, "-": torch.sub, "*": torch.mul}
FUNCTIONS = {"sin": torch.sin, "exp": lambda v: torch.exp(-v.abs()), "tanh": torch.tanh}


def evaluate(node, env):
    match node:
        case Var(name):
            return env[name]
        case Const(value):
            return value
        case Unary(op, arg):
            return FUNCTIONS[op](evaluate(arg, env))
        case Binary("/", left, right):
            return evaluate(left, env) / (1 + evaluate(right, env) ** 2)
        case Binary(op, left, right):
            return OPS[op](evaluate(left, env), evaluate(right, env))


def constants(node):
    match node:
        case Const(value):
            yield value
        case Unary(_, arg):
            yield from constants(arg)
        case Binary(_, left, right):
            yield from constants(left)
            yield from constants(right)


def size(node):
    if isinstance(node, Unary):
        return 1 + size(node.arg)
    if isinstance(node, Binary):
        return 1 + size(node.left) + size(node.right)
    return 1


def grow(depth):
    r = random.random()
    if depth == 0 or r < 0.15:
        return Var(random.choice("xy")) if random.random() < 0.5 else Const(torch.randn(40).requires_grad_())
    if r < 0.4:
        return Unary(random.choice(list(FUNCTIONS)), grow(depth - 1))
    return Binary(random.choice("+-*/"), grow(depth - 1), grow(depth - 1))


def fit_step(tree, env, target, lr=0.05):
    params = list(constants(tree))
    loss = F.mse_loss(evaluate(tree, env).expand_as(target), target)
    if params and loss.requires_grad:
        grads = torch.autograd.grad(loss, params, allow_unused=True)
        with torch.no_grad():
            for p, g in zip(params, grads):
                if g is not None:
                    p -= lr * g.clamp(-1, 1)
    return loss.item()


def train_epoch(population, env, target, epoch):
    scores = []
    for tree in population:
        for _ in range(3):
            loss = fit_step(tree, env, target)
        scores.append((loss + 0.001 * size(tree), tree))
    scores.sort(key=lambda s: s[0])
    best = scores[0][0]
    print("epoch", epoch, "best %.4f" % best, "mean %.4f" % (sum(s for s, _ in scores) / len(scores)))
    keep = [t for _, t in scores[:len(scores) * 3 // 4]]
    while len(keep) < len(population):
        keep.append(grow(3))
    population[:] = keep
    return best


def main(epochs):
    torch.manual_seed(2)
    random.seed(2)
    env = {"x": torch.linspace(-2, 2, 40), "y": torch.linspace(1, 3, 40)}
    target = torch.sin(env["x"]) * env["y"] + 0.5
    population = [grow(3) for _ in range(8)]
    return [train_epoch(population, env, target, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "evaluate", "fit_step", "train_epoch"
