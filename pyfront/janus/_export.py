# SPDX-License-Identifier: Apache-2.0
"""janus.export and janus.load_graph: a graph as files, and those files as a function."""
import inspect
import json
import math
import os

from . import _C
from ._words import user_path
from .autograd import no_grad
from .io import _to_bytes, load_safetensors, save_safetensors
from .nn import Module

_FORMAT = 1
_CONSTANTS = (type(None), bool, int, float, str)


# Numbers of types in files, JANUS_TYPE_TOKEN + n in C; classes of the program come from _FIRST_CLASS on.
_TOKEN, _FIRST_CLASS = 0x4a414e5500000000, 64
_BUILTINS = {type(None): 0, _C.Tensor: 1, int: 2, float: 3, bool: 4, list: 16, tuple: 17, dict: 18, str: 19}


def _tokens(types):
    """{id of a type: its number}, and the classes as the signature has them."""
    tokens, classes = {}, []
    for t in types:
        if t in _BUILTINS:
            tokens[id(t)] = _TOKEN + _BUILTINS[t]
        else:
            tokens[id(t)] = _TOKEN + _FIRST_CLASS + len(classes)
            classes.append(t)
    names = [t.__qualname__ for t in classes]
    return tokens, [{"name": n if names.count(n) == 1 else f"{t.__module__}.{n}", "token": tokens[id(t)] - _TOKEN}
                    for n, t in zip(names, classes)], classes


def _fields(examples, attributes, classes):
    """[{attribute: [names of types]}] by class, as the examples have them: what somebody needs who has no Python."""
    found, seen, waiting = [{} for _ in classes], set(), list(examples)
    while waiting:
        o = waiting.pop()
        if id(o) in seen:
            continue
        seen.add(id(o))
        if type(o) in (list, tuple):
            waiting.extend(o)
        elif type(o) is dict:
            waiting.extend(o.values())
        elif type(o) in classes:
            for name in attributes:
                try:
                    value = object.__getattribute__(o, name)
                except AttributeError:
                    continue
                kinds = found[classes.index(type(o))].setdefault(name, [])
                if type(value).__qualname__ not in kinds:
                    kinds.append(type(value).__qualname__)
                waiting.append(value)
    return found


def _plain(f):
    """What f stands for, undecorated."""
    if isinstance(f, Module):
        f = f.forward
    if type(f) is _C.Function:
        return f.__wrapped__
    inner = getattr(f, "__func__", None)
    return inner.__wrapped__.__get__(f.__self__) if type(inner) is _C.Function else f


def _number(v):
    """As JSON: what other readers would round or do not know is text."""
    exact = type(v) is bool or (abs(v) <= 2 ** 53 if type(v) is int else math.isfinite(v))
    return v if exact else repr(v)


_KINDS = {bool: "bool", int: "int", float: "float", str: "text"}


def _constant(v):
    """{"int": 3} and so on; None is {}."""
    return {} if v is None else {_KINDS[type(v)]: v if type(v) is str else _number(v)}


def _constant_of(c):
    for kind, name in _KINDS.items():
        if name in c:
            return kind(c[name])
    return None


def _checked(form):
    """The structure of a result, if JSON can say it."""
    kind, what = form
    if kind == "constant" and type(what) not in _CONSTANTS:
        raise ValueError(f"janus.export: its result has a {type(what).__name__}, which cannot be exported")
    if kind == "dict" and any(k[0] != "constant" or type(k[1]) is not str for k in what[::2]):
        raise ValueError("janus.export: its result is a dict whose keys are not all strings")
    return [kind, _constant(what) if kind == "constant" else
            [_checked(w) for w in what] if isinstance(what, list) else what]


def export(f, path, *args):
    """Writes the graph that a function is for these arguments, with its weights, to a folder.

    f: a function, a Module, or what `janus.function` made of one; args: examples of what it will be called with: tensors,
    plain values (int, float, bool, str, None), and objects that loops and recursions read, such as trees.  It is called with them (twice, without gradients), and must be a graph then: ValueError says why it is
    not, or why the graph cannot be taken along, as one that writes to objects cannot, or reads those that are no arguments.

    The folder, which is made, gets

    - `graph.jir`: the graph in text form, its parameters named as in the program (`x`, `self.inner.weight`)
    - `weights.safetensors`: the tensors it uses that were no arguments, by those names; equal ones are stored once
    - `signature.json`: which parameter is which argument, weight or number, what the result is made of, and the classes of
      objects by name with the fields that are read

    Shapes, types and decisions are those of the examples, and so are plain values that the graph has no parameter for:
    `load_graph`'s function raises ValueError for others.  `janus.load_graph` runs it in Python, `janus_module_load` in
    programs without.
    """
    plain = _plain(f)
    # Copies: two arguments that are one tensor, or one of the weights, would be one parameter.
    args = tuple(a.detach().clone() if isinstance(a, _C.Tensor) else a for a in args)
    made = _C.function(plain, verify="never", measure=False)
    with no_grad():
        for _ in range(2):
            made(*args)
        inputs, form, attributes, types, absent = _C._export(made, args)
    objects = [a for a in args if not isinstance(a, _C.Tensor) and type(a) not in _CONSTANTS]
    tokens, named, classes = _tokens([*types, *(type(o) for o in objects if type(o) not in types)])
    signature = {"format": _FORMAT, "janus": _C.__version__, "arguments": [], "inputs": [], "result": _checked(form)}
    try:
        positions = [p.name for p in inspect.signature(plain).parameters.values()
                     if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        positions = []
    if objects:
        signature["attributes"] = list(attributes)
        signature["types"] = [{**one, "fields": has} for one, has in zip(named, _fields(objects, attributes, classes))]
    given = {place for _, place, _ in inputs}
    for place, a in enumerate(args):
        one = {"keyword": positions[place] if place < len(positions) else None}
        if place not in given and isinstance(a, _C.Tensor):
            one["like"] = [str(a.dtype), list(a.shape)]
        elif any(a is o for o in objects):
            one["object"] = tokens[id(type(a))] - _TOKEN
            one["of its class"] = sorted({name for where, name in absent if where == place})
        elif place not in given:
            one["value"] = _constant(a)
        signature["arguments"].append(one)
    names, weights, stored = [], {}, {}
    for where, place, value in inputs:
        name = user_path(made, where)
        while name in names:
            name += "'"
        names.append(name)
        one = {"name": name}
        if place >= 0:
            one["argument"] = place
        elif isinstance(value, _C.Tensor):
            key = (str(value.dtype), tuple(value.shape), _to_bytes(value))
            one["weight"] = stored.setdefault(key, name)
            if one["weight"] == name:
                weights[name] = value
        else:
            one["number"] = _number(value)
        signature["inputs"].append(one)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "graph.jir"), "w", encoding="utf-8") as file:
        file.write(_C._named(made.graphs()[0], names, tokens))
    with open(os.path.join(path, "weights.safetensors"), "wb") as file:
        save_safetensors(weights, file)
    with open(os.path.join(path, "signature.json"), "w", encoding="utf-8") as file:
        json.dump(signature, file, indent=1)


