# SPDX-License-Identifier: Apache-2.0
"""Programs about special methods, generated from the table of slots that the converter is made of
(`pyfront/convert/model/slots.def`): each slot, on each kind of operand, on each side, and each way that a class can
have, lose, inherit or hide a method.

`cases(rows)` gives (name, text); the text defines `make(function)`, which decorates `f` and returns a list of calls,
each a function without arguments that returns what is observed.  Methods return tuples that say who was called.
"""
import re

ROW = re.compile(r'^JCV_SLOT_(\w+)\((\w+), "(\w+)"(?:, "(\w+)")?(?:, "(\w+)")?', re.M)
SIGNS = {"ADD": "+", "SUB": "-", "MUL": "*", "TRUEDIV": "/", "FLOORDIV": "//", "MOD": "%", "POW": "**", "MATMUL": "@",
         "LSHIFT": "<<", "RSHIFT": ">>", "BITAND": "&", "BITOR": "|", "BITXOR": "^",
         "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
# What Python's syntax or builtins do with the slots that are not operators; `a` has the method.
USES = {"NEG": "-a", "POS": "+a", "INVERT": "~a", "ABS": "abs(a)", "BOOL": "1 if a else 2", "LEN": "len(a)",
        "ITER": "[i for i in a]", "NEXT": "next(a)", "CONTAINS": "3 in a", "GETITEM": "a[2]", "CALL": "a(4)",
        "INT": "int(a)", "FLOAT": "float(a)", "INDEX": "x[a]", "HASH": "min(hash(a), 1000)", "REVERSED": "list(reversed(a))",
        "STR": "str(a)", "REPR": "repr(a)", "FORMAT": "f'{a}'"}
STATEMENTS = {"SETITEM": "a[2] = 5", "DELITEM": "del a[2]", "ENTER": "with a: pass", "EXIT": "with a: pass"}
# What the method has to return to be of use there; {0} is a number that tells methods apart.
RETURNS = {"BOOL": "{0} % 2 == 0", "LEN": "{0}", "ITER": "iter([{0}])", "CONTAINS": "{0} % 2", "INT": "{0}", "FLOAT": "{0} / 2",
           "INDEX": "{0} % 2", "HASH": "{0}", "REVERSED": "iter([{0}])", "STR": "'s{0}'", "REPR": "'r{0}'", "FORMAT": "'f{0}'",
           "EXIT": "None", "SETITEM": "None", "DELITEM": "None"}
OPERANDS = ("3", "2.5", "True", "'s'", "None", "(1, 2)", "[1]", "{'k': 1}", "x", "range(3)", "Other()", "len", "int", "A(9)")
HEAD = """import janus


class Other:
    pass


x = janus.tensor([1.0, 2.0])


def make(function):
    class A:
        def __init__(self, v):
            self.v = v
{body}
"""
TAIL = """
    @function
    def f(a, b, x):
        {statement}
        return ({result}, x + 1)

    def call(a=one, b=two):
        r = f(a, b, x)
        return (r, r[0] is a, r[0] is b, a, b)
{extra}
    return [{calls}]
"""


def read(text):
    return [m.groups() for m in ROW.finditer(text)]


def method(name, tag, returns=None, more="*o", indent=8):
    """A method that says who it is."""
    pad = " " * indent
    value = returns or f"('{tag}', self.v, *[type(i).__name__ for i in o])"
    return f"\n{pad}def {name}(self, {more}):\n{pad}    self.v = self.v + 1\n{pad}    return {value}\n"


def declining(text):
    return re.sub(r"return .*", "return NotImplemented", text)


def program(body, a, b, result, statement="pass", extra="", calls=None, more=""):
    indent = "\n".join("    " + line if line.strip() else line for line in more.strip("\n").split("\n")) if more else ""
    text = HEAD.format(body=body or "") + (indent + "\n" if indent else "")
    text += f"\n    one, two = {a}, {b}\n"
    return text + TAIL.format(statement=statement, result=result, extra=extra, calls=calls or ", ".join(["call"] * 4))


def changes(name, old, new_body):
    """Calls with a change of the class between them."""
    return f"""
    def change():
{new_body}
        return None
""", "call, call, call, change, call, call, call"


def classes(row, kind, sign):
    """(name, body, more, a, b, extra, calls) for the ways to have a method of a binary slot."""
    slot, fwd, back, _ = row
    f, r = method(fwd, "A" + fwd), method(back, "A" + back) if back != fwd else ""
    no_f, no_r = method(fwd, "", "NotImplemented"), method(back, "", "NotImplemented") if back != fwd else ""
    sub = "class S(A):\n"
    both = f + r
    s_f, s_r = method(fwd, "S" + fwd, indent=4), method(back, "S" + back, indent=4)
    meta = "class M(type):\n    v = 1\n" + method(fwd, "M" + fwd, indent=4) + "\n\nclass C(metaclass=M):\n    pass\n"
    other = "class B:\n    v = 5\n" + s_f.replace("'S", "'B") + (s_r.replace("'S", "'B") if back != fwd else "")
    yield "same class", both, "", "A(1)", "A(2)", "", None
    yield "subclass right", both, sub + "    pass\n", "A(1)", "S(2)", "", None
    yield "subclass overrides", both, sub + (s_r if back != fwd else s_f), "A(1)", "S(2)", "", None
    yield "subclass overrides forward", both, sub + s_f, "A(1)", "S(2)", "", None
    yield "subclass left", both, sub + s_f, "S(1)", "A(2)", "", None
    yield "subclass declines", both, sub + declining(s_r), "A(1)", "S(2)", "", None
    yield "two classes", both, other, "A(1)", "B()", "", None
    yield "left declines", no_f, other, "A(1)", "B()", "", None
    yield "both decline", no_f + no_r, "", "A(1)", "A(2)", "", None
    yield "two decline", no_f + no_r, "class B(A):\n    pass\n", "A(1)", "B(2)", "", None
    yield "none has it", "", "", "A(1)", "A(2)", "", None
    yield "none has it, one object", "", "one_ = A(1)\n", "one_", "one_", "", None
    yield "only reflected", r, "", "Other()", "A(2)", "", None
    yield "instance attribute", both, "", "A(1)", "A(2)", f"\n    one.{fwd} = lambda *o: 'instance'\n    two.{back} = lambda *o: 'instance'\n", None
    yield "only an instance attribute", "", "", "A(1)", "A(2)", f"\n    one.{fwd} = lambda *o: 'instance'\n    two.{back} = lambda *o: 'instance'\n", None
    yield "None", f"\n        {fwd} = None\n", other, "A(1)", "B()", "", None
    yield "static", f"\n        @staticmethod\n        def {fwd}(o):\n            return 'static'\n", "", "A(1)", "A(2)", "", None
    yield "class method", f"\n        @classmethod\n        def {fwd}(cls, o):\n            return cls.__name__\n", "", "A(1)", "A(2)", "", None
    yield "builtin", f"\n        {fwd} = len\n", "", "A(1)", "[2]", "", None
    yield "property", f"\n        @property\n        def {fwd}(self):\n            return lambda o: 'property'\n", "", "A(1)", "A(2)", "", None
    yield "metaclass", "", meta, "C", "3", "", None
    yield "method of a class, used on the class", both, "", "A", "A", "", None
    yield "diamond", "", ("class L(A):\n" + s_f.replace("'S", "'L") + "\n\nclass R(A):\n" + s_f.replace("'S", "'R") +
                          "\n\nclass D(L, R):\n    pass\n"), "D(1)", "A(2)", "", None
    for what, code in (("changed", f"A.{fwd} = lambda self, o: 'changed'"), ("deleted", f"del A.{fwd}"),
                       ("reflected changed", f"A.{back} = lambda self, o: 'changed'"),
                       ("unrelated", "A.n = len(A.__name__)")):
        extra, calls = changes(fwd, f, "        " + code)
        yield what + " between calls", both, sub + "    pass\n", "S(1)" if what != "reflected changed" else "Other()", "A(2)", extra, calls
    extra, calls = changes(fwd, f, f"        S.{fwd} = lambda self, o: 'put before'")
    yield "put before between calls", both, sub + "    pass\n", "S(1)", "A(2)", extra, calls
    extra, calls = changes(fwd, f, "        one.__class__ = S")
    yield "class of the object changed", both, sub + s_f, "A(1)", "A(2)", extra, calls


def binary(rows):
    for kind, slot, fwd, back, inplace in rows:
        if kind not in ("BINARY", "COMPARE"):
            continue
        sign = SIGNS[slot]
        body = method(fwd, "A" + fwd) + (method(back, "A" + back) if back != fwd else "")
        for o in OPERANDS:
            yield f"{slot} object {o}", program(body, "A(1)", o, f"a {sign} b")
            yield f"{slot} {o} object", program(body, o, "A(1)", f"a {sign} b")
            no = declining(body)
            yield f"{slot} declining {o}", program(no, "A(1)", o, f"a {sign} b")
        for what, b, more, x, y, extra, calls in classes((slot, fwd, back, inplace), kind, sign):
            yield f"{slot} {what}", program(b, x, y, f"a {sign} b", "pass", extra, calls, more)
        if not inplace:
            continue
        self = method(inplace, "", "self")
        for what, b, x, y in (("returns itself", body + self, "A(1)", "A(2)"), ("returns another", body + method(inplace, "A" + inplace), "A(1)", "x"),
                              ("declines", body + method(inplace, "", "NotImplemented"), "A(1)", "3"),
                              ("alone", self, "A(1)", "x"), ("not there", body, "A(1)", "x"), ("None", body + f"\n        {inplace} = None\n", "A(1)", "3"),
                              ("right only", body + self, "3", "A(1)"), ("tensor", body + self, "janus.tensor([3.0])", "A(1)")):
            yield f"{slot} in place {what}", program(b, x, y, "a", f"a {sign}= b")
        yield (f"{slot} in place instance attribute",
               program(body + self, "A(1)", "x", "a", f"a {sign}= b", f"\n    one.{inplace} = lambda *o: 'instance'\n"))
        for what, code in (("changed", f"A.{inplace} = lambda self, o: 'changed'"), ("deleted", f"del A.{inplace}")):
            extra, calls = changes(inplace, "", "        " + code)
            yield f"{slot} in place {what} between calls", program(body + self, "A(1)", "x", "a", f"a {sign}= b", extra, calls)


def others(rows):
    for kind, slot, name, *_ in rows:
        if slot not in USES and slot not in STATEMENTS:
            continue
        use, statement = USES.get(slot, "a"), STATEMENTS.get(slot, "pass")
        number = iter(range(11, 99))

        def m(tag, indent=8):
            return method(name, tag, RETURNS.get(slot, "").format(next(number)) or None, indent=indent)

        partner = {"ENTER": method("__exit__", "", "None"), "EXIT": method("__enter__", "", "1")}.get(slot, "")
        body = m("A") + partner
        sub = "class S(A):\n"

        def p(b, a="A(1)", more="", extra="", calls=None, use=use):
            return program(b, a, "None", use, statement, extra, calls, more)

        yield f"{slot} plain", p(body)
        yield f"{slot} inherited", p(body, "S(1)", sub + "    pass\n")
        yield f"{slot} overridden", p(body, "S(1)", sub + m("S", 4))
        yield f"{slot} absent", p(partner)
        yield f"{slot} instance attribute", p(body, extra=f"\n    one.{name} = lambda *o: 77\n")
        yield f"{slot} only an instance attribute", p(partner, extra=f"\n    one.{name} = lambda *o: 77\n")
        yield f"{slot} None", p(partner + f"\n        {name} = None\n")
        yield f"{slot} static", p(partner + f"\n        @staticmethod\n        def {name}(*o):\n            return 78\n")
        yield f"{slot} class method", p(partner + f"\n        @classmethod\n        def {name}(cls, *o):\n            return 79\n")
        yield f"{slot} returns None", p(partner + method(name, "", "None"))
        yield f"{slot} returns a string", p(partner + method(name, "", "'text'"))
        yield f"{slot} returns a list", p(partner + method(name, "", "[1, 2]"))
        yield f"{slot} returns True", p(partner + method(name, "", "True"))
        yield f"{slot} returns minus one", p(partner + method(name, "", "-1"))
        yield f"{slot} returns a tensor", p(partner + method(name, "", "x"))
        yield f"{slot} returns itself", p(partner + method(name, "", "self"))
        yield f"{slot} metaclass", p("", "C", "class M(type):\n    v = 1\n" + m("M", 4) + partner.replace("\n    ", "\n") + "\n\nclass C(metaclass=M):\n    v = 1\n")
        yield f"{slot} used on the class", p(body, "A")
        for what, code in (("changed", f"A.{name} = lambda self, *o: 80"), ("deleted", f"del A.{name}"),
                           ("put before", f"S.{name} = lambda self, *o: 81"), ("unrelated", "A.n = 3"), ("class changed", "one.__class__ = T")):
            extra, calls = changes(name, "", "        " + code)
            yield f"{slot} {what} between calls", p(body, "S(1)", sub + "    pass\n\n\nclass T(A):\n" + m("T", 4), extra, calls)
        base = m("L")
        yield f"{slot} diamond", p("", "D(1)", "class L(A):\n" + base.replace("\n        ", "\n    ") + "\n\nclass R(A):\n" + m("R", 4) +
                                   partner.replace("\n        ", "\n    ") + "\n\nclass D(L, R):\n    pass\n")
    length, true, items = method("__len__", "", "0"), method("__bool__", "", "True"), method("__getitem__", "", "[7, 8][o[0]]")
    yield "BOOL by length", program(length, "A(1)", "None", "1 if a else 2")
    yield "BOOL before length", program(length + true, "A(1)", "None", "(1 if a else 2, not a, a and 3, a or 4)")
    yield "ITER by items", program(items, "A(1)", "None", "[i for i in a]")
    yield "CONTAINS by items", program(items, "A(1)", "None", "(8 in a, 9 in a, 7 not in a)")
    yield "CONTAINS by iteration", program(method("__iter__", "", "iter([b, 5])"), "A(1)", "A(3)", "(b in a, 5 in a, 9 in a)")
    yield "CONTAINS first", program(method("__iter__", "", "iter([5])") + method("__contains__", "", "[]"), "A(1)", "None", "(5 in a, 6 in a)")
    equal = method("__eq__", "A", "self.v == getattr(o[0], 'v', o[0])") + "\n        __hash__ = None\n"
    for where in ("[b, 2]", "(2, b)", "[A(7), a]", "{'k': a}.values()"):
        yield f"CONTAINS equal in {where}", program(equal, "A(1)", "A(5)", f"a in {where}")
        yield f"CONTAINS number in {where}", program(equal, "A(5)", "A(5)", f"5 in {where}")
    for how in ("a < b < x", "a == b != x", "x > b >= a", "a in [b] in x", "x < x + 1 < x + 2", "x[0] < x[1] < x[0]", "x[0] > x[1] > x[0]"):
        for body in (method("__lt__", "A") + method("__eq__", "", "0") + method("__ge__", "", "[]"),):
            yield f"chain {how}", program(body, "A(1)", "A(2)", how)


# Bodies of f, with managers `a` and `b` that count their calls.
WITH = ("with a as r: pass", "with a as r, b as s: r = (r, s)", "with a:\n    with b as r: r = r + 1", "with a: return (a.v, b.v)",
        "r = 0\nfor i in range(3):\n    with a:\n        if i == 1: continue\n        r = r + i", "with a as b.w: r = b.w",
        "r = 0\nfor i in range(3):\n    with a as r:\n        if i == 1: break", "with janus.no_grad(), a as r: r = (r, janus.is_grad_enabled())",
        "with a as (r, s): pass", "with a as r:\n    if x.sum() > 2: r = r + 1", "with a as r:\n    a.v = 10 * a.v", "with a as r: r = 1 / 0",
        "with 3 as r: pass", "with a.v as r: pass")
# Iteration by a method that does something between the items.
LOOPS = ("r = 0\nfor i in a:\n    a.v = a.v + 10\n    r = r + i + a.v", "r = [i + a.v for i in a]", "r = 0\nfor i in a:\n    if i > 1: break\n    r = r + i",
         "r = list(zip(a, a))", "r = sum(i * a.v for i in a)", "r = sum(a)", "r = max(a)", "r = (list(a), tuple(a))", "r, *s = a",
         "r = list(enumerate(a))", "r = list(map(lambda i: i + a.v, a))", "r = any(a)", "r = all(a)", "r = sorted(a)", "r = 2 in a", "r = [*a, *a]",
         "it = iter(a)\nr = (next(it), a.v, next(it), a.v)", "r = dict(zip(a, a))", "r = list(reversed(a))", "r = len(list(a))",
         "r = []\nr.extend(a)", "r = []\nr += a", "r = [i for i in a for k in a]", "r = x\nfor i in a: r = r * i")
ITERS = {"generator": "for i in range(3):\n                self.v = self.v + 1\n                yield i + self.v",
         "list": "self.v = self.v + 1\n            return iter([1, 2, self.v])", "itself": "return self", "no iterator": "return [1, 2]",
         "held": "return self.held", "tensor": "return iter(x)"}
NEXT = "\n        def __next__(self):\n            self.v = self.v + 1\n            if self.v > 4: raise StopIteration\n            return self.v\n"


def block(text):
    return text.replace("\n", "\n        ")


def statements():
    manager = method("__enter__", "", "self.v") + method("__exit__", "", "None")
    other = "class B:\n    v = 50\n" + manager.replace("\n        ", "\n    ").replace("self.v + 1", "self.v * 2")
    for text in WITH:
        for what, body in (("", manager), ("that swallows", manager.replace("return None", "return True"))):
            yield f"with {what} {text}", program(body, "A(1)", "B()", "(r, a.v, b.v)", block("r = s = None\n" + text), "", None, other)
    for how, body in ITERS.items():
        for text in LOOPS:
            held = "\n    one.held = iter([4, 5, 6])\n" if how == "held" else ""
            yield (f"loop {how} {text}", program(f"\n        def __iter__(self):\n            {body}\n" + (NEXT if how == "itself" else ""),
                                              "A(1)", "None", "(r, a.v)", block("r = s = None\n" + text), held))
    texts = {"__str__": "f's{self.v}'", "__repr__": "'r' * self.v", "__format__": "f'f{o[0]}'"}
    for name, value in texts.items():
        for use in ("str(a)", "repr(a)", "f'{a}'", "f'{a!r}'", "f'{a!s:>9}'", "f'{a!a}'", "f'{a:x}'", "format(a)", "format(a, 'x')", "'%s' % (a,)",
                    "f'{b}{b!r}'", "f'{3!a}{3:5}'", "'{}'.format(a)", "print(a)", "[str(i) for i in (a, b)]"):
            yield f"text {name} {use}", program(method(name, "", value), "A(1)", "'\u00e4'", use)


def cases(text):
    rows = read(text)
    yield from statements()
    yield from binary(rows)
    yield from others(rows)
