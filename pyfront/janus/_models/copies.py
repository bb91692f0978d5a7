# SPDX-License-Identifier: Apache-2.0
"""Copies: `copy`, and what `dataclasses` makes of instances."""
import collections
import copy
import copyreg
import types

from .. import Tensor
from .unknown import _unknown

# What is its own copy.
ATOMS = (type(None), int, float, bool, complex, bytes, str, type, range, type(Ellipsis), type(NotImplemented), types.FunctionType,
         types.BuiltinFunctionType, property)


def _plain(cls):
    """Whether instances of a class have nothing but what is in their __dict__.  Called as it is, of what cannot change."""
    if type(cls) is not type or issubclass(cls, (Tensor, type)) or not cls.__dictoffset__:
        return False
    return cls.__basicsize__ == _Bare.__basicsize__ and not cls.__itemsize__ and not [k for k in cls.__mro__[:-1] if vars(k).get("__slots__")]


class _Bare:
    pass


def _copied_by_attributes(cls):
    if not _plain(cls) or cls in copyreg.dispatch_table or cls in copy._copy_dispatch or cls in copy._deepcopy_dispatch:
        _unknown("a copy of such an object")
    if (hasattr(cls, "__copy__") or hasattr(cls, "__deepcopy__") or hasattr(cls, "__setstate__") or hasattr(cls, "__getnewargs__")
            or hasattr(cls, "__getnewargs_ex__") or cls.__reduce_ex__ is not object.__reduce_ex__ or cls.__reduce__ is not object.__reduce__
            or cls.__new__ is not object.__new__ or (hasattr(cls, "__getstate__") and not _has_objects_state(cls))):
        _unknown("a copy of an object that says how it is copied")


def _has_objects_state(cls):
    return hasattr(object, "__getstate__") and cls.__getstate__ is object.__getstate__


def _attributes(x, cls):
    _copied_by_attributes(cls)
    return x.__dict__


def _with_attributes(cls, attributes):
    made = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def _copy(x):
    cls = type(x)
    if cls in ATOMS or cls is tuple or cls is frozenset:
        return x
    if cls is list or cls is dict or cls is set:
        return x.copy()
    if cls is collections.deque or cls is Tensor:
        return x.__copy__()
    return _with_attributes(cls, _attributes(x, cls))


def _without_attributes(tensor):
    """Whether the program has set none.  Of the converter (jcv_without_attributes)."""


def _of_tensor(x):
    if not x.is_leaf or x.grad is not None or not _without_attributes(x):
        _unknown("a copy of a tensor with a history, a gradient or attributes")
    made = x.detach().clone()
    if x.requires_grad:
        made.requires_grad = True
    return made


def _atoms_alone(items):
    for item in items:
        if type(item) not in ATOMS and not (type(item) is tuple and _atoms_alone(item)):
            return False
    return True


# No recursion, which would be one of the graph: what is in a copy is made once the copy is there.

def _deepcopy(x, memo=None):
    if memo is not None:
        _unknown("deepcopy() with a memo")
    met, todo = [], []
    copied = _begun(x, met, todo)
    while True:
        if not todo:
            return copied
        old, made = todo.pop(0)
        cls = type(old)
        if cls is list:
            for item in old:
                made.append(_begun(item, met, todo))
        elif cls is dict:
            for key, value in old.items():
                if not _atoms_alone((key,)):
                    _unknown("a copy of an object that is a key")
                made[key] = _begun(value, met, todo)
        else:
            for name, value in _attributes(old, cls).items():
                object.__setattr__(made, name, _begun(value, met, todo))


def _begun(x, met, todo):
    """The copy of x, which is done later; met: pairs of what was copied and its copy."""
    cls = type(x)
    if cls in ATOMS:
        return x
    if cls is tuple:
        if not _atoms_alone(x):
            _unknown("a copy of a tuple with other things than numbers and texts")
        return x
    for old, made in met:
        if old is x:
            return made
    if cls is Tensor:
        made = _of_tensor(x)
        met.append((x, made))
        return made
    if cls is list:
        made = []
    elif cls is dict:
        made = {}
    else:
        _copied_by_attributes(cls)
        made = object.__new__(cls)
    met.append((x, made))
    todo.append((x, made))
    return made


def _of_dataclass(x):
    return hasattr(type(x), "__dataclass_fields__")


def _fields_of(x):
    return [field.name for field in type(x).__dataclass_fields__.values() if field._field_type.name == "_FIELD"]


def _asdict(obj, *, dict_factory=dict):
    if not _of_dataclass(obj) or dict_factory is not dict:
        _unknown("asdict() of other things")
    made = {}
    return _all_parts(made, [(obj, made)], True)


def _astuple(obj, *, tuple_factory=tuple):
    if not _of_dataclass(obj) or tuple_factory is not tuple:
        _unknown("astuple() of other things")
    todo = []
    return _all_parts(tuple([_part(getattr(obj, name), todo, False) for name in _fields_of(obj)]), todo, False)


def _all_parts(whole, todo, dicts):
    while True:
        if not todo:
            return whole
        old, made = todo.pop(0)
        if type(old) is list:
            for item in old:
                made.append(_part(item, todo, dicts))
        elif type(old) is dict:
            for key, value in old.items():
                made[_key_part(key)] = _part(value, todo, dicts)
        else:
            for name in _fields_of(old):
                made[name] = _part(getattr(old, name), todo, dicts)


def _made_again(x):
    """A tuple of atoms, with those in it."""
    return tuple([_made_again(item) if type(item) is tuple else item for item in x])


def _key_part(key):
    if type(key) is tuple or not _atoms_alone((key,)):
        _unknown("a copy of a tuple or object that is a key")
    return key


def _part(x, todo, dicts):
    """What stands for x; instances are dicts, or refused; each list and dict is another one each time that it is met."""
    cls = type(x)
    if cls in ATOMS:
        return x
    if cls is tuple:
        if not _atoms_alone(x):
            _unknown("asdict() or astuple() with a tuple of other things than numbers and texts")
        return _made_again(x)
    if _of_dataclass(x):
        if not dicts or not isinstance(cls, type):
            _unknown("astuple() of instances in instances")
        made = {}
    elif cls is list:
        made = []
    elif cls is dict:
        made = {}
    elif isinstance(x, (list, tuple, dict)):
        _unknown("asdict() or astuple() with such a container")
    else:
        return _deepcopy(x)
    todo.append((x, made))
    return made
