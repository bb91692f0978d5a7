# SPDX-License-Identifier: Apache-2.0
"""What the API reference is made of: public names, and the examples that belong to them.

`./run python3 tools/reference.py` lists public names without a docstring, and those without an example in
docs/reference/examples/. The reference itself is built by scripts/reference.sh, tests/py/test_reference.py runs every
example.
"""
import importlib
import inspect
import os
import re
import types

import janus

EXAMPLES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "reference",
                                         "examples"))
# Modules by the names programs use; what is public in one of these is a public name.
MODULES = ("janus", "janus.autograd", "janus.nn", "janus.nn.functional", "janus.nn.init", "janus.nn.utils",
           "janus.nn.utils.rnn", "janus.optim", "janus.optim.lr_scheduler", "janus.data", "janus.distributions",
           "janus.amp", "janus.cuda", "janus.debug", "janus.io", "janus.linalg")


# Of these two `__doc__` is that of an instance.
CLASSES = {
    "janus.Op": "An op as a function and method: what janus.tanh and Tensor.tanh are.",
    "janus.Function": "A decorated function: what janus.function returns. Called as the function is; attributes such as "
                      "`__name__`, `__wrapped__` and `__signature__` are the function's.",
}


def is_ours(value):
    home = getattr(value, "__module__", None) or "janus"
    return home.split(".")[0] == "janus"


def public_names():
    """{"janus.nn.Linear": object}: each object once, under its shortest name, and the methods of public classes."""
    found, seen = {}, {}
    for name in MODULES:
        module = importlib.import_module(name)
        for key, value in sorted(vars(module).items()):
            if key.startswith("_") or isinstance(value, types.ModuleType) or not is_ours(value) or not callable(value):
                continue
            if id(value) in seen:
                continue
            seen[id(value)] = name
            found[f"{name}.{key}"] = value
    for name, value in list(found.items()):
        if isinstance(value, type):
            for key in sorted(vars(value)):
                member = inspect.getattr_static(value, key)
                if key.startswith("_") or id(member) in seen or is_inherited(value, key):
                    continue
                if callable(member) or inspect.isdatadescriptor(member) or isinstance(member, (staticmethod, classmethod)):
                    found[f"{name}.{key}"] = member
    return found


def is_inherited(cls, key):
    """Whether a base says what a member means: `forward` of every layer, `step` of every optimizer."""
    return any(key in vars(base) for base in cls.__mro__[1:] if base is not object)


def docstring(value, name=None):
    if name in CLASSES:
        return CLASSES[name]
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if type(value).__name__ == "member_descriptor":  # a slot of a Python class, which its class's docstring is about
        return value.__objclass__.__doc__
    text = getattr(value, "__doc__", None)
    return text.strip() if isinstance(text, str) else ""


def blocks():
    """(names, file, text) of each example; a block begins with the names it is about and is indented below them."""
    for file in sorted(os.listdir(EXAMPLES)):
        with open(os.path.join(EXAMPLES, file), encoding="utf-8") as f:
            text = f.read()
        for block in re.split(r"\n(?=\S)", text):
            names, _, body = block.partition("\n")
            if names and not names.startswith("#"):
                yield names, file, "\n".join(line[4:] for line in body.rstrip().splitlines()) + "\n"


def examples():
    """{name: text of its example}."""
    return {name: text for names, _, text in blocks() for name in names.split(", ")}


def example_files():
    """(names, file) of each example."""
    return [(names, file) for names, file, _ in blocks()]


def parameters():
    """{name of a parameter: what it means}, of parameters.txt: a name means one thing everywhere."""
    table = {}
    with open(os.path.join(os.path.dirname(EXAMPLES), "parameters.txt"), encoding="utf-8") as f:
        for line in f:
            names, colon, meaning = line.rstrip("\n").partition(": ")
            if colon and not line.startswith("#"):
                for name in names.split():
                    table[name] = meaning
    return table


def signature(value):
    """The inspect.Signature of a function, an op or what a class is called with; None where there is none."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def unexplained(name, value, table):
    """Parameters that neither the table nor the docstring says anything about."""
    rows = signature(value)
    if getattr(value, "__text_signature__", None) in ("($self, object, /)", "(object, /)"):
        return []  # CPython 3.13 makes it up for what says nothing and takes one argument
    text = docstring(value, name)
    if isinstance(value, type):
        text += " " + docstring(vars(value).get("__init__"))
    return [p for p in (rows.parameters if rows else ())
            if p not in ("self", "cls") and p not in table and not re.search(rf"\b{re.escape(p)}\b", text)]


def has_example(name, table):
    """A method has its own, or the example of its class shows it."""
    cls, _, member = name.rpartition(".")
    return name in table or cls in table and re.search(rf"(\.|def ){member}\b", table[cls]) is not None


def main():
    names, table = public_names(), examples()
    bare = [n for n, v in names.items() if not docstring(v, n)]
    alone = [n for n in names if not has_example(n, table)]
    print(len(names), "public names,", len(bare), "without docstring,", len(alone), "without example")
    for title, rows in (("no docstring", bare), ("no example", alone)):
        for row in rows:
            print(f"{title}: {row}")


if __name__ == "__main__":
    main()
