# SPDX-License-Identifier: Apache-2.0
"""Every kind of store in every control context: small functions, decorated and not, must leave the same heap.

A program is one function `step(s, c, n)` of a module: a store (STORES), in a context (CONTEXTS), of values of some
kinds (VALUES).  `s` is a State, `c` a tensor whose sign decides branches, `n` a number of rounds.
"""
import itertools
import random

HEADER = '''
import janus

G = 0
H = [0]


class Box:
    def __init__(self, **kw):
        self.__dict__.update(kw)


class Made:
    def __init__(self, a):
        self.a = a


class Slotted:
    __slots__ = ("a", "b")


class Net(janus.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = janus.nn.Parameter(janus.tensor([1.0, 2.0]))
        self.register_buffer("buf", janus.tensor([3.0]))
        self.count = 0


class Class:
    shared = 0
    values = []


def cells():
    cell = 0

    def put(v):
        nonlocal cell
        cell = v

    def add(v):
        nonlocal cell
        cell += v

    def get():
        return cell

    return put, add, get


PUT, ADD, GET = cells()


def default(v, kept=[], *, more={}):
    kept.append(v)
    more[len(kept)] = v
    return kept


def reset():
    """Everything as it was when the module was loaded."""
    global G, PUT, ADD, GET
    G, H[:], Class.values[:], Class.shared = 0, [0], [], 0
    default.__defaults__[0].clear()
    default.__kwdefaults__["more"].clear()
    PUT, ADD, GET = cells()


class State:
    shared = 0

    def __init__(self, c):
        self.a, self.b, self.gone = 0, "b", 7
        self.box, self.slotted, self.net = Box(a=0, z=1), Slotted(), Net()
        self.slotted.a = 0
        self.l, self.d, self.z = [3, 1, 2], {"k": 1, "m": 2}, {1, 2}
        self.ll, self.dl, self.alias = [[1], [2]], {"k": [1]}, self.l
        self.t, self.x, self.p = janus.tensor([1.0, 2.0]), janus.tensor([float(c), 0.5]), janus.tensor([2.0, 3.0], requires_grad=True)
        self.kids = [Box(v=i, kids=[]) for i in range(abs(int(c)))]
        self.v = 0
'''

