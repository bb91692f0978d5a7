# SPDX-License-Identifier: Apache-2.0
"""Genetic programming with a stack machine: instructions in a registry, failures raised and punished, constants tuned by gradients, a cache of scores."""
import math
import random
import time
from contextlib import contextmanager

import janus as torch


class Underflow(Exception):
    pass


class Overflow(ArithmeticError):
    pass


REGISTRY = {}


def instruction(name, pops):
    def register(fn):
        REGISTRY[name] = (fn, pops)
        return fn
    return register


@instruction("add", 2)
def add(a, b):
    return a + b


@instruction("mul", 2)
def mul(a, b):
    return a * b


@instruction("sub", 2)
def sub(a, b):
    return a - b


@instruction("tanh", 1)
def tanh(a):
    return torch.tanh(a)


@instruction("square", 1)
def square(a):
    out = a * a
    if out.max() > 1e4:
        raise Overflow("square")
    return out


class Machine:
    def __init__(self, limit=8):
        self.stack, self.limit, self.executed = [], limit, 0

    def push(self, v):
        if len(self.stack) >= self.limit:
            raise Overflow("stack")
        self.stack.append(v)

    def pop(self):
        try:
            return self.stack.pop()
        except IndexError:
            raise Underflow(f"after {self.executed}") from None

    @contextmanager
    def transaction(self):
        before = list(self.stack)
        try:
            yield self
        except Underflow:
            self.stack = before
            self.executed += 1

    def run(self, program, x, constants):
        for op, arg in program:
            if op == "x":
                self.push(x)
            elif op == "const":
                self.push(constants[arg].expand(x.shape))
            elif op == "dup":
                v = self.pop()
                self.push(v)
                self.push(v)
            elif op == "swap":
                with self.transaction():
                    a, b = self.pop(), self.pop()
                    self.push(a)
                    self.push(b)
            else:
                fn, pops = REGISTRY[op]
                self.push(fn(*[self.pop() for _ in range(pops)]))
            self.executed += 1
        return self.pop()


def run_program(program, x, constants):
    m = Machine()
    out = m.run(program, x, constants)
    return out, m


def tune(individual, x, y, steps=2):
    program, constants = individual["program"], individual["constants"]
    loss = None
    for _ in range(steps):
        out, machine = run_program(program, x, constants)
        loss = ((out - y) ** 2).mean() + 0.01 * len(machine.stack)
        if not loss.requires_grad:
            break
        grads = torch.autograd.grad(loss, constants, allow_unused=True)
        constants = [(c if g is None else c - 0.05 * g.clamp(-1, 1)).detach().requires_grad_() for c, g in zip(constants, grads)]
    individual["constants"] = constants
    return loss.item()


def random_instruction(rng):
    name = rng.choice(["x", "x", "const", "dup", "swap", *REGISTRY])
    return name, rng.randrange(2) if name == "const" else None


def mutate(program, rng):
    program = list(program)
    kind = rng.random()
    if kind < 0.4 or len(program) < 2:
        program.insert(rng.randrange(len(program) + 1), random_instruction(rng))
    elif kind < 0.7:
        del program[rng.randrange(len(program))]
    else:
        program[rng.randrange(len(program))] = random_instruction(rng)
    return tuple(program[:12])


def generation(number, population, x, y, rng, cache):
    start, failures, hits = time.time(), {}, 0
    for ind in population:
        key = ind["program"]
        if key in cache and rng.random() < 0.5:
            ind["score"] = cache[key]
            hits += 1
            continue
        try:
            ind["score"] = tune(ind, x, y)
        except (Underflow, Overflow) as e:
            failures[type(e).__name__] = failures.get(type(e).__name__, 0) + 1
            ind["score"] = math.inf
        else:
            cache[key] = min(cache.get(key, math.inf), ind["score"])
    population.sort(key=lambda i: (i["score"], len(i["program"]), i["program"] and str(i["program"])))
    half = population[:len(population) // 2]
    children = [{"program": mutate(p["program"], rng), "constants": [c.detach().clone().requires_grad_() for c in p["constants"]], "score": None} for p in half]
    best = half[0]
    print(f"gen {number}: best {best['score']:.4f} {' '.join(op for op, _ in best['program'])} failed {sorted(failures.items())} cached {len(cache)}/{hits} {time.time() - start:.2f}s")
    population[:] = half + children
    return best["score"], failures


def main(epochs):
    torch.manual_seed(6)
    rng = random.Random(6)
    x = torch.linspace(-1.5, 1.5, 16)
    y = torch.tanh(x * x - 0.5) * 1.5
    population = []
    for _ in range(120):
        program = tuple(random_instruction(rng) for _ in range(rng.randint(2, 6)))
        population.append({"program": program, "constants": [torch.randn(1).requires_grad_() for _ in range(2)], "score": None})
    cache = {}
    out = [generation(e, population, x, y, rng, cache) for e in range(4 * epochs)]
    return out, [(p["program"], p["constants"]) for p in population[:4]], cache


MODEL, STEP, EPOCH = "run_program", "tune", "generation"
