# SPDX-License-Identifier: Apache-2.0
"""Graphs kept on disk (JANUS_CACHE=DIR), with what their guards check; pyfront/stored/stored.h and docs/adr/0047 say how.

What an entry holds are objects of a process: functions, types, constants.  In a file they are *references*: values by what
they are, everything else by how it is found again (a name in a module, the code of the function that a source holds), and
with a digest of what the graph was made of: byte code and constants of functions, what classes have under the names that
were looked up.  What cannot be found by a reference is not kept.
"""
import contextlib
import enum
import json
import marshal
import os
import struct
import sys
import types
import weakref

from . import _C, _models  # noqa: F401  what conversions name

try:  # hashlib loads OpenSSL, which takes longer than all that is hashed here
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_FORMAT = "janus entry 7"
_MOST, _PATIENCE = 64, 64  # entries of a function; calls that an entry is tried for
_MAX_BYTES = 64 << 20
_REFUSAL = "refused"  # the file of that
_TOKEN, _FIRST_CLASS = 0x4a414e5500000000, 64  # as in _export.py
_KIND_CONST, _KIND_KEY = 1, 7  # jpy_src_kind
_CODE, _OF_TYPE = 64, 2 | 2048  # checks
_NOTHING_ASKED = [0, 0, None, None, None, -1, None, 0, None]  # of a source, behind where it is
_SPECIAL = _C._special_names()
_vars_of_type = type.__dict__["__dict__"].__get__
_mro_of_type = type.__dict__["__mro__"].__get__
_qualname_of_type = type.__dict__["__qualname__"].__get__
_module_type = types.ModuleType
_descriptors = (type(str.join), type(int.__add__), type(types.FunctionType.__code__), type(property.fget),
                type(dict.__dict__["fromkeys"]))


_pair = type(_C.tensor([0.0]).max(0))  # whose module, janus.return_types, is none that can be imported
_enum_properties = (types.DynamicClassAttribute, getattr(enum, "property", property))


class Unknown(Exception):
    """An object that cannot be found again, or is no longer what it was."""


# ---- names ------------------------------------------------------------------------------------------------------


def _vars(name):
    """The dict of a module that is loaded."""
    m = sys.modules.get(name) if type(name) is str else None
    if not issubclass(type(m), _module_type):
        raise Unknown(name)
    return _module_type.__getattribute__(m, "__dict__")


def _module_of(globals_):
    name = globals_.get("__name__")
    if type(name) is str and name in sys.modules and _vars(name) is globals_:
        return name
    raise Unknown("globals of no module")


def _type_name(t):
    module = next((_vars_of_type(k)["__module__"] for k in _mro_of_type(t)[:1] if "__module__" in _vars_of_type(k)), "builtins")
    return module if type(module) is str else "?", _qualname_of_type(t)


def _member(o, name):
    """What an object that is reached by a name has under another one, without running code of the program."""
    if isinstance(o, type):
        return _vars_of_type(o)[name]
    if issubclass(type(o), _module_type):
        return _module_type.__getattribute__(o, "__dict__")[name]
    raise Unknown(name)


def _named(module, qualname):
    if (module, qualname) == _type_name(_pair):
        return _pair
    try:
        at, *rest = qualname.split(".")
        o = _vars(module)[at]
        for part in rest:
            o = _member(o, part)
    except (KeyError, AttributeError):
        raise Unknown(qualname) from None
    return o.__func__ if type(o) in (staticmethod, classmethod) else o


def _public():
    """{id: (module, name)} of what janus and a few modules of CPython have."""
    found = {}
    for name, m in list(sys.modules.items()):
        if name.split(".")[0] in ("janus", "math", "operator", "functools", "itertools", "builtins") and \
                issubclass(type(m), _module_type):
            for k, v in list(_vars(name).items()):
                if type(k) is str:
                    found.setdefault(id(v), (name, k))
    for k in ("stdin", "stdout", "stderr"):
        found.setdefault(id(getattr(sys, k)), ("sys", k))
    return found


# ---- digests ----------------------------------------------------------------------------------------------------

_codes = {}  # id of a code object: (itself, its digest)
_classes = {}  # (id of a class, names): what its digest was made of, and the digest
_met = []  # what _describe has met that may become another thing though its class does not change: (a function, its code), or None


def _hashed(data):
    return blake2b(data, digest_size=32).hexdigest()


def _digest(*parts):
    return _hashed(json.dumps(parts, sort_keys=True).encode("ascii", "backslashreplace"))