# name: (statement that stores {v}, expression that reads it)
STORES = {
    "attribute": ("s.a = {v}", "s.a"),
    "new attribute": ("s.fresh = {v}", "getattr(s, 'fresh', 'none')"),
    "attribute of attribute": ("s.box.a = {v}", "s.box.a"),
    "two attributes": ("s.box.p, s.box.q = {v}, {i}", "s.box.z"),
    "augmented attribute": ("s.a += {i}", "s.a"),
    "slot": ("s.slotted.a = {v}", "s.slotted.a"),
    "new slot": ("s.slotted.b = {v}", "hasattr(s.slotted, 'b')"),
    "setattr": ("setattr(s, 'a', {v})", "getattr(s, 'a')"),
    "delete attribute": ("del s.gone", "hasattr(s, 'gone')"),
    "set and delete attribute": ("s.gone = {v}; del s.gone", "getattr(s, 'gone', None)"),
    "new attribute deleted": ("s.tmp = {v}; s.other = {i}; del s.tmp", "getattr(s, 'tmp', None)"),
    "delete and set attribute": ("s.gone = 1; del s.gone; s.gone = {v}", "s.gone"),
    "class attribute": ("Class.shared = {v}", "Class.shared"),
    "class list": ("Class.values.append({v})", "len(Class.values)"),
    "instance shadows class": ("s.shared = {v}", "s.shared"),
    "dict of object": ("s.__dict__['a'] = {v}", "s.a"),
    "vars": ("vars(s)['extra'] = {v}", "s.__dict__.get('extra')"),
    "global": ("global G; G = {v}", "G"),
    "augmented global": ("global G; G += {i}", "G"),
    "global list": ("H.append({v})", "H[-1]"),
    "nonlocal": ("PUT({v})", "GET()"),
    "augmented nonlocal": ("ADD({i})", "GET()"),
    "default argument": ("s.a = default({v})", "len(s.a)"),
    "list item": ("s.l[0] = {v}", "s.l[0]"),
    "last item": ("s.l[-1] = {v}", "s.alias[-1]"),
    "computed item": ("s.l[{i}] = {v}", "s.l[1]"),
    "augmented item": ("s.l[1] += {i}", "s.l[1]"),
    "append": ("s.l.append({v})", "s.alias[-1]"),
    "extend": ("s.l.extend([{v}, {i}])", "len(s.l)"),
    "list +=": ("s.l += [{v}]", "s.l is s.alias"),
    "list = +": ("s.l = s.l + [{v}]", "s.l is s.alias"),
    "list *=": ("s.l *= 2", "len(s.alias)"),
    "insert": ("s.l.insert({i}, {v})", "s.l[0]"),
    "pop": ("s.a = s.l.pop()", "s.a, len(s.l)"),
    "pop first": ("s.a = s.l.pop(0)", "s.a, s.l[0]"),
    "remove": ("s.l.append({v}); s.l.remove(1)", "s.l[0]"),
    "slice": ("s.l[1:2] = [{v}, {i}]", "s.l[1]"),
    "extended slice": ("s.l[::2] = [{v}, {i}]", "s.l[0]"),
    "whole slice": ("s.l[:] = [{v}]", "s.l[0]"),
    "list clear": ("s.l.clear()", "len(s.alias)"),
    "sort": ("s.l.append({i}); s.l.sort()", "s.l[0]"),
    "reverse": ("s.l.append({v}); s.l.reverse()", "s.l[0]"),
    "delete item": ("s.l.append({v}); del s.l[0]", "s.l[0]"),
    "delete slice": ("s.l.append({v}); del s.l[:2]", "s.l[0]"),
    "list of lists": ("s.ll[1].append({v})", "s.ll[1][-1]"),
    "list in dict": ("s.dl['k'].append({v})", "s.dl['k'][-1]"),
    "setdefault append": ("s.dl.setdefault('n', []).append({v})", "s.dl.get('n')"),
    "alias": ("y = s.l; y.append({v})", "s.alias[-1]"),
    "swap": ("s.l[0], s.l[1] = s.l[1], s.l[0]", "s.l[0]"),
    "swap attributes": ("s.a, s.b = s.b, s.a", "s.a"),
    "star": ("s.a, *s.b = [{i}, {v}, {v}]", "s.b"),
    "walrus": ("s.a = (w := {v}); s.b = w", "s.b"),
    "dict item": ("s.d['k'] = {v}", "s.d['k']"),
    "new key": ("s.d['new'] = {v}", "s.d.get('new')"),
    "computed key": ("s.d[{i}] = {v}", "s.d.get(1)"),
    "augmented key": ("s.d['k'] += {i}", "s.d['k']"),
    "delete key": ("del s.d['k']", "'k' in s.d"),
    "delete and set key": ("s.d.pop('k', None); s.d['k'] = {v}", "list(s.d)"),
    "dict pop": ("s.a = s.d.pop('k', {v})", "s.a"),
    "dict popitem": ("s.a = s.d.popitem()", "s.a"),
    "dict clear": ("s.d.clear()", "len(s.d)"),
    "clear and set": ("s.d.clear(); s.d['q'] = {v}", "list(s.d.items())"),
    "dict update": ("s.d.update(k={v}, o={i})", "s.d['k']"),
    "dict update dict": ("s.d.update({{'o': {v}}})", "s.d.get('o')"),
    "dict |=": ("s.d |= {{'o': {v}}}", "s.d.get('o')"),
    "dict setdefault": ("s.d.setdefault('k', {v}); s.d.setdefault('j', {v})", "s.d.get('j')"),
    "from another key": ("s.d['k'] = s.d['m']", "s.d['k']"),
    "dict replaced": ("s.d = {{'k': {v}}}", "s.d['k']"),
    "list replaced": ("s.l = [{v}]", "s.l[0]"),
    "set add": ("s.z.add({i} + 5)", "len(s.z)"),
    "set discard": ("s.z.discard(1)", "1 in s.z"),
    "set |=": ("s.z |= {{9}}", "9 in s.z"),
    "tensor in place": ("s.t.add_({i})", "s.t.sum()"),
    "tensor item": ("s.t[0] = {i}", "s.t[0]"),
    "tensor +=": ("s.t += s.x", "s.t"),
    "tensor fill": ("s.t.fill_({i}); s.t.mul_(s.x)", "s.t"),
    "grad": ("s.p.grad = s.x * {i}", "s.p.grad"),
    "no grad": ("s.p.grad = None", "s.p.grad"),
    "backward": ("(s.p * s.x).sum().backward()", "s.p.grad"),
    "parameter": ("s.net.w.data.add_({i})", "s.net.w.detach()"),
    "buffer": ("s.net.buf = s.x * {i}", "s.net.buf"),
    "buffer in place": ("s.net.buf.mul_({i})", "s.net.buf"),
    "module attribute": ("s.net.count = {v}", "s.net.count"),
    "module count": ("s.net.count += {i}", "s.net.count"),
    "print": ("print('value', {i})", "0"),
    "object made": ("o = Made({v}); o.b = {i}; s.a = o", "s.a.b"),
    "object made and changed": ("o = Made({i}); s.a = o; o.a = {v}; o.more = 1", "s.a.a"),
    "list made and changed": ("y = [{i}]; s.a = y; y.append({v})", "s.a[-1]"),
    "dict made and changed": ("y = {{'q': {i}}}; s.a = y; y['r'] = {v}; del y['q']", "s.a"),
    "one list in two places": ("y = [{v}]; s.a = y; s.b = y; y.append(1)", "s.a is s.b"),
    "list in itself by object": ("y = [{v}]; s.box.l = y; s.ll.append(y); y.append({i})", "s.ll[-1]"),
}