class LoadedGraph:
    """What `janus.load_graph` returns: called with arguments as those of the export, it gives such a result.

    `weights`, {name: tensor}, may be written to; `names` are those of the graph's parameters.
    """

    def __init__(self, graph, signature, weights, types):
        self._attributes, self._types = signature.get("attributes", []), types
        self._graph, self._inputs, self._result = graph, signature["inputs"], signature["result"]
        self._arguments = signature["arguments"]
        self.weights = weights
        self.names = [one["name"] for one in self._inputs]

    def __call__(self, *args, **kwargs):
        if len(args) > len(self._arguments):
            raise TypeError(f"the graph takes {len(self._arguments)} arguments, got {len(args)}")
        args = list(args)
        for one in self._arguments[len(args):]:
            if one["keyword"] not in kwargs:
                raise TypeError(f"the graph needs the argument {one['keyword'] or len(args)}")
            args.append(kwargs.pop(one["keyword"]))
        if kwargs:
            raise TypeError(f"the graph has no argument {min(kwargs)}, or it was given twice")
        for place, (one, a) in enumerate(zip(self._arguments, args)):
            name = one["keyword"] or f"argument {place}"
            if "like" in one and not (isinstance(a, _C.Tensor) and [str(a.dtype), list(a.shape)] == one["like"]):
                raise ValueError(f"{name}: the graph was exported for a tensor of {one['like'][0]} {one['like'][1]}")
            if "object" in one and type(a) is not self._types[one["object"]]:
                raise ValueError(f"{name}: the graph was exported for a {self._types[one['object']].__qualname__}")
            for attribute in one.get("of its class", ()):
                if attribute in getattr(a, "__dict__", ()):
                    raise ValueError(f"{name}: the graph was exported for objects whose {attribute} is that of their class")
            if "value" in one:
                want = _constant_of(one["value"])
                if type(a) is not type(want) or repr(a) != repr(want):
                    raise ValueError(f"{name}: the graph was exported for {want!r}, got {a!r}")
        values = []
        for one in self._inputs:
            if "weight" in one:
                values.append(self.weights[one["weight"]])
            elif "number" in one:
                values.append(float(one["number"]) if one["number"] in ("nan", "inf", "-inf") else
                              int(one["number"]) if type(one["number"]) is str else one["number"])
            else:
                values.append(args[one["argument"]])
        return self._make(self._result, _C._graph_run(self._graph, values, self._attributes))

    def _make(self, form, results):
        kind, what = form
        if kind == "result":
            return results[what]
        if kind == "constant":
            return _constant_of(what)
        items = [self._make(one, results) for one in what]
        return tuple(items) if kind == "tuple" else items if kind == "list" else dict(zip(items[::2], items[1::2]))


def _classes(path, signature, types):
    """{number of a type: it}."""
    found = {n: t for t, n in _BUILTINS.items()}
    for one in signature.get("types", []):
        fits = [t for t in types if one["name"] in (t.__qualname__, f"{t.__module__}.{t.__qualname__}")]
        if len(fits) != 1:
            raise ValueError(f"{path}: load_graph needs one class {one['name']} among its types")
        found[one["token"]] = fits[0]
    return found


def load_graph(path, types=()):
    """Reads what `janus.export` wrote to a folder: a LoadedGraph, to be called.

    types: the classes of the objects that the graph reads, found by their names; it is given objects of these.

    Nothing of the folder is run as Python code.  Raises OSError where a file is missing, ValueError where one is damaged
    or of another format.
    """
    with open(os.path.join(path, "signature.json"), encoding="utf-8") as file:
        signature = json.load(file)
    if not isinstance(signature, dict) or signature.get("format") != _FORMAT:
        raise ValueError(f"{path}: signature.json is of no known format")
    jir = os.path.join(path, "graph.jir")
    with open(jir, encoding="utf-8") as file:
        found = _classes(path, signature, types)
        graph = _C._graph_load(file.read(), jir, {_TOKEN + n: id(t) for n, t in found.items()})
    with open(os.path.join(path, "weights.safetensors"), "rb") as file:
        weights = load_safetensors(file)
    missing = {one["weight"] for one in signature["inputs"] if "weight" in one} - set(weights)
    if missing:
        raise ValueError(f"{path}: weights.safetensors has no {min(missing)}")
    return LoadedGraph(graph, signature, weights, found)