def code_digest(code):
    """Of byte code, constants, names and positions, of nested functions, too."""
    known = _codes.get(id(code))
    if not known:
        if len(_codes) > 10000:
            _codes.clear()
        known = _codes[id(code)] = code, _hashed(marshal.dumps(code, 2))
    return known[1]


def _describe(o):
    """JSON that is the same in another process if what a class has under a name is."""
    t = type(o)
    if t in _descriptors:
        return ["d", t.__name__, *_type_name(o.__objclass__), o.__name__]
    with contextlib.suppress(Unknown):
        return ["v", _literal(o)]
    if t is types.FunctionType:
        _met.append((weakref.ref(o), o.__code__))
        return ["f", code_digest(o.__code__), _module_of(o.__globals__)]
    if t is staticmethod or t is classmethod:
        return [t.__name__, _describe(o.__func__)]
    if issubclass(t, enum.Enum):
        return ["e", *_type_name(t), object.__getattribute__(o, "_name_"), _describe(object.__getattribute__(o, "_value_"))]
    if t is property or t in _enum_properties:
        return [t.__name__, *(_describe(x) for x in (o.fget, o.fset, o.fdel))]
    if isinstance(o, type):
        return ["t", *_type_name(o)]
    if t is types.BuiltinFunctionType:
        return ["b", o.__name__, _describe(o.__self__) if isinstance(o.__self__, type) else o.__module__]
    if t is _C.Op:
        return ["o", o.__name__]
    if t is _C.Function:
        return ["F", _describe(_C._callable_of(o))]
    if t is not tuple:
        _met.append(None)
    if issubclass(t, _module_type):
        return ["m", _module_type.__getattribute__(o, "__dict__").get("__name__")]
    if t in (tuple, list):
        return [t.__name__, *map(_describe, o)]
    if t in (dict, types.MappingProxyType):
        return ["D", *([_describe(k), _describe(v)] for k, v in o.items())]
    if t.__module__ == "dataclasses" and t.__name__ in ("Field", "_MISSING_TYPE", "_FIELD_BASE"):
        slots = t.__dict__.get("__slots__", ("name",) if t.__name__ == "_FIELD_BASE" else ())
        return [t.__name__, *(_describe(getattr(o, s)) for s in slots if s != "type")]
    raise Unknown(t.__name__)


def _type_digest(t, looks):
    """What guards know of a class: its MRO and name, its special methods, and other names that were looked up."""
    if _C._type_is_fixed(t):
        return _digest(*_type_name(t))
    names = *_SPECIAL, *(name for name, plain in looks if not plain)
    key, version = (id(t), names), _C._type_version(t)
    known = _classes.get(key)
    if known and known[0]() is t and version == known[1] and all(f() and f().__code__ is code for f, code in known[2]):
        return known[3]
    found = []
    _met.clear()
    for name in names:
        got = _C._type_lookup(t, name)
        found.append([name, _describe(got[0])] if got else [name])
    digest = _digest(*_type_name(t), [_type_name(k) for k in _mro_of_type(t)], found)
    if version and None not in _met:
        if len(_classes) > 10000:
            _classes.clear()
        _classes[key] = weakref.ref(t), version, _met.copy(), digest
    return digest


# ---- references -------------------------------------------------------------------------------------------------

_SINGLE = {"None": None, "True": True, "False": False, "...": Ellipsis, "NotImplemented": NotImplemented}


def _literal(o):
    """An immutable builtin as JSON."""
    t = type(o)
    for name, single in _SINGLE.items():
        if o is single:
            return [name]
    if t is int:
        return ["int", hex(o)]
    if t is float:
        return ["float", struct.pack(">d", o).hex()]
    if t is complex:
        return ["complex", struct.pack(">dd", o.real, o.imag).hex()]
    if t is str:
        return ["str", o]
    if t is bytes:
        return ["bytes", o.hex()]
    if t in (tuple, frozenset):
        return [t.__name__, *map(_literal, o)]
    if t in (slice, range):
        return [t.__name__, *(_literal(x) for x in (o.start, o.stop, o.step))]
    raise Unknown(t.__name__)