# values at a place where i is a number
VALUES = {
    "int": "{i}",
    "float": "{i} * 0.5",
    "str": "'text'",
    "other str": "'k' if n > 2 else 'z'",
    "None": "None",
    "True": "True",
    "tensor": "s.x * 2",
    "same tensor": "s.x",
    "list": "[{i}, s.x]",
    "empty list": "[]",
    "tuple": "({i}, 'u')",
    "nested": "({i}, (s.x, None))",
    "dict": "{{'i': {i}}}",
    "object": "Made({i})",
    "the list": "s.l",
    "the box": "s.box",
}

# {0}: the store, {1}: the same store of another kind of value, {2}: another store, {r}: what is read
CONTEXTS = {
    "plain": """
i = 1
{0}
return {r}
""",
    "twice": """
i = 1
{0}
x = {r}
i = 2
{1}
return x, {r}
""",
    "condition": """
i = 1
if c.sum() > 0:
    {0}
return {r}
""",
    "condition after": """
i = 1
{0}
if c.sum() > 0:
    {1}
return {r}
""",
    "condition after another": """
i = 1
{2}
if c.sum() > 0:
    {0}
x = {r}
{2}
return x
""",
    "both arms": """
i = 1
if c.sum() > 0:
    {0}
else:
    i = 2
    {1}
return {r}
""",
    "arms in another order": """
i = 1
if c.sum() > 0:
    {0}
    {2}
else:
    {2}
    {1}
return {r}
""",
    "expression": """
i = 1 if c.sum() > 0 else 2
{0}
return {r}
""",
    "constant loop": """
for i in range(3):
    {0}
return {r}
""",
    "loop": """
for i in range(n):
    {0}
return {r}
""",
    "loop after": """
i = 1
{0}
for i in range(n):
    {1}
return {r}
""",
    "loop with a condition": """
i = 1
{0}
for i in range(n):
    if i == 2:
        {1}
return {r}
""",
    "loop over objects": """
for k in s.kids:
    i = k.v
    {0}
return {r}
""",
    "loop of the graph": """
i = 0
while c.sum() < 6:
    c = c + 2
    {0}
    i += 1
return {r}
""",
    "break": """
i = 1
for k in range(n):
    if k == 3:
        break
    {0}
else:
    {1}
return {r}
""",
    "tensor break": """
i = 1
for k in range(4):
    c = c + 1
    if c.sum() > 5:
        {0}
        break
    {2}
return {r}
""",
    "continue": """
for i in range(n):
    if i % 2:
        continue
    {0}
return {r}
""",
    "early return": """
i = 1
{0}
if c.sum() > 0:
    return {r}
i = 2
{1}
return {r}
""",
    "early return after another": """
i = 1
if c.sum() > 0:
    {2}
    return 5
{0}
return {r}
""",
    "callee": """
def callee(s, c, n, i):
    {0}
    if c.sum() > 0:
        {1}
    return {r}
===
x = callee(s, c, n, 1)
return x, callee(s, c, n, 2)
""",
    "recursion": """
def visit(s, c, n, i):
    {0}
    if i < n:
        visit(s, c, n, i + 1)
        {2}
    return {r}
===
return visit(s, c, n, 0)
""",
    "recursion over a tree": """
def visit(s, node, c, n):
    i = node.v
    for k in node.kids:
        visit(s, k, c, n)
    {0}
===
visit(s, s, c, n)
return {r}
""",
    "raises": """
i = 1
{0}
if c.sum() > 0:
    raise ValueError("after a store")
{2}
return {r}
""",
    "fails": """
i = 1
{0}
{2}
s.l[n + 20]
return {r}
""",
    "caught": """
i = 1
try:
    {0}
    if c.sum() > 0:
        raise KeyError(n)
    {2}
except KeyError:
    i = 2
    {1}
return {r}
""",
    "finally": """
i = 1
try:
    {0}
    if n > 3:
        return {r}
finally:
    {2}
return {r}
""",
    "with": """
i = 1
with janus.no_grad():
    {0}
    if c.sum() > 0:
        {1}
return {r}
""",
    "nested": """
def inner(i):
    {0}
inner(1)
if c.sum() > 0:
    inner(2)
return {r}
""",
    "lambda": """
def inner(f, i):
    {0}
    return f(i)
return inner(lambda i: {r}, 1)
""",
    "comprehension": """
def inner(i):
    {0}
    return i
x = [inner(i) for i in range(n)]
return x, {r}
""",
    "generator": """
def inner(n):
    for i in range(n):
        {0}
        yield i
g = inner(n)
x = {r}
return x, list(g), {r}
""",
    "late generator": """
def inner(i):
    {0}
    return i
g = (inner(i) for i in range(n) if i != 1)
{2}
return sum(g), {r}
""",
    "map": """
def inner(i):
    {0}
    return i
m = map(inner, [1, 2])
x = {r}
return x, list(m), {r}
""",
    "and": """
def inner(i):
    {0}
    return i
return c.sum() > 0 and inner(1), n > 2 or inner(2)
""",
}
# stores at {2}: of a kind of their own
OTHERS = ["s.box.z = i", "s.b = 'other'", "s.ll.append(i)", "s.dl['o'] = i", "s.t.mul_(2.0)", "print('other')"]
# what cannot stand in every context
GLOBAL = {"global", "augmented global"}
# (what decides branches, rounds) of the calls
CALLS = [(-1, 3), (1, 2), (-1, 3), (2, 3), (3, 4), (-2, 1), (2, 5), (0, 0), (-3, 4), (1, 1)]


