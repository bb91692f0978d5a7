# SPDX-License-Identifier: Apache-2.0
"""Writes the type stubs of the package: `./run python3 tools/stubs/write.py [--check]`.

Names, parameters and defaults are those of the running package, whether C or Python defines them. Types follow from
the names of parameters, which mean one thing everywhere (types.txt). What that cannot say is in by_hand.pyi. The stubs
are committed; `--check` says which are stale, and so does tests/py/test_types.py.
"""
import ast
import importlib
import inspect
import os
import re
import sys
import textwrap
import types as python_types

import janus

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.normpath(os.path.join(HERE, "..", "..", "pyfront", "janus"))
MODULES = ("janus", "janus.amp", "janus.autograd", "janus.cuda", "janus.data",
           "janus.data.dataloader", "janus.data.dataset", "janus.data.sampler", "janus.debug", "janus.distributions",
           "janus.distributions.discrete", "janus.distributions.distribution", "janus.distributions.gamma",
           "janus.distributions.independent", "janus.distributions.inverted", "janus.distributions.kl",
           "janus.distributions.normal", "janus.distributions.transformed", "janus.distributions.transforms", "janus.io", "janus.linalg",
           "janus.nn",
           "janus.nn.activation", "janus.nn.attention", "janus.nn.container", "janus.nn.conv",
           "janus.nn.conv_transpose", "janus.nn.functional", "janus.nn.init", "janus.nn.linear", "janus.nn.loss",
           "janus.nn.margins", "janus.nn.module", "janus.nn.norm", "janus.nn.parameter", "janus.nn.rnn", "janus.nn.spatial",
           "janus.nn.utils", "janus.nn.utils.rnn", "janus.nn.volumes", "janus.optim", "janus.optim.adadelta", "janus.optim.adagrad",
           "janus.optim.adam", "janus.optim.adam_variants", "janus.optim.lbfgs", "janus.optim.lr_cycles",
           "janus.optim.lr_joined", "janus.optim.lr_ramps", "janus.optim.lr_scheduler", "janus.optim.optimizer", "janus.optim.rmsprop",
           "janus.optim.sgd", "janus.utils", "janus.utils.data")
HEAD = "# Written by tools/stubs/write.py; do not edit.\n"
TYPING = ("Any", "Callable", "ClassVar", "Iterable", "Iterator", "Mapping", "Sequence", "TypeVar", "final", "overload")
SPECIAL = ("__init__", "__new__", "__call__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__",
           "__contains__", "__enter__", "__exit__", "__add__", "__iadd__", "__or__", "__ior__", "__reversed__")


def read_types():
    """{(function or '*' or '->', parameter): type}, of types.txt."""
    table = {}
    with open(os.path.join(HERE, "types.txt"), encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if line:
                names, type_ = line.split(": ", 1)
                for name in names.split():
                    where, dot, parameter = name.rpartition(".")
                    table[where if dot else "*", parameter] = type_
    return table


def read_by_hand():
    """{module: (head lines, {name: source})}; members of a class are under "Class.member"."""
    found = {}
    with open(os.path.join(HERE, "by_hand.pyi"), encoding="utf-8") as f:
        parts = re.split(r"^# module (\S+)\n", f.read(), flags=re.M)
    for module, text in zip(parts[1::2], parts[2::2]):
        head, names = [], {}
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.decorator_list == [] and not is_whole(node):
                for inner in node.body:
                    add(names, node.name + "." + name_of(inner), source_of(text, inner))
            elif isinstance(node, ast.FunctionDef) or is_value(node) or \
                    isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                add(names, name_of(node), source_of(text, node))
            else:
                head.append(source_of(text, node))
        found[module] = head, names
    return found


def is_whole(node):
    """Whether a class of by_hand.pyi is all there is of it: it begins with a docstring that says so."""
    return ast.get_docstring(node) == "whole" or bool(node.bases)


def is_value(node):
    return isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_")


def name_of(node):
    if isinstance(node, ast.AnnAssign):
        return node.target.id
    if isinstance(node, ast.Assign):
        return node.targets[0].id
    return node.name


def add(names, name, source):
    names[name] = names[name] + "\n" + source if name in names else source


def source_of(text, node):
    first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])])
    lines = text.splitlines()[first - 1:node.end_lineno]
    return textwrap.dedent("\n".join(lines)).replace('    """whole"""\n', "")


TYPES, BY_HAND = read_types(), read_by_hand()


def type_of(function, parameter, default, in_class=None):
    """The type of a parameter: its own row, the row of its name, or what its default says."""
    base = None
    for place in [function] + ([f"{in_class}.{function}"] if in_class else []):
        base = TYPES.get((place, parameter), base)
    # A number or a switch is what its default is, whatever tensors go by its name elsewhere.
    if base:
        pass
    elif isinstance(default, bool):
        base = "bool"
    elif ("*", parameter) in TYPES:
        base = TYPES["*", parameter]
    elif isinstance(default, (int, float, str)):
        base = type(default).__name__
    else:
        base = "Any"
    if default is None and base != "Any" and "None" not in base:
        base += " | None"
    return base