def _of_literal(x):
    kind, *rest = x
    if kind in _SINGLE:
        return _SINGLE[kind]
    if kind == "int":
        return int(rest[0], 16)
    if kind == "float":
        return struct.unpack(">d", bytes.fromhex(rest[0]))[0]
    if kind == "complex":
        return complex(*struct.unpack(">dd", bytes.fromhex(rest[0])))
    if kind == "str":
        return str(rest[0])
    if kind == "bytes":
        return bytes.fromhex(rest[0])
    if kind in ("tuple", "frozenset"):
        return {"tuple": tuple, "frozenset": frozenset}[kind](map(_of_literal, rest))
    if kind in ("slice", "range"):
        return {"slice": slice, "range": range}[kind](*map(_of_literal, rest))
    raise Unknown(kind)


def _functions_of(o):
    """[(how, function)] of what a class has under a name."""
    if type(o) is types.FunctionType:
        return [("", o)]
    if type(o) in (staticmethod, classmethod):
        return [("__func__", o.__func__)]
    if type(o) is property:
        return [(part, getattr(o, part)) for part in ("fget", "fset", "fdel") if getattr(o, part)]
    return []


def _is_blank(o):
    """An object that a conversion has made, without attributes: guards read of it what its class has."""
    t = type(o)
    if t is _C.Tensor:
        return True
    return t.__flags__ & 1 << 9 and type.__getattribute__(t, "__new__") is object.__new__ and not (
        hasattr(t, "__dictoffset__") and t.__dictoffset__ and object.__getattribute__(o, "__dict__"))


class _Writer:
    """References of one entry; `slots` is what its sources held, `kinds` the types of its guards."""

    def __init__(self, callable_, slots, kinds, used):
        self.used = used  # slots that the graph or its effects use
        self.methods = {}  # id of a function: (class, name) that it was found by
        for t, looks, _ in kinds:
            for name in (*(look[0] for look in looks), *(() if _C._type_is_fixed(t) else _SPECIAL)):
                got = _C._type_lookup(t, name)
                for part, f in _functions_of(got[0]) if got else ():
                    self.methods.setdefault(id(f), (t, name, part))
        self.callable, self.slots, self.public = callable_, slots, None
        self.refs, self.known = [], {}  # each reference is written once, and elsewhere its number
        self.of_objects = {}  # id of an object: the number of its reference, if no slot is in it
        self.first = {}  # id of a value: first slot that holds it
        for i, v in enumerate(slots):
            if v is not None:
                self.first.setdefault(id(v), i)

    def ref(self, o, limit=0):
        """limit: slots below it can be referred to."""
        t = type(o)
        if o is self.callable:
            return ["F"]
        with contextlib.suppress(Unknown):
            return ["v", _literal(o)]
        if t is dict:
            with contextlib.suppress(Unknown):
                return ["g", _module_of(o)]
            if o and all(v is None for v in o.values()):  # what strings are looked up in
                return ["keys", *map(_literal, o)]
        if id(o) in self.methods:
            of, name, part = self.methods[id(o)]
            with contextlib.suppress(Unknown):
                return ["l", self.ref(of, limit), name, part]
        with contextlib.suppress(Unknown):
            return self.name(o)
        at = self.first.get(id(o), limit)
        if at < limit:
            return ["p", at]
        if isinstance(o, type):
            for i in range(limit):
                if type(self.slots[i]) is o:
                    return ["T", i]
        raise Unknown(t.__name__)

    def name(self, o):
        t = type(o)
        found = None
        if issubclass(t, _module_type):
            found = ["m", _module_type.__getattribute__(o, "__dict__").get("__name__")]
        elif isinstance(o, type):
            found = ["n", *_type_name(o)]
        elif t is types.FunctionType:
            found = ["n", o.__module__, o.__qualname__]
            with contextlib.suppress(Unknown):
                if type(_find(found)) is _C.Function:
                    found = ["w", found]
        elif t in _descriptors:
            found = ["d", self.ref(o.__objclass__), o.__name__]
        elif issubclass(t, enum.Enum):
            found = ["e", self.ref(t), object.__getattribute__(o, "_name_")]
        elif t is _C.Function:
            inner = _C._callable_of(o)
            if type(inner) is types.FunctionType:
                found = ["n", inner.__module__, inner.__qualname__]
        elif t is types.BuiltinFunctionType:
            found = ["n", o.__module__, o.__name__]
        for one in (found, self.of_library(o)):
            with contextlib.suppress(Unknown, TypeError):
                if one and _find(one) is o:
                    return one
        raise Unknown(t.__name__)

    def of_library(self, o):
        if self.public is None:
            self.public = _public()
        at = self.public.get(id(o))
        return ["n", *at] if at else None

    def number(self, ref):
        at = self.known.setdefault(json.dumps(ref), len(self.refs))
        if at == len(self.refs):
            self.refs.append(ref)
        return at

    def object(self, o, limit):
        """The number of its reference."""
        at = self.of_objects.get(id(o))
        if at is None:
            ref = self.ref(o, limit)
            at = self.number(ref)
            if ref[0] in ("v", "g", "m", "n"):
                self.of_objects[id(o)] = at
        return at

    def plain(self, x, limit):
        """Tuples are lists that begin with "("; an object in a box is {"r": number of a reference}, another one {"o": number}."""
        if type(x) is tuple:
            return {"r": self.object(x[0], limit)} if len(x) == 1 else ["(", *(self.plain(y, limit) for y in x)]
        if type(x) is list:
            return [self.plain(y, limit) for y in x]
        if x is None or type(x) in (int, bool, str):
            return x
        return {"o": self.object(x, limit)}

    def boxed(self, box, limit):
        return None if box is None else self.object(box[0], limit)

    def source(self, i, s):
        """Two lists: what every source has, and the rest, or None where nothing is asked but that something is there."""
        kind, parent, index, obj, key, checks, number, same, want, want2, ident, type_, tensor, is_input, how, offset = s
        code = None
        if checks & _CODE:
            code = code_digest(want2[0])
            want, want2 = self.number(["g", _module_of(want[0])]), self.number(["C", i])
        else:
            want, want2 = self.boxed(want, i), self.boxed(want2, i)
        if kind == _KIND_CONST and not checks & ~_OF_TYPE and i not in self.used and _is_blank(key[0]):
            key = self.number(["blank", self.ref(type(key[0]), i)])
        else:
            key = self.boxed(key, i)
        if ident and type(ident[0]) is _C.device:
            ident = self.number(["device", i, str(ident[0])])
        elif ident and isinstance(ident[0], _C.Tensor):
            ident = self.number(["p", i])  # whichever it is: it is referred to by its slot everywhere
        elif ident:
            ident = self.number(["v", _literal(ident[0])] if _is_literal(ident[0]) else self.name(ident[0]))
        rest = [number, same, want, want2, ident, type_, tensor, is_input, code]
        return [kind, parent, index, self.boxed(obj, i), key, checks, how, offset, rest if rest != _NOTHING_ASKED else None]


