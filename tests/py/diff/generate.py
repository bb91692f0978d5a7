# SPDX-License-Identifier: Apache-2.0
"""Random recursive programs for the differential suite: `python3 generate.py SEED [FEATURE,...]` prints one.

A program is a module with a model whose methods visit trees, made of random statements (generate_tables.py), a training
step, what happens after it and what happens between two calls.
"""
import random
import re
import sys

try:
    from . import generate_forms as forms_of, generate_language as language, generate_tables as tables
except ImportError:
    import generate_forms as forms_of
    import generate_language as language
    import generate_tables as tables

SIZE = 3
HEAD = """import functools
import math
import random

import janus
import janus.nn as nn
import janus.nn.functional as F

FACTOR, NUMBERS, SETTINGS = 1.5, [1, 2], {'act': janus.tanh, 'deep': 0}


def combine(values, by=0.5):
    first, *others = values
    for other in others:
        first = first + by * other
    return first


def numpy_like(x):
    return janus.tensor([[sum(x.detach().tolist()[0])] * 3])


def walk(node):
    yield node
    for c in node.children:
        yield from walk(c)


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def joined(self, by):
        return self.a * by + self.b

    @property
    def total(self):
        return self.a + self.b


""" + language.CLASSES + """class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.shift = nn.Parameter(janus.zeros(3))

    def forward(self, x):
        return janus.tanh(self.inner(x)) + self.shift


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, 3)
        self.one, self.two = nn.Linear(3, 3), nn.Linear(6, 3)
        self.square = nn.Parameter(janus.randn(3, 3) * 0.5)
        self.row = nn.Parameter(janus.randn(3) * 0.1)
        self.scale = nn.Parameter(janus.randn(1))
        self.out, self.cell = nn.Linear(3, 3), Cell()
        self.norm, self.drop, self.chain = nn.LayerNorm(3), nn.Dropout(0.3), nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.bank = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.tags = nn.ModuleDict({tag: nn.Linear(3, 3) for tag in 'abc'})
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.register_buffer('total', janus.zeros(1, 3))
        self.register_buffer('seen', janus.zeros(13))
        self.factor, self.mode, self.chosen, self.extra, self.act = 0.75, 'a', 0, None, janus.sigmoid
        self.count, self.best, self.last, self.table, self.counts = 0, 0.5, janus.zeros(1, 3), {}, {}
        self.met, self.path, self.state = [], [], {'n': 0, 'h': janus.ones(1, 3)}

    @property
    def twofold(self):
        return self.factor * 2

    @staticmethod
    def scaled(x, by):
        return x * by

    def mix(self, x, *rest, other=None, power=1):
        for y in rest:
            x = x * 0.5 + y
        return x if other is None else x - other * power
"""
SEARCH = """
    def search(self, x, low, high):
        middle = (low + high) / 2
        if high - low < 0.2:
            return middle
        if float(x.sum()) * middle > 0.2137:
            return self.search(x, low, middle)
        return self.search(x, middle, high)
"""
# what the recursion takes, what it is called with at first and inside
ARGUMENTS = {
    "none": ("", "", ("",)), "weight": (", weight", ", self.row", (", weight",)),
    "depth": (", depth", ", 0", (", depth + 1",)),
    "state": (", state", ", janus.ones(1, 3)", (", state", ", state * 0.5", ", janus.tanh(state + self.row)")),
    "default": (", depth=0, *, scale=1.0", "", ("", ", depth + 1", ", scale=scale * 0.5", ", depth + 2, scale=node.share")),
    "flag": (", flag", ", True", (", not flag", ", node.tag == 'a'", ", flag and node.share > 0.3")),
    "label": (", label", ", 'a'", (", label", ", node.tag", ", 'b' if label == 'a' else 'a'")),
    "pair": (", state", ", (janus.ones(1, 3), janus.zeros(3))",
             (", state", ", (state[1] + state[0], self.row)", ", (state[0] * 0.5, state[1] + 0.1)")),
    "module": (", module", ", self.one", (", module", ", self.tags[node.tag[0]]", ", self.cell")),
    "maybe": (", above", ", None", (", None", ", node", ", above")),
    "list": (", above", ", []", (", above + [node.share]", ", above[-1:]", ", [node.share, *above]")),
    "float": (", share", ", 1.0", (", share * node.share", ", share + 1", ", 0.5")),
}
USES = {
    "weight": ["($e * weight)"], "depth": ["($e * depth)", "($e * 0.5 ** depth)"], "state": ["($e * state)", "($e + state)"],
    "default": ["($e * depth * scale)", "($e + scale)"], "flag": ["($e if flag else $e)", "($e * flag)"],
    "label": ["($e if label == node.tag else $e)", "self.tags[label[0]]($e)"], "pair": ["($e * state[0])", "($e + state[1])"],
    "module": ["module($e)"], "maybe": ["($e if above is None else $e * above.share)"],
    "list": ["($e * (sum(above) + 0.5))", "($e * len(above))"], "float": ["($e * share)"],
}
# what it returns: of $e and $i, what of that is the tensor, and how results of a call are unpacked
GIVES = {
    "tensor": ("$e", "", ("$n",)), "pair": ("$e, $e", "[0]", ("$n", "$n")), "counted": ("$e, $i", "[0]", ("$n", "$j")),
    "dict": ("{'h': $e, 'n': $i}", "['h']", ()), "list": ("[$e, $e, $e]", "[1]", ("$n", "$n", "$n")),
    "object": ("Pair($e, $e)", ".total", ()), "nested": ("($e, ($i, $e))", "[1][1]", ("$n", "($j", "$n)")),
}
TEXT = {"inside": ["optimizer.zero_grad()", "loss = model.loss(roots, log)", "loss.backward()", "optimizer.step()",
                   "return loss.detach()"],
        "outside": ["return model.loss(roots, log)"]}
