# SPDX-License-Identifier: Apache-2.0
"""Random recursive programs for the differential suite: `python3 generate.py SEED` prints one.

A program is a module with a recursive method over trees, made of random statements: operations, branches on host
values and on tensors, loops, early returns, no_grad, writes to nodes and lists, a memo, arguments of several kinds;
and a training step around it.
"""
import random
import sys

SIZE = 3
HEAD = f"""import janus
import janus.nn as nn
import janus.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, {SIZE})
        self.one, self.two = nn.Linear({SIZE}, {SIZE}), nn.Linear({2 * SIZE}, {SIZE})
        self.square = nn.Parameter(janus.randn({SIZE}, {SIZE}) * 0.5)
        self.row = nn.Parameter(janus.randn({SIZE}) * 0.1)
        self.scale = nn.Parameter(janus.randn(1))
        self.out = nn.Linear({SIZE}, {SIZE})
        self.count = 0
"""
CONDITIONS = ["node.share > 0.4", "node.rounds == 1", "node.tag in ('a', 'b')", "node.word > 5"]
ON_TENSORS = ["{}.sum() > 0", "node.share > 0.5 and {}.max() > 0.1"]
WRITES = {"live": "log.append({}.sum())", "words": "log.append(node.word)", "detached": "log.append({}.detach())",
          "count": "self.count += node.rounds"}
STORES = {"live": "node.h = {}", "detached": "node.h = {}.detach()", "word": "node.h = node.word + 1"}
# what the recursion takes, what it is called with at first and inside
ARGUMENTS = {"none": ("", "", ("",)), "weight": (", weight", ", self.row", (", weight",)),
             "depth": (", depth", ", 0", (", depth + 1",)),
             "state": (", state", f", janus.ones(1, {SIZE})",
                       (", state", ", state * 0.5", ", janus.tanh(state + self.row)"))}


class Program:
    """The text of one program, and what of it the driver must know."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        choice, chance = self.random.choice, self.random.random
        self.pair = chance() < 0.3  # of results
        self.argument = choice(list(ARGUMENTS))
        self.log = choice(["", *WRITES])
        self.store = choice(["", *STORES])
        self.memo = chance() < 0.2
        self.trains = chance() < 0.5  # with backward() and step() inside
        self.names = 0
        self.text = HEAD + "\n".join(self.visit() + self.loss() + self.step()) + "\n"

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def expression(self, values, depth=2):
        choice = self.random.choice
        if depth == 0 or self.random.random() < 0.2:
            return choice(values)
        form = choice([
            "janus.tanh({})", "janus.sigmoid({})", "({} + {})", "({} * {})", "({} - {})", "({} @ self.square)",
            "self.one({})", "self.two(janus.cat([{}, {}], 1))", "({} + self.row)", "({} * self.scale)", "{}.relu()",
            "({} * node.share)", "{}.softmax(1)", "F.dropout({}, 0.3)", "janus.stack([{}, {}]).sum(0)",
            "({} if node.tag == 'a' else {})", choice(["{}.detach()", "{}.clone()", "{}.clone()"]), "{}[:, [2, 0, 1]]",
            "janus.where({} > 0, {}, {})", "({} * weight)" if self.argument == "weight" else "(-{})",
            "({} * state)" if self.argument == "state" else "{}.abs()"])
        return form.format(*(self.expression(values, depth - 1) for _ in range(form.count("{}"))))

    def results(self, values):
        first = self.expression(values, 1)
        return f"{first}, {self.expression(values, 1)}" if self.pair else first

    def branch(self, values, new):
        condition = self.random.choice(CONDITIONS + ON_TENSORS).format(self.random.choice(values))
        then = list(values)
        lines = [f"if {condition}:", *indent(self.statements(then, 1, simple=True)),
                 f"    {new} = {self.expression(then, 1)}", "else:", f"    {new} = {self.expression(values, 1)}"]
        values.append(new)
        return lines

    def statement(self, values, simple):
        choice, what, new = self.random.choice, self.random.random(), self.name()
        if not simple and what < 0.15:
            return self.branch(values, new)
        if not simple and what < 0.27:
            lines = [f"{new} = {choice(values)}", "for i in range(node.rounds):",
                     f"    {new} = {self.expression([*values, new], 1)}"]
        elif not simple and what < 0.33:
            rare = choice(["node.share > 0.8", "node.rounds == 2 and node.tag == chr(99)"])
            return [f"if {rare}:", f"    return {self.results(values)}"]
        elif not simple and what < 0.39:
            lines = ["with janus.no_grad():", f"    {new} = {self.expression(values, 1)}"]
        elif not simple and what < 0.45 and self.log:
            return [WRITES[self.log].format(choice(values))]
        elif not simple and what < 0.51 and self.store:
            return [STORES[self.store].format(choice(values))]
        else:
            lines = [f"{new} = {self.expression(values)}"]
        values.append(new)
        return lines

    def statements(self, values, n, simple=False):
        return [line for _ in range(n) for line in self.statement(values, simple)]

    def children(self, values):
        inside = self.random.choice(ARGUMENTS[self.argument][2])
        if self.random.random() < 0.25:
            values.append("x")
            return ["x = self.words(janus.tensor([node.word]))", "for child in node.children:",
                    f"    y = self.visit(child{inside}, log, memo){'[0]' if self.pair else ''}",
                    "    x = x + janus.tanh(y)"]
        lines = []
        for side in self.random.sample(["left", "right"], 2):
            new = [side[0], side[0] + "2"][:1 + self.pair]
            values += new
            lines.append(f"{', '.join(new)} = self.visit(node.{side}{inside}, log, memo)")
        return lines

    def visit(self):
        lines = ["if node.word in memo:", "    return memo[node.word]"] if self.memo else []
        values = ["x"]
        lines += ["if node.left is None:", "    x = self.words(janus.tensor([node.word]))",
                  *indent(self.statements(values, self.random.randrange(3))), f"    return {self.results(values)}"]
        values = []
        lines += self.children(values) + self.statements(values, self.random.randrange(1, 5))
        results = self.results(values)
        lines += [f"memo[node.word] = result = {results}", "return result"] if self.memo else [f"return {results}"]
        return ["", f"    def visit(self, node{ARGUMENTS[self.argument][0]}, log, memo):", *indent(lines, 2)]

    def loss(self):
        lines = ["total = janus.zeros(())", "for root in roots:",
                 f"    h = self.visit(root{ARGUMENTS[self.argument][1]}, log, {{}}){'[0]' if self.pair else ''}",
                 "    total = total + F.cross_entropy(self.out(h), root.label)"]
        if self.log == "live":
            lines += ["for value in log:", "    total = total + 0.1 * value"]
        return ["", "    def loss(self, roots, log):", *indent([*lines, "return total"], 2)]

    def step(self):
        lines = ["return model.loss(roots, log)"]
        if self.trains:
            lines = ["optimizer.zero_grad()", "loss = model.loss(roots, log)", "loss.backward()", "optimizer.step()",
                     "return loss.detach()"]
        return ["", "", "def make_step(model, optimizer):", "    def step(roots, log):", *indent(lines, 2),
                "    return step"]


def indent(lines, levels=1):
    return ["    " * levels + line for line in lines]


if __name__ == "__main__":
    print(Program(int(sys.argv[1])).text, end="")