def _is_literal(o):
    with contextlib.suppress(Unknown):
        _literal(o)
        return True
    return False


def _find(ref, callable_=None, slots=()):
    """The object of a reference in this process."""
    kind, *rest = ref
    if kind == "F":
        return callable_
    if kind == "v":
        return _of_literal(rest[0])
    if kind == "g":
        return _vars(rest[0])
    if kind == "keys":
        return dict.fromkeys(map(_of_literal, rest))
    if kind == "m":
        _vars(rest[0])
        return sys.modules[rest[0]]
    if kind == "n":
        return _named(*rest)
    if kind in ("w", "d", "e", "l"):
        o = _find(rest[0], callable_, slots)
        if kind == "l":
            return dict(_functions_of(_C._type_lookup(o, rest[1])[0]))[rest[2]]
        if kind == "w":
            return _C._callable_of(o)
        names = _vars_of_type(o)
        return names[rest[1]] if kind == "d" else names["_member_map_"][rest[1]]
    if kind in ("p", "T", "C"):
        o = slots[rest[0]]
        return o if kind == "p" else type(o) if kind == "T" else o.__code__
    if kind == "blank":
        t = _find(rest[0], callable_, slots)
        return _C.tensor(0.0) if t is _C.Tensor else object.__new__(t)
    if kind == "device":
        o = slots[rest[0]]
        if type(o) is _C.device and str(o) == rest[1]:
            return o
    raise Unknown(kind)


def _restored(x, box):
    if type(x) is list:
        if x and x[0] == "(":
            return tuple([_restored(y, box) if type(y) is list or type(y) is dict else y for y in x[1:]])
        return [_restored(y, box) if type(y) is list or type(y) is dict else y for y in x]
    if type(x) is dict:
        return box(x["r"]) if "r" in x else box(x["o"])[0]
    return x


# ---- entries ----------------------------------------------------------------------------------------------------


def _method(t, name, static):
    """What instances must not hide, as an entry has it: a function, or a tuple of what a static method is."""
    got = (_C._type_lookup(t, name) or (None,))[0]
    return (got.__func__ if type(got) is staticmethod else got,) if static else got


