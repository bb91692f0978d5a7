# SPDX-License-Identifier: Apache-2.0
"""Functions of this machine's Python standard library as trees: which package is one from?

No download: the library is parsed by `ast`.  The classes are the ten top-level packages with most
functions.  A tree has the node types of a function and, as leaves, its identifiers; names that the
function's own package defines are removed (they become UNKNOWN), or the task would be a matter of
looking up a name.  A function inside a function belongs to the outer one's tree and is no example.
Which functions are used, and on which side of the split, depends on a hash of their qualified name
alone, so it is the same on every machine that has the same library.
"""

import ast
import hashlib
import os
import sysconfig
import warnings

from . import vocabulary
from .tree import Dataset

LEFT_OUT = {"test", "tests", "idlelib", "idle_test", "lib2to3", "distutils", "site-packages",
            "dist-packages", "__pycache__"}
N_CLASSES = 10
MOST_PER_CLASS = 400
FEWEST_NODES, MOST_NODES = 5, 400
TEST_SHARE = 5  # one in five
LEAST_TREES = 3  # a word of the vocabulary occurs in so many training trees

# Fields of ast nodes that hold identifiers, by node type.
NAMES = {
    "Name": ("id",), "Attribute": ("attr",), "arg": ("arg",), "keyword": ("arg",),
    "FunctionDef": ("name",), "AsyncFunctionDef": ("name",), "ClassDef": ("name",),
    "alias": ("name", "asname"), "ImportFrom": ("module",), "ExceptHandler": ("name",),
    "Global": ("names",), "Nonlocal": ("names",),
}
# Load, Store and Del say nothing that the place of a node does not.
SKIPPED = (ast.expr_context, ast.type_ignore)


def hash_of(qualified):
    """A number that is the same in every process and on every machine."""
    return int.from_bytes(hashlib.sha256(qualified.encode()).digest()[:8], "big")


def identifiers(node):
    """The identifiers that an ast node holds itself, dotted names split."""
    for field in NAMES.get(type(node).__name__, ()):
        value = getattr(node, field, None)
        for name in value if isinstance(value, list) else [value]:
            if name:
                yield from name.split(".")


def raw_tree(function, own):
    """`(root, kinds)`: the raw tree of a function and the names of its ast node types.

    Words of identifiers begin with a dot, so that none is taken for a node type.
    """
    root = (type(function).__name__, [])
    kinds, stack = [], [(function, root)]
    while stack:
        node, (kind, children) = stack.pop()
        kinds.append(kind)
        for name in identifiers(node):
            children.append((vocabulary.UNKNOWN if name in own else "." + name, []))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, SKIPPED):
                made = (type(child).__name__, [])
                children.append(made)
                stack.append((child, made))
    return root, kinds


def count_nodes(raw):
    return sum(1 for _ in vocabulary.words(raw))


def outermost_functions(body, prefix):
    """`(qualified name, ast node)` of functions and methods that are not inside a function."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from outermost_functions(node.body, prefix + node.name + ".")
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from outermost_functions(getattr(node, field, ()), prefix)
            for handler in getattr(node, "handlers", ()):
                yield from outermost_functions(handler.body, prefix)


def defined_names(module):
    """Names of functions, classes and module-level variables that a module defines."""
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for name in ast.walk(target) if target is not None else ():
                if isinstance(name, ast.Name):
                    yield name.id


def parse_package(root, package):
    """`(functions, own names)` of one top-level package; files that do not parse are skipped."""
    functions, own = [], {package}
    for folder, subfolders, files in os.walk(os.path.join(root, package)):
        subfolders[:] = sorted(name for name in subfolders if name not in LEFT_OUT)
        parts = os.path.relpath(folder, root).split(os.sep)
        own.update(parts)
        for file in sorted(files):
            if not file.endswith(".py"):
                continue
            try:
                with open(os.path.join(folder, file), "rb") as stream, warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about the library's own text
                    module = ast.parse(stream.read())
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            stem = file[:-3]
            prefix = ".".join(parts + ([] if stem == "__init__" else [stem])) + "."
            own.add(stem)
            own.update(defined_names(module))
            functions.extend(outermost_functions(module.body, prefix))
    return functions, own


def packages(root):
    """Top-level packages: folders of the standard library that have an `__init__.py`."""
    return sorted(name for name in os.listdir(root) if name not in LEFT_OUT
                  and os.path.isfile(os.path.join(root, name, "__init__.py")))


def collect(root):
    """The ten packages with most usable functions: a list of `(package, usable functions)`.

    A usable function is `(hash, qualified name, raw tree, kinds)`; at most MOST_PER_CLASS of a
    package are kept, those with the smallest hashes.
    """
    found = []
    for package in packages(root):
        functions, own = parse_package(root, package)
        usable = []
        for qualified, function in functions:
            raw, kinds = raw_tree(function, own)
            if FEWEST_NODES <= count_nodes(raw) <= MOST_NODES:
                usable.append((hash_of(qualified), qualified, raw, kinds))
        found.append((package, usable))
    found.sort(key=lambda entry: (-len(entry[1]), entry[0]))
    kept = found[:N_CLASSES]
    for _, usable in kept:
        usable.sort(key=lambda function: function[:2])
        del usable[MOST_PER_CLASS:]
    return kept


def split(limit=None, root=None):
    """`(sides, class names)`: sides[False] to learn from and sides[True] to test, lists of
    `(raw tree, kinds, label)`.  `limit` is the number of functions used, spread over the classes."""
    classes = collect(root or sysconfig.get_path("stdlib"))
    if len(classes) < 2:
        raise RuntimeError("the standard library on this machine has no Python source")
    labelled = [(function, label) for label, (_, usable) in enumerate(classes)
                for function in usable]
    labelled.sort(key=lambda entry: entry[0][:2])
    labelled = labelled[:limit]
    sides = {False: [], True: []}
    for (number, _, raw, kinds), label in labelled:
        sides[number % TEST_SHARE == 0].append((raw, kinds, label))
    return sides, [name for name, _ in classes]


def load(limit=None, root=None):
    """The task as a Dataset."""
    sides, classes = split(limit, root)
    words = vocabulary.build((raw for raw, _, _ in sides[False]), LEAST_TREES)
    encoder = vocabulary.Encoder(words, len(classes))
    examples = [[encoder.example(raw, label) for raw, _, label in sides[side]]
                for side in (False, True)]
    kind_numbers = {}
    kinds = [[[kind_numbers.setdefault(kind, len(kind_numbers)) for kind in kinds]
              for _, kinds, _ in sides[side]] for side in (False, True)]
    return Dataset("functions of the standard library", classes, words, examples[0], examples[1], kinds)
