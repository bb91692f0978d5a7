# SPDX-License-Identifier: Apache-2.0
"""janus.export and janus.load_graph: a graph as files, and those files as a function."""
import contextlib
import inspect
import io
import json
import math
import os

from . import _C
from ._asked import function_of, path_of
from ._signature import FORMAT, FORMAT_OF_PARTS, check_signature, read_signature
from ._snapshot import Snapshot
from ._words import user_path
from .autograd import no_grad
from .io import _to_bytes, load_safetensors, save_safetensors
from .nn import Module

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
    if kind in ("result", "argument", "input"):
        return [kind, what]
    if kind == "constant" and type(what) not in _CONSTANTS:
        raise ValueError(f"janus.export: its result has a {type(what).__name__}, which cannot be exported")
    if kind == "dict" and any(k[0] != "constant" or type(k[1]) is not str for k in what[::2]):
        raise ValueError("janus.export: its result is a dict whose keys are not all strings")
    return [kind, _constant(what) if kind == "constant" else
            [_checked(w) for w in what] if isinstance(what, list) else what]


def _warm(made, examples):
    """Calls until one graph takes them all twice: what one call has left, another one has gone on from."""
    good = 0
    for _ in range(10):
        before = made.stats()
        for args in examples:
            try:
                made(*args)
            except Exception as error:
                if type(error) is RuntimeError and "does not require grad" in str(error):
                    raise ValueError("janus.export: it asks for gradients, by backward() or grad(), and a graph that is taken "
                                     "along computes none: export what the loss is computed from, such as the model, and keep "
                                     "the training step in Python") from error
                if not made.stats()["calls"] > len(examples):
                    raise  # the program's own
                raise ValueError("janus.export: the function cannot be called twice with these arguments, of which it has used "
                                 f"something up: {type(error).__name__}: {error}") from error
        now = made.stats()
        all_by_graph = now["graph"] - before["graph"] == len(examples)
        good = good + 1 if all_by_graph and now["conversions"] == before["conversions"] else 0
        if good == 2:
            break


def _found(plain, examples):
    """What _C._export has of a graph for the examples, with values of its inputs from before they were run."""
    made = _C.function(plain, verify="never", measure=False)

    def taken(args):
        try:
            return _C._export(made, args)
        except ValueError as error:
            if len(examples) > 1 and "no graph takes these arguments" in str(error):
                error = "janus.export: there is no one graph for all of the examples"
            raise ValueError(user_path(made, str(error))) from None

    before = Snapshot(plain, *examples)
    try:
        with no_grad(), contextlib.redirect_stdout(io.StringIO()):
            _warm(made, examples)
            *_, found = [taken(args) for args in reversed(examples)]
        written = {place for _, place, *_ in found[5]}
        found = ([(name, at, value.clone() if i in written and isinstance(value, _C.Tensor) else value, way)
                  for i, (name, at, value, way) in enumerate(found[0])], *found[1:])
    finally:
        before.restore()
    try:
        with no_grad():
            found = _C._export(made, examples[0])
    except ValueError:
        pass  # it is a graph for what the calls have left, as where the first one makes what others go on with
    return made, found


def _part(part, tokens):
    """What is checked of a part of an argument as the signature has it."""
    place, way, checks, distinct = part
    checks = dict(checks, argument=place, way=way, distinct=distinct)
    if "type" in checks:
        checks["type"] = tokens[id(checks["type"])] - _TOKEN
    if "value" in checks:
        if type(checks["value"]) not in _CONSTANTS:
            raise ValueError(f"janus.export: the graph is for one {type(checks['value']).__name__}, which cannot be exported")
        checks["value"] = _constant(checks["value"])
    if any(type(key) is not str for key in checks.get("keys", ())):
        raise ValueError("janus.export: the graph is for a dict whose keys are not all strings")
    return checks


def _follow(o, way):
    """What is there in an argument; LookupError: nothing."""
    for kind, which in way:
        if kind == "attr":
            try:
                o = object.__getattribute__(o, which)
            except AttributeError:
                raise LookupError(which) from None
        elif type(o) is (dict if kind == "key" else tuple if type(o) is tuple else list):
            o = o[which]
        else:
            raise LookupError(which)
    return o


def _put(o, way, value):
    """A place in an argument gets another value, as CPython gives it one where no code of the program is asked."""
    *way, (kind, which) = way
    o = _follow(o, way)
    if kind == "attr":
        object.__setattr__(o, which, value)
    else:
        o[which] = value