def statement(store, value):
    return STORES[store][0].format(v=VALUES[value].format(i="i"), i="i")


def function(name, store, context, first, second, other):
    """The text of a function `name`, with the functions it needs."""
    text = CONTEXTS[context]
    helper, _, body = text.rpartition("===\n")
    parts = []
    for part, head in ((helper, None), (body, f"def {name}(s, c, n):")):
        if not part:
            continue
        lines, out = part.strip("\n").split("\n"), []
        for line in lines:
            indent = line[:len(line) - len(line.lstrip())]
            for number, value in (("{0}", first), ("{1}", second)):
                line = line.replace(number, statement(store, value))
            line = line.replace("{2}", OTHERS[other]).replace("{r}", STORES[store][1])
            out += [indent + x.strip() for x in line.strip().split("; ")] if "; " in line else [line]
        is_global = [x for x in out if x.strip().startswith("global ")]
        if is_global or store in GLOBAL:
            out = [x for x in out if not x.strip().startswith("global ")]
            out = [y for x in out for y in ([x, x[:len(x) - len(x.lstrip())] + "    global G"] if x.strip().startswith("def ") else [x])]
        if head:
            out = [head] + (["    global G"] if store in GLOBAL else []) + ["    " + x for x in out]
        else:
            out = [x.replace("def callee(", f"def {name}_callee(").replace("visit(", f"{name}_visit(") for x in out]
        if head:
            out = [x.replace("callee(s", f"{name}_callee(s").replace("visit(s", f"{name}_visit(s") for x in out]
        parts.append("\n".join(out))
    return "\n\n\n".join(parts)