def spelled(default):
    return repr(default) if isinstance(default, (bool, int, float, str, type(None))) and default == default else "..."


def parameters(function, signature, in_class=None, bound=None):
    """The text between the brackets; `bound` is the name a method's first parameter gets."""
    out, kind_before = [], None
    rows = list(signature.parameters.values())
    for i, p in enumerate(rows):
        P = inspect.Parameter
        if p.kind is P.KEYWORD_ONLY and kind_before not in (P.KEYWORD_ONLY, P.VAR_POSITIONAL):
            out.append("*")
        if kind_before is P.POSITIONAL_ONLY and p.kind is not P.POSITIONAL_ONLY:
            out.append("/")
        if i == 0 and bound:
            out.append(p.name)
        else:
            star = {P.VAR_POSITIONAL: "*", P.VAR_KEYWORD: "**"}.get(p.kind, "")
            default = "" if p.default is P.empty else " = " + spelled(p.default)
            type_ = type_of(function, star + p.name, p.default, in_class)
            out.append(f"{star}{p.name}: {type_}{default}")
        kind_before = p.kind
    if kind_before is inspect.Parameter.POSITIONAL_ONLY:
        out.append("/")
    return ", ".join(out)


def returned(function, in_class, fallback):
    for place in ([f"{in_class}.{function}"] if in_class else []) + [function]:
        if ("->", place) in TYPES:
            return TYPES["->", place]
    return fallback


def function_text(name, value, module, in_class=None, static=""):
    signature = inspect.signature(value)
    bound = bool(in_class) and static != "@staticmethod\n"
    where = in_class or ("nn.functional" if module == "janus.nn.functional" else None)
    text = parameters(name, signature, where, bound)
    tensors = in_class == "Tensor" or module in ("janus", "janus.linalg", "janus.nn.functional",
                                                   "janus.nn.init")
    fallback = "None" if name == "__init__" else "Tensor" if name == "forward" or tensors else "Any"
    return f"{static}def {name}({text}) -> {returned(name, in_class, fallback)}: ..."