def _arguments(examples, given, positions, objects, tokens, absent):
    """The arguments as the signature has them."""
    for place, a in enumerate(examples[0]):
        one = {"keyword": positions[place] if place < len(positions) else None}
        if place not in given and isinstance(a, _C.Tensor):
            one["like"] = [str(a.dtype), list(a.shape)]
        elif any(a is o for o in objects):
            one["object"] = tokens[id(type(a))] - _TOKEN
            one["of its class"] = sorted({name for where, name in absent if where == place})
        elif place not in given:
            one["value"] = _constant(a)
        yield one


def _state(made, places):
    """The places that the graph writes as the signature has them, and {number of an input: that of its place}."""
    state, of_input = [], {}
    for where, place, store, form, when, at in places:
        if place >= 0:
            of_input[place] = len(state)
        state.append({"name": user_path(made, where), "written": bool(store), "value": _checked(form),
                      "when": when if when >= 0 else None})
        if at:
            state[-1]["argument"], state[-1]["way"] = at
    return state, of_input


def export(f, path, *args, examples=()):
    """Writes the graph that a function is for these arguments, with its weights, to a folder.

    f: a function, a Module, or what `janus.function` made of one; args: examples of what it will be called with: tensors,
    plain values (int, float, bool, str, None), and objects that loops and recursions read, such as trees; examples: more
    of them, a sequence of tuples of arguments. What differs between the examples (sizes of tensors, lengths, numbers) is
    left open in the graph. f is called with them a few times, without gradients; what it prints then is not seen, and what
    it writes is put back afterwards; one that calls backward() is refused, by ValueError: what it computes the loss from is
    what can be taken along. It must be a graph then: ValueError says why it is not, or why the graph cannot be
    taken along, as one that deletes attributes, or changes the length of a list that is no argument.

    The folder, which is made, gets

    - `graph.jir`: the graph in text form, its parameters named as in the program (`x`, `self.inner.weight`)
    - `weights.safetensors`: the tensors it uses that were no arguments, by those names; equal ones are stored once
    - `signature.json`: which parameter is which argument, weight or number, what the result is made of, the places that
      the graph writes (its state), and the classes of objects by name with the fields that are read

    Shapes, types and decisions are those of the examples, and so are plain values that the graph has no parameter for:
    `load_graph`'s function raises ValueError for others. What the graph writes (the running statistics of a batch norm in
    training, a counter, a hidden state that is kept in an attribute) is the state of who loads it, and starts as it is
    now; what it writes in its arguments is written in those of the call. `janus.load_graph` runs it in Python,
    `janus_module_load` in programs without, if it prints nothing, and loops and recursions alone look into arguments:
    what the graph takes for granted of their parts outside of these (`t.left`, `xs[0]`) only `load_graph` checks.
    """
    function_of("janus.export", f, "a function or a Module, then the folder")
    path_of("janus.export", path, "the folder's path after the function")
    plain = _plain(f)
    # Copies: two arguments that are one tensor, or one of the weights, would be one parameter.
    examples = [tuple(a.detach().clone() if isinstance(a, _C.Tensor) else a for a in one) for one in (args, *examples)]
    if len({len(one) for one in examples}) > 1:
        raise ValueError("janus.export: the examples are of different numbers of arguments")
    made, (inputs, form, attributes, types, absent, places, methods, parts, prints) = _found(plain, examples)
    types = list(dict.fromkeys([*types, *(checks["type"] for _, _, checks, _ in parts if "type" in checks)]))
    objects = [a for one in examples for a in one if not isinstance(a, _C.Tensor) and type(a) not in _CONSTANTS]
    tokens, named, classes = _tokens([*types, *(type(o) for o in objects if type(o) not in types)])
    try:
        positions = [p.name for p in inspect.signature(plain).parameters.values()
                     if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        positions = []
    state, of_input = _state(made, places)
    signature = {"format": FORMAT, "janus": _C.__version__, "inputs": [], "result": _checked(form)}
    given = {place for _, place, _, way in inputs if not way}
    signature["arguments"] = list(_arguments(examples, given, positions, objects, tokens, absent))
    if parts:
        signature["format"] = FORMAT_OF_PARTS
        signature["parts"] = [_part(one, tokens) for one in parts]
    if prints:
        signature["prints"] = [{"sep": sep, "end": end, "flush": flush, "file": file, "pieces": [
            {"how": how, "text": text, "values": n, "last": last} for how, text, n, last in pieces]}
            for sep, end, flush, file, pieces in prints]
    if prints or any("argument" in one for one in state):
        signature["format"] = FORMAT_OF_PARTS
    if state:
        signature["state"] = state
    if objects:
        signature["attributes"] = list(attributes)
        signature["types"] = [{**one, "fields": has} for one, has in zip(named, _fields(objects, attributes, classes))]
        signature["of their class"] = [[tokens[id(t)] - _TOKEN, name] for t, name in zip(methods[::3], methods[1::3])
                                       if id(t) in tokens]
    names, weights, stored = [], {}, {}
    for number, (where, place, value, way) in enumerate(inputs):
        name = f'"{value}"' if type(value) is str else user_path(made, where)
        while name in names:
            name += "'"
        names.append(name)
        one = {"name": name}
        if place >= 0:
            one["argument"] = place
            if way:
                one["way"] = way
        elif type(value) is str:
            one["text"] = _text(value)
        elif number in of_input:
            one["state"] = of_input[number]
            if isinstance(value, _C.Tensor):  # not to be shared with what is only equal now
                weights[name] = value
                state[of_input[number]]["weight"] = name
            else:
                state[of_input[number]]["number"] = _number(value)
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


def _text(v):
    """A text that the graph looks up, if other readers of JSON have it as it is."""
    if "\0" in v or not v.isprintable():
        raise ValueError(f"janus.export: the graph looks up {v!r}, which cannot be exported")
    return v


def _number_of(v):
    """A number as _number wrote it."""
    return v if type(v) is not str else float(v) if v in ("nan", "inf", "-inf") else int(v)


class LoadedGraph:
    """What `janus.load_graph` returns: called with arguments as those of the export, it gives such a result.

    `weights`, {name: tensor}, may be written to; `names` are those of the graph's parameters. `state`, {name: value}, is
    what the graph writes: it begins as it was when the graph was exported, a call goes on from what the one before has
    left, and it may be read and changed in between. What is only written is there after the first call.
    """

    def __init__(self, graph, signature, weights, types):
        self._types = types
        self._graph, self._inputs, self._result = graph, signature["inputs"], signature["result"]
        self._arguments = signature["arguments"]
        self._places, self._parts = signature.get("state", []), signature.get("parts", [])
        begun = {one["name"]: weights.pop(one["weight"]) if "weight" in one else _number_of(one["number"])
                 for one in self._places if "weight" in one or "number" in one}
        self.weights, self.state = weights, begun
        self.names = [one["name"] for one in self._inputs]

    def __repr__(self):
        n = sum(tensor.numel() for tensor in self.weights.values())
        taken = [one["keyword"] or f"args[{i}]" for i, one in enumerate(self._arguments)]
        return f"LoadedGraph({', '.join(taken)}; {len(self.weights)} weights of {n} numbers)"

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
        self._check_parts(args)
        values = []
        for one in self._inputs:
            if "weight" in one:
                values.append(self.weights[one["weight"]])
            elif "number" in one:
                values.append(_number_of(one["number"]))
            elif "text" in one:
                values.append(one["text"])
            elif "state" in one:
                values.append(self.state[self._places[one["state"]]["name"]])
            else:
                try:
                    values.append(_follow(args[one["argument"]], one.get("way", ())))
                except LookupError:
                    raise ValueError(f"{one['name']}: the graph was exported for arguments that have one") from None
        if any("argument" in one for one in self._places):
            self._check_written(args, values)
        results = _C._graph_run(self._graph, values)
        made = {"result": results, "argument": args, "input": values}
        result = self._make(self._result, made)
        left = [(one, self._make(one["value"], made)) for one in self._places if one["when"] is None or made["result"][one["when"]]]
        for one, value in left:
            at = args[one["argument"]] if "argument" in one else None
            if one["written"]:
                with no_grad():
                    (self.state[one["name"]] if at is None else _follow(at, one["way"])).copy_(value)
            elif at is None:
                self.state[one["name"]] = value
            else:
                _put(at, one["way"], value)
        return result

    def _check_written(self, args, values):
        """What is written in arguments is there once: the graph knows of no other way to it."""
        objects = [id(a) for a in args if type(a) not in _CONSTANTS]
        if len(set(objects)) < len(objects):
            raise ValueError("the graph writes to its arguments, and was exported for different ones")
        for one in self._places:
            if "argument" not in one:
                continue
            try:
                t = _follow(args[one["argument"]], one["way"] if one["written"] else one["way"][:-1])
            except LookupError:
                raise ValueError(f"{one['name']}: the graph writes there, and was exported for arguments that have one") from None
            if one["written"]:
                if not isinstance(t, _C.Tensor):
                    raise ValueError(f"{one['name']}: the graph writes to a tensor there, got a {type(t).__qualname__}")
                others = [o for o in (*args, *values, *self.state.values()) if isinstance(o, _C.Tensor) and o is not t]
                if any(t._shares_storage(o) for o in others):
                    raise ValueError(f"{one['name']}: the graph writes to this memory, which another argument or weight has, too")
                if t.requires_grad:
                    raise ValueError(f"{one['name']}: the graph writes to this tensor, which must not require grad")

    def _check_parts(self, args):
        """What the graph takes for granted of what is in its arguments."""
        seen = {id(a) for a in args if type(a) not in _CONSTANTS}
        for one in self._parts:
            name = (self._arguments[one["argument"]]["keyword"] or f"argument {one['argument']}") + "".join(
                f".{which}" if kind == "attr" else f"[{which!r}]" for kind, which in one["way"])
            try:
                value, there = _follow(args[one["argument"]], one["way"]), True
            except LookupError:
                value, there = None, False
            if there == one.get("absent", False):
                raise ValueError(f"{name}: the graph was exported for objects that have {'no such' if there else 'one'}")
            if not there:
                continue
            if "type" in one and type(value) is not self._types[one["type"]]:
                raise ValueError(f"{name}: the graph was exported for a {self._types[one['type']].__qualname__}, "
                                 f"got a {type(value).__qualname__}")
            if "value" in one:
                want = _constant_of(one["value"])
                if type(value) is not type(want) or repr(value) != repr(want):
                    raise ValueError(f"{name}: the graph was exported for {want!r}, got {value!r}")
            if "length" in one and len(value) != one["length"] or "some" in one and len(value) < one["some"]:
                raise ValueError(f"{name}: the graph was exported for {one.get('length', 'some')} items, got {len(value)}")
            if "keys" in one and list(value) != one["keys"]:
                raise ValueError(f"{name}: the graph was exported for the keys {one['keys']}, got {list(value)}")
            if one["distinct"] and one["way"] and (id(value) in seen or seen.add(id(value))):
                raise ValueError(f"{name}: the graph was exported for objects that are not one, and this is another part, too")

    def _make(self, form, made):
        kind, what = form
        if kind in made:
            return made[kind][what]
        if kind == "constant":
            return _constant_of(what)
        items = [self._make(one, made) for one in what]
        return tuple(items) if kind == "tuple" else items if kind == "list" else dict(zip(items[::2], items[1::2]))


def _of_class(cls, name):
    """What objects of a class must not have of their own instead, as the converter notes it: a function, or (value,)."""
    found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    if inspect.isfunction(found):
        return cls, name, found
    return cls, name, (found.__func__ if type(found) is staticmethod else found,)


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
    signature = read_signature(path_of("janus.load_graph", path, "the path of a folder that janus.export wrote"))
    found = _classes(path, signature, types)
    with open(os.path.join(path, "graph.jir"), encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: graph.jir is damaged: {error}") from None
    methods = [part for n, name in signature.get("of their class", ()) for part in _of_class(found.get(n, object), name)]
    prints = tuple((one["sep"], one["end"], one["flush"], one["file"], tuple(
        (piece["how"], piece["text"], piece["values"], piece["last"]) for piece in one["pieces"]))
        for one in signature.get("prints", ()))
    try:
        graph, names, n_results = _C._graph_load(text, "graph.jir", {_TOKEN + n: id(t) for n, t in found.items()},
                                                 signature.get("attributes", []), methods, prints)
    except (ValueError, TypeError, LookupError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from None
    with open(os.path.join(path, "weights.safetensors"), "rb") as file:
        try:
            weights = load_safetensors(file)
        except ValueError as error:
            raise ValueError(f"{path}: weights.safetensors is damaged: {error}") from None
    check_signature(path, signature, names, n_results, found, weights)
    return LoadedGraph(graph, signature, weights, found)