# ways into a block, and out of it
CONTROL = ["if c.sum() > 0:", "if n > 3:", "if i:", "for i in range(3):", "for i in range(n):", "for k in s.kids:", "with janus.no_grad():",
           "try:", "while j < n:"]
LEAVES = ["return {r}", "break", "continue", "raise ValueError(i)", "s.l[99]"]


def block(rng, depth, loop):
    """Lines of random statements: stores of all kinds under random control."""
    lines = []
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.55 or not depth:
            store = rng.choice([name for name in STORES if name not in GLOBAL])
            lines += statement(store, rng.choice(list(VALUES))).split("; ")
            continue
        head = rng.choice(CONTROL)
        inner = block(rng, depth - 1, loop or head.startswith(("for", "while")))
        if head.startswith("while"):
            inner = ["j += 1", *inner]
        lines += [head, *["    " + line for line in inner]]
        if head.startswith("try"):
            lines += ["except (ValueError, IndexError, KeyError, AttributeError):", "    i = 1"]
        elif rng.random() < 0.3 and not head.startswith("with"):
            lines += ["else:", *["    " + line for line in block(rng, depth - 1, loop)]]
    if rng.random() < 0.2:
        leave = rng.choice(LEAVES)
        if loop or leave not in ("break", "continue"):
            lines.append(leave.replace("{r}", STORES[rng.choice(list(STORES))][1]))
    return lines


def random_function(name, seed):
    rng = random.Random(f"block {seed}")
    lines = ["i, j = 1, 0", *block(rng, 3, False), f"return i, {STORES[rng.choice(list(STORES))][1]}"]
    return "\n    ".join([f"def {name}(s, c, n):", *lines])


def module(names_and_programs):
    """The text of a module with a function for each program."""
    return HEADER + "".join("\n\n" + text(name, program) + "\n" for name, program in names_and_programs)


def text(name, program):
    """Of programs() or, ("random", seed), of random_function()."""
    return random_function(name, program[1]) if program[0] == "random" else function(name, *program)


def programs(seed, stores=None, contexts=None):
    """(store, context, first value, second value, other store): every store in every context, values by the seed."""
    for store, context in itertools.product(stores or STORES, contexts or CONTEXTS):
        rng = random.Random(f"{seed} {store} {context}")
        yield store, context, rng.choice(list(VALUES)), rng.choice(list(VALUES)), rng.randrange(len(OTHERS))
