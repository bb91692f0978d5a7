# SPDX-License-Identifier: Apache-2.0
"""A small language that is tokenized, parsed by recursive descent and interpreted; its sensors are nets, so programs learn from what they should return."""
import random
from dataclasses import dataclass
from typing import Dict, List, Optional, Union

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Num:
    value: float


@dataclass
class Var:
    name: str


@dataclass
class Bin:
    op: str
    left: "Expr"
    right: "Expr"


@dataclass
class Call:
    name: str
    args: List["Expr"]


@dataclass
class Let:
    name: str
    value: "Expr"
    body: "Expr"


@dataclass
class If:
    test: "Expr"
    then: "Expr"
    other: "Expr"


Expr = Union[Num, Var, Bin, Call, Let, If]


class Parser:
    def __init__(self, text):
        self.tokens = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
        self.at = 0

    def peek(self) -> Optional[str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, expected=None):
        token = self.tokens[self.at]
        if expected is not None and token != expected:
            raise SyntaxError(f"expected {expected}, not {token}")
        self.at += 1
        return token

    def expression(self):
        if self.peek() == "let":
            self.take()
            name = self.take()
            self.take("=")
            value = self.expression()
            self.take("in")
            return Let(name, value, self.expression())
        if self.peek() == "if":
            self.take()
            test = self.expression()
            self.take("then")
            then = self.expression()
            self.take("else")
            return If(test, then, self.expression())
        left = self.term()
        while self.peek() in ("+", "-"):
            left = Bin(self.take(), left, self.term())
        return left

    def term(self):
        left = self.factor()
        while self.peek() == "*":
            left = Bin(self.take(), left, self.factor())
        return left

    def factor(self):
        token = self.take()
        if token == "(":
            inside = self.expression()
            self.take(")")
            return inside
        if token.replace(".", "").isdigit():
            return Num(float(token))
        if self.peek() != "(":
            return Var(token)
        self.take("(")
        args = [self.expression()]
        while self.peek() == ",":
            self.take()
            args.append(self.expression())
        self.take(")")
        return Call(token, args)


class Interpreter(nn.Module):
    def __init__(self):
        super().__init__()
        self.sensors = nn.ModuleDict({"bump": nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1)), "mix": nn.Linear(2, 1)})

    def run(self, e, env):
        if isinstance(e, Num):
            return torch.full((1,), e.value)
        if isinstance(e, Var):
            return env[e.name]
        if isinstance(e, Bin):
            a, b = self.run(e.left, env), self.run(e.right, env)
            return a + b if e.op == "+" else a - b if e.op == "-" else a * b
        if isinstance(e, Let):
            return self.run(e.body, {**env, e.name: self.run(e.value, env)})
        if isinstance(e, If):
            p = torch.sigmoid(4 * self.run(e.test, env))
            return p * self.run(e.then, env) + (1 - p) * self.run(e.other, env)
        return self.sensors[e.name](torch.cat([self.run(a, env) for a in e.args]))

    def forward(self, program, env: Dict[str, torch.Tensor]):
        return self.run(program, env)


SOURCES = ["bump(x) + 0.5 * y", "let z = mix(x, y) in z * z - bump(z)", "if x then bump(y) else mix(y, x) + 1", "mix(bump(x), bump(y))",
           "let a = x + y in let b = bump(a) in if b - 0.2 then a else b * (a - 1)", "(x - y) * mix(x * x, 2)"]


def train_step(net, opt, cases):
    opt.zero_grad()
    loss = torch.zeros(1)
    for program, env, want in cases:
        loss = loss + F.smooth_l1_loss(net(program, env), want)
    loss = loss.sum() / len(cases)
    loss.backward()
    opt.step()
    return loss.item()


def run_epoch(epoch, net, opt, data, rng):
    rng.shuffle(data)
    losses = []
    for i in range(0, len(data), 4):
        losses.append(train_step(net, opt, data[i:i + 4]))
    print(f"epoch {epoch} {sum(losses) / len(losses):.5f} worst {max(losses):.5f}")
    return losses


def main(epochs):
    torch.manual_seed(21)
    rng, data = random.Random(21), []
    for i in range(24):
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        program = Parser(SOURCES[i % len(SOURCES)]).expression()
        data.append((program, {"x": torch.tensor([x]), "y": torch.tensor([y])}, torch.tensor([x * y + 0.3])))
    net = Interpreter()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    return [run_epoch(e, net, opt, data, rng) for e in range(epochs)]


MODEL, STEP, EPOCH = "Interpreter.forward", "train_step", "run_epoch"
