# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the API reference: scripts/reference.sh builds it.

autodoc reads the docstrings of the running package. Added to each are, from files that tests check: types (the stubs),
meanings of parameters (parameters.txt), what the op table says of dtypes, gradients and errors (docs/ops.md), and an
example that is run (examples/).
"""
import ast
import os
import re
import sys

ROOT = os.environ["JANUS_SOURCE"]
sys.path.insert(0, os.path.join(ROOT, "tools"))

import janus  # noqa: E402
import reference  # noqa: E402

project = "janus"
version = release = janus.__version__
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
html_theme_options = {"description": "Speculative symbolic graphs of Python programs", "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "localtoc.html", "searchbox.html"]}
html_copy_source = False
autodoc_typehints = "none"
exclude_patterns = ["examples"]

NAMES = reference.public_names()
EXAMPLES = reference.examples()
MEANINGS = reference.parameters()


def stub_signatures():
    """{"janus.nn.Linear.forward": "(input: Tensor) -> Tensor"}, of the stubs."""
    found = {}
    for module in reference.MODULES + ("janus.nn.module", "janus.nn.parameter", "janus.optim.optimizer"):
        parts = module.split(".")[1:]
        base = os.path.join(ROOT, "pyfront", "janus", *parts)
        path = os.path.join(base, "__init__.pyi") if os.path.isdir(base) else base + ".pyi"
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read())
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(f"{module}.{node.name}", written(node, 0))
            elif isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        static = any(ast.unparse(d) == "staticmethod" for d in inner.decorator_list)
                        found.setdefault(f"{module}.{node.name}.{inner.name}", written(inner, 0 if static else 1))
    for name, text in list(found.items()):
        for maker in (".__init__", ".__new__"):
            if name.endswith(maker):
                found.setdefault(name[:-len(maker)], text.split(" -> ")[0])
    return found


def written(node, bound):
    """A signature as text; `bound` parameters are not given by the caller."""
    rows = node.args.posonlyargs + node.args.args
    for row in rows[:bound]:
        (node.args.posonlyargs or node.args.args).remove(row)
    text = f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}".replace("=", " = ")
    return re.sub(r"\b_(int|float|bool|dtype|device)\b", r"\1", re.sub(r"^\(/, ", "(", text))


SIGNATURES = stub_signatures()


def op_facts():
    """{op: lines} of docs/ops.md: operands, and what is said of gradients and errors."""
    found, op = {}, None
    with open(os.path.join(ROOT, "docs", "ops.md"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("### "):
                op = line[4:].strip()
                found[op] = []
            elif op and re.match(r"- `|Differentiable|No gradient", line):
                found[op].append(line.strip())
    return found


OPS = op_facts()
SAID = {"Differentiable": "Gradients flow through it.", "No gradient": "It has no gradient.",
        "may raise": "Raises for values that have no result (an index out of range, an integer divided by zero).",
        "a view where strides allow": "The result shares memory with its operand where strides allow."}


def facts(value):
    """What the op table says of an op: dtypes and shapes of operands, gradient, errors."""
    name = getattr(value, "__name__", "").rstrip("_")
    lines = OPS.get(name)
    if type(value).__name__ != "Op" or not lines:
        return []
    out = ["", "**Dtypes and shapes.** " + "; ".join(line[2:].replace("`", "``") for line in lines if line.startswith("- ")) + "."]
    told = [text for key, text in SAID.items() if key in lines[-1]]
    out += ["", " ".join(told + ["RuntimeError or ValueError for shapes, TypeError for dtypes that do not fit."])]
    if value.__name__.endswith("_"):
        out += ["", "In place: the result is written into the first operand, which is returned; its dtype stays, and "
                    "RuntimeError is raised where the result does not fit."]
    return out


def add(app, what, name, value, options, lines):
    text = reference.docstring(value, name) if name in reference.CLASSES else "\n".join(lines)
    text = text.strip()
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", plain(line)) for line in text.splitlines()]
    if lines and not lines[0].rstrip().endswith((".", ":")):
        lines[0] = (lines[0][:1].upper() if lines[0][1:2].isalpha() else lines[0][:1]) + lines[0][1:] + "."
    rows = reference.signature(value)
    given = [p for p in (rows.parameters if rows else ()) if p not in ("self", "cls") and p in MEANINGS]
    if what in ("function", "method", "class") and given:
        lines += [""] + [f":param {plain(p)}: {plain(MEANINGS[p])}" for p in given]
    lines += facts(value)
    if name in EXAMPLES:
        lines += ["", ".. code-block:: pycon", ""] + ["   " + line for line in EXAMPLES[name].splitlines()]
    lines.append("")


def plain(text):
    """Stars and bars of a sentence are themselves, not marks of reStructuredText."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*|]|(?<=\w)_(?=\W|$))", r"\\\1", p) for p in parts)


def pages():
    """One page for each module, with a directive for each public name."""
    here = os.path.dirname(os.path.abspath(__file__))
    for module in reference.MODULES + ("janus.Tensor",):
        title = f"``{module}``"
        lines = [title, "=" * len(title), ""]
        for name, value in NAMES.items():
            home, _, member = name.rpartition(".")
            if home == module:
                if isinstance(value, type):
                    lines += directive("autoclass", name)
                    inner = [n for n in NAMES if n.startswith(name + ".") and name != "janus.Tensor"]
                    for n in inner:
                        kind = "automethod" if callable(NAMES[n]) or isinstance(NAMES[n], (staticmethod, classmethod)) \
                            else "autoattribute"
                        lines += ["   " + line for line in directive(kind, n)]
                elif module == "janus.Tensor":
                    is_method = callable(value) or isinstance(value, (staticmethod, classmethod))
                    lines += directive("automethod" if is_method else "autoattribute", name)
                else:
                    lines += directive("autofunction", name)
        if module == "janus.Tensor":
            shared = sorted(n for n, v in vars(janus.Tensor).items() if not n.startswith("_")
                            and f"janus.{n}" in NAMES and vars(janus).get(n) is v)
            lines[3:3] = ["Methods that are functions, too (``x.tanh()`` is ``janus.tanh(x)``), are described on the page of "
                          "``janus``: " + ", ".join(f":func:`~janus.{n}`" for n in shared) + ".", ""]
        with open(os.path.join(here, module + ".rst"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")


def directive(kind, name):
    """With the types of the stubs, which autodoc would not find at objects made in C."""
    return [f".. {kind}:: {name}" + (SIGNATURES.get(name, "") if kind != "autoattribute" else ""), ""]


def setup(app):
    pages()
    app.connect("autodoc-process-docstring", add)
