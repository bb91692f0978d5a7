# SPDX-License-Identifier: Apache-2.0
"""A differentiable interpreter: programs of let-expressions over vectors, a scope for each block that copies the one around, constants and operators
that are fitted so that programs give what they are said to give."""
import random
import time
from dataclasses import dataclass, field
from typing import Optional

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

WIDTH, NAMES = 6, "abcdef"


@dataclass
class Expr:
    op: str
    args: list = field(default_factory=list)
    name: Optional[str] = None
    target: Optional[torch.Tensor] = None

    def size(self):
        return 1 + sum(a.size() for a in self.args)


def program(depth, scope):
    """A random one over the names of a scope."""
    kind = random.random()
    if depth == 0 or kind < 0.15:
        return Expr("var", name=random.choice(scope)) if random.random() < 0.7 else Expr("const", name=random.choice(NAMES))
    if kind < 0.5:
        name = random.choice(NAMES)
        inner = scope if name in scope else scope + [name]
        return Expr("let", [program(depth - 1, scope), program(depth - 1, inner)], name)
    if kind < 0.65:
        return Expr("block", [program(depth - 1, scope) for _ in range(random.randint(1, 3))])
    return Expr(random.choice(["mix", "gate"]), [program(depth - 1, scope), program(depth - 1, scope)])


def truth(e, scope):
    """What the program means, in plain numbers."""
    if e.op == "var":
        return scope[e.name]
    if e.op == "const":
        return [NAMES.index(e.name) / len(NAMES)] * WIDTH
    if e.op == "let":
        return truth(e.args[1], {**scope, e.name: truth(e.args[0], scope)})
    values = [truth(a, scope) for a in e.args]
    if e.op == "block":
        return [sum(v) / len(values) for v in zip(*values)]
    a, b = values
    return [(x + y) / 2 if e.op == "mix" else x * y for x, y in zip(a, b)]


class Interpreter(nn.Module):
    def __init__(self):
        super().__init__()
        self.constants = nn.Embedding(len(NAMES), WIDTH)
        self.mix, self.gate = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def run(self, e, scope):
        if e.op == "var":
            return scope[e.name]
        if e.op == "const":
            return self.constants.weight[NAMES.index(e.name)] * 1.0
        if e.op == "let":
            inner = dict(scope)
            inner[e.name] = self.run(e.args[0], scope)
            return self.run(e.args[1], inner)
        if e.op == "block":
            return torch.stack([self.run(a, scope) for a in e.args]).mean(0)
        both = torch.cat([self.run(e.args[0], scope), self.run(e.args[1], scope)])
        return torch.tanh(self.mix(both)) if e.op == "mix" else torch.sigmoid(self.gate(both))

    def forward(self, e, x, y):
        return self.run(e, {"x": x, "y": y})


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = 0
    for e, x, y in batch:
        loss = loss + F.mse_loss(model(e, x, y), e.target)
    loss = loss / len(batch)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_epoch(epoch, model, optimizer, batches):
    began, losses = time.time(), []
    for batch in batches:
        losses.append(train_step(model, optimizer, batch))
    with torch.no_grad():
        error = max((model(e, x, y) - e.target).abs().max().item() for e, x, y in batches[0])
    mean = sum(losses) / len(losses)
    print(f"epoch {epoch}: loss {mean:.4f}, largest error of a program {error:.3f} ({time.time() - began:.2f} s)")
    return mean


def main(epochs):
    torch.manual_seed(0)
    random.seed(0)
    model = Interpreter()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    history = []
    for epoch in range(epochs):
        batches = []
        for _ in range(3):
            batch = []
            for _ in range(4):
                x, y = ([random.random() for _ in range(WIDTH)] for _ in range(2))
                e = Expr("mix", [program(3, ["x", "y"]), program(3, ["x", "y"])])
                e.target = torch.tensor(truth(e, {"x": x, "y": y}))
                batch.append((e, torch.tensor(x), torch.tensor(y)))
            batches.append(batch)
        history.append(train_epoch(epoch, model, optimizer, batches))
    return history, model


MODEL, STEP, EPOCH = "Interpreter.forward", "train_step", "train_epoch"