STEPS = {
    "grad": ["loss = model.loss(roots, log)", "return loss.detach(), janus.autograd.grad(loss, WEIGHTS, allow_unused=True)"],
    "penalty": ["loss = model.loss(roots, log)",
                "grads = janus.autograd.grad(loss, WEIGHTS, create_graph=True, allow_unused=True)",
                "penalty = sum([(g * g).sum() for g in grads if g is not None], loss * 0.5)", "model.zero_grad()",
                "penalty.backward()", "return penalty.detach()"],
    "twice": ["loss = model.loss(roots, log)", "loss.backward(retain_graph=True)", "loss.backward()", "optimizer.step()",
              "return loss.detach()"],
    "each": ["for root in roots:", "    (model.loss([root], log) / 2).backward()", "optimizer.step()", "return len(roots)"],
    "two": ["first, second = model.loss(roots, log), model.loss(roots[:1], log)", "first.backward()", "second.backward()",
            "return first.detach(), second.detach()"],
    "several": ["return {'loss': model.loss(roots, log), 'other': model.loss(roots[:1], log) * model.row.sum()}"],
    "states": ["hs = [FIRST for root in roots]", "return {'loss': model.out(sum(hs)).sum(), 'hs': hs}"],
    "silent": ["with janus.no_grad():", "    return model.loss(roots, log)"],
    "detached": ["loss = model.loss(roots, log)", "return loss.detach() + model.row.sum(), loss"],
}
OUTSIDE = [["result.backward()"], ["result.backward(retain_graph=True)", "result.backward()"], ["(result * result).backward()"],
           ["log.append(janus.autograd.grad(result, list(model.parameters()), allow_unused=True))"],
           ["grads = janus.autograd.grad(result, list(model.parameters()), create_graph=True, allow_unused=True)",
            "sum([(g * g).sum() for g in grads if g is not None], result * 0.5).backward()"]]
AFTER = {
    "several": [["result['loss'].backward()"], ["result['other'].backward()"],
                ["result['other'].backward(retain_graph=True)", "result['loss'].backward()"],
                ["(result['loss'] * result['other']).backward()"]],
    "states": [["result['loss'].backward()"], ["result['hs'][0].sum().backward()"],
               ["result['hs'][-1].sum().backward(retain_graph=True)", "result['loss'].backward()"],
               ["(result['loss'] + result['hs'][0].mean()).backward()"]],
    "detached": [["result[0].backward()"], ["result[1].backward()"], ["(result[0] * result[1]).backward()"]],
}
LOSSES = [
    ["total = janus.zeros(())", "for root in roots:", "    total = total + F.cross_entropy(self.out(FIRST), root.label)"],
    ["total = sum([F.cross_entropy(self.out(FIRST), root.label) for root in roots])"],
    ["hs = [FIRST for root in roots]",
     "total = F.cross_entropy(self.out(janus.cat(hs)), janus.cat([root.label for root in roots]))"],
    ["total = 0.0", "for i, root in enumerate(roots):", "    total += F.cross_entropy(FIRST, root.label) / (i + 1)"],
    ["total = janus.zeros(())", "for root in roots:", "    if root.share > 0.9:", "        continue",
     "    total = total + (FIRST - root.share).pow(2).mean()"],
]
OPTIMIZERS = ["SGD(P, lr=0.05)", "SGD(P, lr=0.05, momentum=0.9)", "SGD(P, lr=0.05, weight_decay=0.1)", "Adam(P, lr=0.01)",
              "Adagrad(P, lr=0.05)", "AdamW(P, lr=0.01)", "RMSprop(P, lr=0.01)"]