def attributes(cls):
    """Names that `__init__` gives an instance, with types where a parameter of the same name has one."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__)))
    except (OSError, TypeError):
        return {}
    rows = inspect.signature(cls.__init__).parameters
    found = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
        for t in targets:
            if isinstance(t, ast.Attribute) and ast.unparse(t.value) == "self" and not t.attr.startswith("_"):
                default = rows[t.attr].default if t.attr in rows else inspect.Parameter.empty
                found[t.attr] = TYPES.get((cls.__name__ + ".self", t.attr)) or TYPES.get(("self", t.attr)) or \
                    type_of("__init__", t.attr, default, cls.__name__)
    return found


def public_bases(cls):
    """Names of the public classes that a class derives from, and the private ones, whose members become its own."""
    names, hidden = [], []
    for base in cls.__bases__:
        if base.__name__.startswith("_") and base.__module__.startswith("janus"):
            more, lower = public_bases(base)
            hidden += [base] + lower
            names += [n for n in more if n not in names]
        elif base not in (object, janus._C.ModuleBase, tuple):
            names.append(base.__name__)
    return names, hidden


def class_text(cls, name, module, by_hand):
    bases, hidden = public_bases(cls)
    out, done = [], set()
    of_bases = {a for b in cls.__mro__[1:-1] if b not in hidden for a in attributes(b)} if "__init__" in vars(cls) else set()
    for c in [cls] + hidden if "__init__" in vars(cls) or hidden else []:
        for attribute, type_ in attributes(c).items() if c is cls or "__init__" in vars(c) else ():
            if attribute in done:
                continue
            is_new = attribute not in of_bases and f"{name}.{attribute}" not in by_hand
            if is_new and not isinstance(vars(cls).get(attribute), property):
                out.append(f"{attribute}: {type_}")
                done.add(attribute)
    for key in list(by_hand):
        if key.startswith(name + "."):
            out.append(by_hand[key])
            done.add(key.split(".", 1)[1])
    members = {member: value for c in reversed([cls] + hidden) for member, value in vars(c).items()}
    for member, value in members.items():
        if member in done or member.startswith("_") and member not in SPECIAL:
            continue
        raw, static = value, ""
        if isinstance(value, (staticmethod, classmethod)):
            static = "@" + type(value).__name__ + "\n"
            raw = value.__func__
        if isinstance(raw, property) or type(raw).__name__ == "getset_descriptor":
            out.append(f"@property\ndef {member}(self) -> {returned(member, name, 'Any')}: ...")
        elif callable(raw):
            try:
                out.append(function_text(member, raw, module, name, static))
            except ValueError:
                sys.exit(f"{module}.{name}.{member}: no signature; write it in by_hand.pyi")
        elif not member.startswith("_"):
            out.append(f"{member}: {returned(member, name, 'Any')}")
    head = f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    body = "\n".join(out) or "..."
    if cls is janus.Tensor:
        head = "@disjoint_base\n" + head
    return head + "\n" + textwrap.indent(body, "    ")


def home(value):
    """The public module that has the definition, or None: a private or C one, whose names go where they are used."""
    module = getattr(value, "__module__", None)
    return module if module in MODULES and module != "janus" else None


def public_names(module):
    for name, value in sorted(vars(module).items()):
        if not name.startswith("_") and name not in ("annotations",):
            yield name, value


def names_used(text):
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r"(\"[^\"]*\"|'[^']*')", "", text)))


def write_module(module_name):
    module = importlib.import_module(module_name)
    head, by_hand = BY_HAND.get(module_name, ([], {}))
    imports, body, own = [], [], set()
    for name, value in public_names(module):
        if isinstance(value, python_types.ModuleType):
            if value.__name__ in MODULES:
                package, _, inner = value.__name__.rpartition(".")
                imports.append(f"from {package} import {inner} as {name}")
            elif name in by_hand:
                body.append(by_hand[name])
                own.add(name)
        elif name in by_hand:
            body.append(by_hand[name])
            own.add(name)
        elif home(value) not in (None, module_name):
            imports.append(f"from {home(value)} import {value.__name__} as {name}")
        elif home(value) is None and module_name != "janus" and name in vars(janus) and vars(janus)[name] is value:
            imports.append(f"from janus import {name} as {name}")
        elif str(getattr(value, "__module__", "")).split(".")[0] not in ("janus", "builtins", "None", ""):
            continue
        elif isinstance(value, type):
            if value.__name__ == name:
                body.append(class_text(value, name, module_name, by_hand))
            else:
                body.append(f"{name} = {value.__name__}")
            own.add(name)
        elif callable(value):
            try:
                body.append(function_text(name, value, module_name))
            except ValueError:
                sys.exit(f"{module_name}.{name}: no signature; write it in by_hand.pyi")
            own.add(name)
        else:
            body.append(f"{name}: {type(value).__name__}" if value is not None else f"{name}: None")
            own.add(name)
    text = "\n".join(head + body)
    used = names_used(text)
    typing = [n for n in TYPING if n in used]
    lines = [f"from typing import {', '.join(typing)}"] if typing else []
    if "builtins" in used:
        lines.append("import builtins")
    if module_name != "janus":
        given = {i.split()[-1] for i in imports} | own
        for shared in ("Tensor", "Size", "dtype", "device", "Generator"):
            if shared in used and shared not in given:
                lines.append(f"from janus import {shared}")
        for cls, where in (("Module", "nn.module"), ("Parameter", "nn.parameter"), ("Optimizer", "optim.optimizer")):
            if cls in used and cls not in given:
                lines.append(f"from janus.{where} import {cls}")
    if module_name == "janus":
        lines.append("from janus.nn.module import Module")
        body = [rename(part) for part in body]
    # schedules made of others take no epoch
    body = [re.sub(r"(def step\(self\) -> Any: \.\.\.)", r"\1  # type: ignore[override]", part) for part in body]
    return HEAD + "\n".join(lines + sorted(set(imports)) + head + [""] + body) + "\n"


class Renamer(ast.NodeTransformer):
    """janus.float is a dtype, and Tensor.dtype a property: types of these names go by another one in that module."""

    def visit_Name(self, node):
        if node.id in ("int", "float", "bool", "dtype", "device"):
            node.id = "_" + node.id
        return node

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "builtins":
            return ast.Name("_" + node.attr)
        return node

    def visit_AnnAssign(self, node):
        node.annotation = self.visit(node.annotation)
        return node


def rename(source):
    text = ast.unparse(ast.fix_missing_locations(Renamer().visit(ast.parse(source))))
    text = re.sub(r":\n +\.\.\.$", ": ...", text, flags=re.M)
    text = re.sub(r"\n\n+", "\n", text)
    text = re.sub(r"(def __ipow__.*)", r"\1  # type: ignore[misc]", text)
    text = re.sub(r"(def __(eq|ne)__.*-> Tensor.*)", r"\1  # type: ignore[override]", text)
    return re.sub(r"(def .*-> _M: \.\.\.)", r"\1  # type: ignore[overload-overlap]", text)


def path_of(module_name):
    parts = module_name.split(".")[1:]
    is_package = os.path.isdir(os.path.join(PACKAGE, *parts))
    return os.path.join(PACKAGE, *parts, "__init__.pyi") if is_package else os.path.join(PACKAGE, *parts) + ".pyi"


def stubs():
    """{path: text} of all stubs."""
    return {path_of(name): write_module(name) for name in MODULES}


def stale():
    """Stubs that are not what this program would write."""
    found = []
    for path, text in stubs().items():
        try:
            with open(path, encoding="utf-8") as f:
                if f.read() == text:
                    continue
        except FileNotFoundError:
            pass
        found.append(os.path.relpath(path, PACKAGE))
    return found


def main():
    if sys.argv[1:] == ["--check"]:
        found = stale()
        if found:
            sys.exit("stale, run `./run python3 tools/stubs/write.py`: " + " ".join(found))
        return
    for path, text in stubs().items():
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
