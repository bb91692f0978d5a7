# SPDX-License-Identifier: Apache-2.0
"""What a function can write to, kept to be put back: so that janus.export leaves a program as it was."""
import types

from . import _C
from .autograd import no_grad

_ATOMS = (bool, int, float, str, bytes, type, types.ModuleType, types.BuiltinFunctionType)
_GONE = object()


def _slots(o):
    for t in type(o).__mro__:
        names = t.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names


def _has(o, name):
    try:
        return object.__getattribute__(o, name)
    except AttributeError:
        return _GONE


def _names(code):
    """Names of globals that code, and what is nested in it, may use."""
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found |= _names(one)
    return found


def _put_back(now, was):
    """A dict gets the items that it had of the names in `was`."""
    for name, value in was.items():
        if value is _GONE:
            now.pop(name, None)
        elif now.get(name, _GONE) is not value:
            now[name] = value


def _methods(t):
    for one in vars(t).values():
        one = getattr(one, "fget", getattr(one, "__func__", one))  # of properties, static and class methods
        if isinstance(one, (types.FunctionType, _C.Function)):
            yield one


class Snapshot:
    """Attributes, lists, dicts, variables and tensors that are reached from some objects, and the default generator.

    Functions lead to their closures and to the globals that they name, objects to the methods of their classes.
    Modules of Python and janus's own code are not looked into.
    """

    def __init__(self, *roots):
        self._undo, seen, waiting = [], {}, list(roots)
        while waiting:
            o = waiting.pop()
            if o is None or id(o) in seen or isinstance(o, _ATOMS):
                continue
            seen[id(o)] = o  # its id stays its own
            waiting.extend(self._look(o))
            for t in () if isinstance(o, types.FunctionType) else type(o).__mro__:
                if id(t) not in seen and t.__module__.partition(".")[0] not in ("janus", "builtins"):
                    seen[id(t)] = t
                    waiting.extend(_methods(t))
        self._rng = _C.default_generator.get_state()

    def restore(self):
        with no_grad():
            for undo in self._undo:
                undo()
        _C.default_generator.set_state(self._rng)

    def _look(self, o):
        """Keeps what o has; returns what it leads to."""
        if isinstance(o, _C.Tensor):
            return self._tensor(o)
        if isinstance(o, types.CellType):
            try:
                inside = o.cell_contents
            except ValueError:
                return []
            self._undo.append(lambda: setattr(o, "cell_contents", inside))
            return [inside]
        if isinstance(o, types.FunctionType):
            if o.__module__ and o.__module__.partition(".")[0] == "janus":
                return []
            named = {name: o.__globals__.get(name, _GONE) for name in _names(o.__code__)}
            self._undo.append(lambda: _put_back(o.__globals__, named))
            return [v for v in named.values() if v is not _GONE] + [
                *(o.__closure__ or ()), *(o.__defaults__ or ()), *(o.__kwdefaults__ or {}).values()]
        if isinstance(o, types.MethodType):
            return [o.__self__, o.__func__]
        if type(o) is _C.Function:
            return [o.__wrapped__]
        if isinstance(o, (tuple, set, frozenset)):
            return list(o)
        if isinstance(o, list):
            return self._list(o)
        return self._dict(o) if isinstance(o, dict) else self._object(o)

    def _tensor(self, o):
        version, was = o._version, o.detach().clone()

        def undo():
            if o._version != version:
                o.data.copy_(was)
        self._undo.append(undo)
        return []

    def _list(self, o):
        was = list(o)

        def undo():
            if len(o) != len(was) or any(a is not b for a, b in zip(o, was)):
                o[:] = was
        self._undo.append(undo)
        return was

    def _dict(self, o):
        was = dict(o)

        def undo():
            for name in [name for name in o if name not in was]:
                del o[name]
            _put_back(o, was)
        self._undo.append(undo)
        return list(was.values())

    def _object(self, o):
        was = {name: _has(o, name) for name in _slots(o) if name not in ("__dict__", "__weakref__")}

        def undo():
            for name, value in was.items():
                if value is _GONE and _has(o, name) is not _GONE:
                    object.__delattr__(o, name)
                elif value is not _GONE and _has(o, name) is not value:
                    object.__setattr__(o, name, value)
        if was and not isinstance(o, _C.Tensor):
            self._undo.append(undo)
        inside = getattr(o, "__dict__", None)
        return [v for v in was.values() if v is not _GONE] + ([inside] if type(inside) is dict else [])