TIES = ["self.out.weight = self.square", "self.out.weight = self.one.weight", "self.bank[1] = self.bank[0]",
        "self.alias = self.words", "self.cell.inner = self.one", "self.row = self.one.bias"]
FEATURES = ("draws", "weights", "shapes", "empty", "special", "ints", "reads", "writes", "loops", "language", "errors",
            "gradients", "inplace", "changes", "barriers", "mutual", "wide", "dag", "sparse", "many", "vmap", "checkpoint",
            "double", "optimizers", "arguments", "steps", "classes", "containers", "generators", "exceptions", "globals",
            "silent")


class Function:
    """A method of the recursion: what it takes and gives."""

    def __init__(self, name, takes, gives, memo):
        self.name, self.takes, self.gives, self.memo = name, takes, gives, memo


class Program:
    """The text of one program, made of what is in all programs and of some features."""

    def __init__(self, seed, features=()):
        self.random, self.features, self.names = random.Random(seed), tuple(features), 0
        choice, chance = self.random.choice, self.random.random
        self.forms = [forms_of.FORMS["base"], *(forms_of.FORMS[f] for f in features if f in forms_of.FORMS)]
        self.blocks = [tables.STATEMENTS["base"], *(tables.STATEMENTS[f] for f in features if f in tables.STATEMENTS)]
        takes = list(ARGUMENTS) if "arguments" in features else ["none", "none", "weight", "depth", "state"]
        gives = list(GIVES) if "arguments" in features else ["tensor", "tensor", "pair"]
        self.functions = [Function(name, choice(takes), choice(gives), chance() < (0.5 if "dag" in features else 0.1))
                          for name in ("visit", "phrase", "clause")[:self.random.randrange(2, 4) if "mutual" in features else 1]]
        self.key = choice(["node.word", "node", "id(node)", "(node.word, node.rounds)"])
        steps = {**TEXT, **STEPS} if {"gradients", "steps"} & set(features) else TEXT
        self.kind = choice(list(steps))
        self.lines = steps[self.kind]
        init = [choice(TIES)] if "weights" in features and chance() < 0.5 else []
        if "sparse" in features:
            init += ["self.words = nn.Embedding(12, 3, sparse=True)"]
        parts = [HEAD.replace("    @property\n    def twofold", indented(init, 2) + "    @property\n    def twofold", 1), SEARCH]
        parts += [self.method(f) for f in self.functions] + [self.grow(), self.loss(), self.step(), self.after(), self.between()]
        trees = {name: True for name in ("wide", "dag", "many") if name in features}
        options = {name: True for name in ("checkpoint", "double") if name in features}
        optimizer = choice(OPTIMIZERS if {"optimizers", "sparse", "changes"} & set(features) else OPTIMIZERS[:1])
        parts += [f"TREES, OPTIONS = {trees}, {options}\n", "\n\ndef make_optimizer(model):\n"
                  f"    return janus.optim.{optimizer.replace('P', 'model.parameters()', 1)}\n"]
        self.text = "".join(parts)

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def fill(self, text, scope, depth, own):
        """One line of a form or statement with everything in place of its signs."""
        def put(found):
            sign = found[2]
            if not sign:
                return self.call(found[1], scope)
            if sign == "n":
                if depth is None or "n" not in own:
                    own["n"] = self.name()
                return own["n"]
            if sign in "km":
                own.setdefault(sign, self.name())
                return own[sign]
            if sign == "i":
                return self.random.choice(scope["i"])
            if sign == "c":
                return self.fill(self.random.choice(forms_of.CONDITIONS), scope, 0, {})
            if sign == "r":
                return self.results(scope)
            if sign == "v":
                return self.random.choice(scope["v"])
            inner = {**scope, "v": [*scope["v"], own["n"], own["n"]]} if sign == "x" else scope
            return self.expression(inner, 1 if depth is None else depth - 1)
        return re.sub(r"\$call\(([^()]*)\)|\$([a-z])", put, text)

    def expression(self, scope, depth=2):
        if depth <= 0 or self.random.random() < 0.2:
            return self.random.choice(scope["v"])
        forms = self.random.choice(self.forms)
        if self.random.random() < 0.15 and USES.get(scope["takes"]):
            forms = USES[scope["takes"]]
        return self.fill(self.random.choice(forms), scope, depth, {})

    def call(self, node, scope, whole=False):
        function = self.random.choice(self.functions)
        inside = self.random.choice(ARGUMENTS[function.takes][2]) if function is scope["of"] else ARGUMENTS[function.takes][1]
        words = [w for w in inside.split(", ") if w]
        by_place, by_name = [w for w in words if not named(w)], [w for w in words if named(w)]
        text = f"self.{function.name}({', '.join([node, 'log', 'memo', *by_place, *by_name])})"
        return (function, text) if whole else text + GIVES[function.gives][1]

    def results(self, scope):
        return self.fill(GIVES[scope["of"].gives][0], scope, 2, {})

    def block(self, scope, simple):
        """Some lines, and the names they leave."""
        blocks = self.random.choice(self.blocks if self.random.random() < 0.8 else self.blocks[:1])
        lines = self.random.choice(blocks)
        while simple and (any("$b" in line or "$call" in line for line in lines)):
            lines = self.random.choice(blocks)
        out, own, inner, level = [], {}, scope, 0
        for line in lines:
            text = line.lstrip()
            pad = len(line) - len(text)
            if pad < level:
                inner = scope
            level = pad
            if text == "$b":
                inner = {**scope, "v": list(scope["v"]), "i": list(scope["i"])}
                out += [" " * pad + more for more in self.statements(inner, 1, True)]
            else:
                if "$n" in text and "n" not in own:
                    own["n"] = self.name()
                out.append(" " * pad + self.fill(text, inner, 2, own))
        if "n" in own:
            scope["v"].append(own["n"])
        return out

    def statements(self, scope, n, simple=False):
        return [line for _ in range(n) for line in (
            [f"{self.name()} = {self.expression(scope)}"] if self.random.random() < 0.4 else self.block(scope, simple))]

    def assigned(self, scope, n):
        """Statements, with the names of assignments known to what follows."""
        out = []
        for _ in range(n):
            lines = self.statements(scope, 1)
            found = re.match(r"(t\d+) = ", lines[0]) if len(lines) == 1 else None
            if found and found[1] not in scope["v"] and not lines[0].endswith(".item()"):
                scope["v"].append(found[1])
            out += lines
        return out

    def children(self, scope):
        what = self.random.random()
        if what < 0.25:
            lines = ["x = self.words(janus.tensor([node.word]))", "for child in node.children:",
                     f"    x = x + janus.tanh({self.call('child', scope)})"]
            scope["v"].append("x")
        elif what < 0.4:
            lines = [f"hs = [{self.call('child', scope)} for child in node.children]",
                     f"x = {self.random.choice(['sum(hs)', 'janus.stack(hs).sum(0)', 'hs[0] + hs[-1]', 'sum(hs[1:], hs[0])'])}"]
            scope["v"].append("x")
        else:
            lines = []
            for side in self.random.sample(["left", "right"], 2):
                function, call = self.call(f"node.{side}", scope, True)
                names, place = [], 0
                for sign in GIVES[function.gives][2]:
                    name = f"{side[0]}{place or ''}"
                    place += 1
                    scope["v" if "$n" in sign else "i"].append(name)
                    names.append(sign.replace("$n", name).replace("$j", name))
                if names:
                    lines.append(f"{', '.join(names)} = {call}")
                else:
                    scope["v"].append(side[0])
                    lines.append(f"{side[0]} = {call}{GIVES[function.gives][1]}")
        return lines

    def method(self, function):
        ints = ["node.word", "node.rounds", "len(node.children)", "1"]
        scope = {"v": ["x"], "i": list(ints), "takes": function.takes, "of": function}
        leaf = self.random.choice(["self.words(janus.tensor([node.word]))", "self.words(janus.tensor([node.word]))",
                                   "self.words(node.index)", "self.words.weight[node.word].unsqueeze(0)",
                                   "node.vector + self.row"])
        memo = f"({function.name!r}, {self.key})" if len(self.functions) > 1 else self.key
        lines = [f"if {memo} in memo:", f"    return memo[{memo}]"] if function.memo else []
        lines += ["if node.left is None:", f"    x = {leaf}",
                  *indent(self.assigned(scope, self.random.randrange(3))), f"    return {self.results(scope)}"]
        scope = {**scope, "v": [], "i": list(ints)}
        lines += self.children(scope) + self.assigned(scope, self.random.randrange(1, 5))
        results = self.results(scope)
        lines += [f"memo[{memo}] = result = {results}", "return result"] if function.memo else [f"return {results}"]
        head = ARGUMENTS[function.takes][0]
        return "\n" + indented([f"def {function.name}(self, node, log, memo{head}):", *indent(lines)], 1)

    def grow(self):
        if "reads" not in self.features:
            return ""
        keep, self.forms = self.forms, self.forms[:1]
        lines = [form.replace("node.share", "0.7").replace("node.tag == 'a'", "depth == 1") for form in (
            "def grow(self, x, depth):",
            f"    if depth == 0 or {self.random.choice(['x.sum() > 0.3137', 'float(x.max()) < 0.0513', 'x[0, 0] > x[0, 2]'])}:",
            "        return x * (depth + 1)",
            "    left = self.grow(janus.tanh(self.one(x)), depth - 1)",
            f"    right = self.grow({self.random.choice(['x * self.scale', 'left + self.row', 'self.cell(x)'])}, depth - 1)",
            "    return left * 0.5 + right")]
        self.forms = keep
        return "\n" + indented(lines, 1)

    def first(self):
        function = self.functions[0]
        return (f"self.{function.name}(root, log, {self.random.choice(['{}', 'memo'])}{ARGUMENTS[function.takes][1]})"
                + GIVES[function.gives][1])

    def loss(self):
        call = self.first()
        lines = [line.replace("FIRST", call) for line in self.random.choice(LOSSES)]
        if "vmap" in self.features:
            lines = ["total = janus.zeros(())", "for root in roots:",
                     f"    hs = vmap(lambda x: janus.tanh({call}.squeeze(0) + x))(janus.cat([self.square, root.vector]))",
                     "    total = total + hs.pow(2).sum()"]
        if "writes" in self.features and self.random.random() < 0.5:
            lines += ["for value in log:", "    total = total + 0.1 * value"]
        return "\n" + indented(["def loss(self, roots, log):", *indent(["memo = {}", *lines, "return total"])], 1)

    def step(self):
        weights = self.random.choice(["list(model.parameters())", "[model.row, model.square]", "[model.words.weight, model.scale]"])
        lines = [line.replace("WEIGHTS", weights).replace("FIRST", self.first().replace("self.", "model.").replace("memo", "{}"))
                 for line in self.lines]
        return "\n\n" + indented(["def make_step(model, optimizer):", "    def step(roots, log):", *indent(lines, 2),
                                  "    return step"], 0)

    def after(self):
        choice, extended = self.random.choice, {"gradients", "steps"} & set(self.features)
        lines = ["return"] if self.kind != "outside" else choice(OUTSIDE if extended else OUTSIDE[:1])
        lines = choice(AFTER[self.kind]) if self.kind in AFTER else lines
        if self.random.random() < 0.5:
            lines = ["model.zero_grad()", *lines]
        return "\n\n" + indented(["def after(result, model, log):", *indent(lines)], 0)

    def between(self):
        lines = []
        if "changes" in self.features:
            for block in self.random.sample(tables.BETWEEN, self.random.randrange(1, 4)):
                globals_ = [line for line in block if line.startswith("global ")]
                lines = globals_ + lines + [f"if call {self.random.choice(['> 0', '== 3', '% 2', '> 2'])}:"]
                lines += indent([line for line in block if line not in globals_])
        return "\n\n" + indented(["def between(call, model, optimizer):", *indent(lines or ["return"])], 0) + "\n\n"


def named(word):
    return re.match(r"\w+=[^=]", word) is not None


def indent(lines, levels=1):
    return ["    " * levels + line for line in lines]


def indented(lines, levels):
    return "".join(line + "\n" for line in indent(lines, levels))


if __name__ == "__main__":
    print(Program(int(sys.argv[1]), sys.argv[2].split(",") if len(sys.argv) > 2 else ()).text, end="")
