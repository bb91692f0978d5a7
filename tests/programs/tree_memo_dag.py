# SPDX-License-Identifier: Apache-2.0
"""Shared subexpressions: a directed graph evaluated with a memo, in topological order, and without recursion."""
import random
import time

import janus as torch
import janus.nn as nn


class Op:
    count = 0

    def __init__(self, name, *inputs):
        self.name, self.inputs = name, inputs
        self.id = Op.count
        Op.count += 1


def random_dag(rng, n):
    nodes = [Op("input%d" % i) for i in range(2)]
    for _ in range(n):
        name = rng.choice(["mul", "add", "tanh"])
        nodes.append(Op(name, *rng.sample(nodes[-3:] if len(nodes) > 2 else nodes, 1 if name == "tanh" else 2)))
    return nodes[-1]


def topological(root):
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node.id not in seen:
            seen.add(node.id)
            stack.append((node, True))
            for x in node.inputs:
                stack.append((x, False))
    return order


class Machine(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inputs = nn.ParameterList([nn.Parameter(torch.randn(dim)) for _ in range(2)])
        self.mix = nn.Linear(dim, dim)

    def apply_op(self, name, args):
        if name == "mul":
            return args[0] * args[1]
        if name == "add":
            return args[0] + args[1]
        if name == "tanh":
            return torch.tanh(self.mix(args[0]))
        return self.inputs[int(name[-1])]

    def forward(self, root, memo=None):
        memo = {} if memo is None else memo
        if root.id in memo:
            return memo[root.id]
        memo[root.id] = result = self.apply_op(root.name, [self(x, memo) for x in root.inputs])
        return result


def run_flat(machine, order):
    values = {}
    for node in order:
        values[node.id] = machine.apply_op(node.name, [values[x.id] for x in node.inputs])
    return values[order[-1].id]


def train_step(machine, optimizer, root, order):
    a, b = machine(root), run_flat(machine, order)
    loss = (a - 1.0).pow(2).mean() + (a - b).abs().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(machine, optimizer, roots, epoch):
    start = time.time()
    losses = [train_step(machine, optimizer, r, topological(r)) for r in roots]
    print("%d %s %.3fs" % (epoch, " ".join("%.4f" % x for x in losses), time.time() - start))
    return losses


def main(epochs):
    rng = random.Random(31)
    roots = [random_dag(rng, rng.randint(2, 6)) for _ in range(6)]
    machine = Machine(4)
    optimizer = torch.optim.SGD(machine.parameters(), lr=0.02)
    return [train_epoch(machine, optimizer, roots, e) for e in range(epochs)], machine


MODEL, STEP, EPOCH = "Machine.forward", "train_step", "train_epoch"