def _written(entry, callable_, slots):
    """An entry as JSON."""
    d = _C._stored_dump(entry)
    kinds = d.pop("types")
    w = _Writer(callable_, slots, kinds, {x[0] for x in d["inputs"]} | {x[1] for x in d["steps"]} | set(d["looked"]))
    n = len(slots)
    tokens = {id(t): _TOKEN + _FIRST_CLASS + i for i, t in enumerate(d["tokens"])}
    d["text"] = _C._named(d["text"], [], tokens)
    methods = d.pop("methods")
    for i in range(0, len(methods), 3):
        t, name, f = methods[i:i + 3]
        if _method(t, name, type(f) is tuple) != f:
            raise Unknown(name)
    out = {name: w.plain(x, n) for name, x in d.items() if name != "sources"}
    out["sources"] = [w.source(i, s) for i, s in enumerate(d["sources"])]
    out["methods"] = [[w.object(methods[i], n), methods[i + 1], type(methods[i + 2]) is tuple] for i in range(0, len(methods), 3)]
    out["types"] = [[w.object(t, n), [[name, plain] for name, _, plain in looks], guarded,
                     _type_digest(t, [(name, plain) for name, _, plain in looks])] for t, looks, guarded in kinds]
    out["refs"] = w.refs
    return out


def _rebuilt(out, callable_, args, n_pos, kwnames):
    """The entry for a call; Unknown, or what a damaged file leads to, where it is none."""
    slots, refs = [], out["refs"]
    boxes = [None] * len(refs)  # what references led to: a slot is read once, a name leads to one object

    def box(i):
        got = boxes[i]
        if got is None:
            got = _find(refs[i], callable_, slots),
            if refs[i][0] != "blank":  # each is an object of its own
                boxes[i] = got
        return got

    def find(i):
        return box(i)[0]

    sources = []
    for kind, parent, index, obj, key, checks, how, offset, rest in out["sources"]:
        if type(parent) is not int or not -1 <= parent < len(slots):
            raise Unknown("parent")
        obj, key = obj if obj is None else box(obj), key if key is None else box(key)
        by = key
        if kind == _KIND_KEY and key is None:  # what another source is
            if type(index) is not int or not 0 < index <= len(slots):
                raise Unknown("key")
            by = (slots[index - 1],)
        got = _C._stored_read(kind, index, obj, by, how, offset, slots[parent] if parent >= 0 else None, args)
        at = got[0] if got else None
        slots.append(at)
        if rest is None:
            sources.append((kind, parent, index, obj, key, checks, 0, 0, None, None, None, -1, None, 0, how, offset))
            continue
        number, same, want, want2, ident, type_, tensor, is_input, code = rest
        if tensor and not tensor[7] and (not isinstance(at, _C.Tensor) or list(at.shape) != tensor[5]):
            raise Unknown("a tensor")  # as the guards would find: most entries that do not fit are seen here
        if code and (type(at) is not types.FunctionType or code_digest(at.__code__) != code):
            raise Unknown("a function")
        want, want2, ident = (x if x is None else box(x) for x in (want, want2, ident))
        tensor = tensor and (*tensor[:7], [tuple(x) for x in tensor[7]], *tensor[8:])
        sources.append((kind, parent, index, obj, key, checks, number, same, want, want2, ident, type_, tensor, is_input, how, offset))
    kinds = []
    for ref, looks, guarded, digest in out["types"]:
        t = find(ref)
        if not isinstance(t, type) or _type_digest(t, looks) != digest:
            raise Unknown("a class")
        kinds.append((t, [(name, None if plain else _C._type_lookup(t, name), plain) for name, plain in looks], guarded))
    d = {name: _restored(x, box) for name, x in out.items() if name not in ("sources", "types", "methods", "refs")}
    d["sources"], d["types"], d["methods"] = sources, kinds, []
    for ref, name, static in out["methods"]:
        t = find(ref)
        d["methods"] += [t, name, _method(t, name, static)]
    d["numbers"] = {_TOKEN + _FIRST_CLASS + i: id(t) for i, t in enumerate(d["tokens"])}
    return _C._stored_build(d, args, n_pos, kwnames)


# ---- files ------------------------------------------------------------------------------------------------------


def _fingerprint():
    """Of what makes graphs: this janus and this Python."""
    parts = [_FORMAT, _C.__version__, sys.version, sys.flags.optimize]
    folders = [os.path.dirname(os.path.abspath(__file__))]
    files = [_C.__file__]
    while folders:
        for one in sorted(os.scandir(folders.pop()), key=lambda e: e.name):
            if one.is_dir() and one.name != "__pycache__":
                folders.append(one.path)
            elif one.name.endswith(".py"):
                files.append(one.path)
    for path in files:
        s = os.stat(path)
        parts.append([os.path.basename(path), s.st_size, s.st_mtime_ns])
    return _digest(*parts)


_folder = os.path.abspath(os.environ["JANUS_CACHE"]) if os.environ.get("JANUS_CACHE") else None
_made_by = None


class Shelf:
    """The entries of one function on disk."""

    def __init__(self):
        self.keys = {}    # options: name of the folder, or None
        self.recalled = set()  # options: whether it was refused was asked
        self.waiting = {}  # options: [what a file has, how often it was tried]

    def _key(self, callable_, options):
        global _made_by
        if options not in self.keys:
            function = callable_.__func__ if type(callable_) is types.MethodType else callable_
            self.keys[options] = None
            if type(function) is types.FunctionType and _folder:
                _made_by = _made_by or _fingerprint()
                self.keys[options] = _digest(_made_by, code_digest(function.__code__), *options)[:32]
        return self.keys[options]

    def _path(self, key, *more):
        return os.path.join(_folder, key, *more)

    def _read(self, key):
        found = []
        try:
            names = sorted(os.listdir(self._path(key)))
        except OSError:
            return found
        for name in names[:2 * _MOST]:
            if not name.endswith(".entry"):
                continue
            entry = self._read_one(key, name)
            if entry is not None:
                found.append([f"{key}/{name}", entry, 0])
        return found

    def _read_one(self, key, name):
        """What a file has, None: it is none of ours, or damaged."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            with open(self._path(key, name), "rb") as file:
                data = file.read(_MAX_BYTES)
            head, _, body = data.partition(b"\n")
            if head.decode() == f"{_FORMAT} {_hashed(body)}":
                return json.loads(body)
        return None

    def _write(self, key, name, what):
        """Writes a file beside its place and renames it.  Its name is that of what it has, if none is given."""
        body = json.dumps(what, separators=(",", ":")).encode("ascii")
        head = f"{_FORMAT} {_hashed(body)}\n".encode()
        name = name or _hashed(head)[:32] + ".entry"
        os.makedirs(self._path(key), exist_ok=True)
        if len(os.listdir(self._path(key))) > _MOST or len(body) >= _MAX_BYTES // 2:
            return None
        temporary = self._path(key, f"{os.getpid()}-{os.urandom(8).hex()}.new")
        try:
            with open(temporary, "xb") as file:
                file.write(head + body)
            os.replace(temporary, self._path(key, name))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return f"{key}/{name}"

    def take(self, callable_, args, n_pos, kwnames, options):
        """(entry, name) for a call that no entry takes; True: there are some, which do not take it, either; or None."""
        key = self._key(callable_, options)
        if not key:
            return None
        if options not in self.waiting:
            self.waiting[options] = self._read(key)
        waiting = self.waiting[options]
        for one in list(waiting):
            one[2] += 1
            if one[2] >= _PATIENCE:
                waiting.remove(one)
            try:
                entry = _rebuilt(one[1], callable_, args, n_pos, kwnames)
            except Exception:  # whatever is in the file, the program goes on
                continue
            if one in waiting:
                waiting.remove(one)
            return entry, one[0]
        return True if waiting else None

    def keep(self, entry, callable_, slots, options):
        """Writes an entry; its name below the folder, or None: it cannot be kept."""
        key = self._key(callable_, options)
        if not key:
            return None
        try:
            return self._write(key, None, _written(entry, callable_, slots))
        except Exception as e:
            if os.environ.get("JANUS_LOG"):
                _C._log_conversion(f"not kept on disk: {type(e).__name__}: {e}")
            return None

    def remember(self, callable_, options, what):
        """Writes that a conversion was refused: why, and what is CPython's after its plan."""
        key = self._key(callable_, options)
        if key:
            why, plan = what
            with contextlib.suppress(OSError):
                self._write(key, _REFUSAL, {"why": why or "?", "plan": plan.state() if plan else [[], []]})

    def recall(self, callable_, options):
        """(why a conversion was refused, the state of the plan), if that was written."""
        key = self._key(callable_, options)
        if not key or options in self.recalled:
            return None
        self.recalled.add(options)
        found = self._read_one(key, _REFUSAL)
        if type(found) is not dict or type(found.get("why")) is not str:
            return None
        return found["why"], found.get("plan")

    def forget(self, name):
        """Deletes an entry by the name that `take` or `keep` gave."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

