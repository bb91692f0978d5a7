# SPDX-License-Identifier: Apache-2.0
"""Pickles read without running what is in them: tensors, containers and numbers.

`pickle.load` calls whatever a file names.  This machine knows the instructions of pickles, but makes
only what is listed here: names of the file are looked up in a table, never imported, and give
builders, never classes or functions that later instructions could change.
"""
import collections
import pickle
import pickletools

from . import _C, _tensor

UnpicklingError = pickle.UnpicklingError
MAX_DEPTH = 200  # of containers that are hashed or compared: plain data is never deeper

_ADVICE = ("Weights only load failed: {}.\n"
           "janus.load reads tensors, containers and numbers unless it is told otherwise. If you trust where the file "
           "comes from, janus.load(..., weights_only=False) reads anything, and runs what the file says.")


def fail(what):
    """Raises the error of a file that is damaged, or holds more than data."""
    raise UnpicklingError(_ADVICE.format(what))


class Builder:
    """What a name of the file stands for: called with what the file gives, checked.  Without `make`
    it is an argument for another one."""
    __slots__ = ("name", "make", "new")

    def __init__(self, name, make=None, new=False):
        self.name, self.make, self.new = name, make, new  # new: also as a class (NEWOBJ)


def _ordered_dict(*args):
    return collections.OrderedDict(*args)


def _tensor_of(cls, data, shape, dtype, requires_grad, attributes):
    """A tensor as `janus.save` writes it."""
    from .nn import Parameter
    if cls not in (TENSOR, PARAMETER) or not isinstance(data, (bytes, bytearray)):
        fail("a tensor of an unknown kind")
    if not isinstance(dtype, type(_C.float32)) or not isinstance(attributes, dict):
        fail("a tensor without a type")
    count = numel(shape)
    if count * dtype.itemsize != len(data):
        fail("a tensor whose bytes do not fit its shape")
    kind = _C.Tensor if cls is TENSOR else Parameter
    return _tensor._rebuild(kind, data, tuple(shape), dtype, bool(requires_grad), attributes)


def numel(shape):
    """Number of elements of a shape from a file."""
    if not isinstance(shape, (tuple, list)) or len(shape) > 16:
        fail("a tensor without a shape")
    count = 1
    for size in shape:
        if type(size) is not int or size < 0:
            fail("a tensor of negative or odd sizes")
        count *= size
    if count >= 2**60:
        fail("a tensor of more elements than there can be")
    return count


def _bytes_of(text, encoding):
    """bytes, as protocols below 3 write them."""
    return text.encode("latin1") if isinstance(text, str) and encoding == "latin1" else fail("an unknown encoding")


def _no_bytes():
    """b"", as protocols below 3 write it."""
    return b""


def _device(*args):
    return _C.device(*args)


def _size(*args):
    numel(args[0] if args else ())
    return _C.Size(*args)


TENSOR, PARAMETER = Builder("Tensor"), Builder("Parameter")  # for _tensor_of
NAMES = {
    ("janus._C", "Tensor"): TENSOR,
    ("janus", "Tensor"): TENSOR,
    ("janus.nn.parameter", "Parameter"): PARAMETER,
    ("janus._tensor", "_rebuild"): Builder("_rebuild", _tensor_of),
    ("janus._C", "Size"): Builder("Size", _size, True),
    ("janus", "Size"): Builder("Size", _size, True),
    ("janus", "device"): Builder("device", _device, True),
    ("janus._C", "device"): Builder("device", _device, True),
    ("collections", "OrderedDict"): Builder("OrderedDict", _ordered_dict, True),
    ("builtins", "set"): Builder("set", set, True),
    ("builtins", "frozenset"): Builder("frozenset", frozenset, True),
    ("builtins", "complex"): Builder("complex", complex),
    ("builtins", "bytearray"): Builder("bytearray", bytearray, True),
    ("__builtin__", "set"): Builder("set", set, True),
    ("__builtin__", "frozenset"): Builder("frozenset", frozenset, True),
    ("__builtin__", "complex"): Builder("complex", complex),
    ("__builtin__", "bytearray"): Builder("bytearray", bytearray, True),
    ("__builtin__", "bytes"): Builder("bytes", _no_bytes),
    ("_codecs", "encode"): Builder("encode", _bytes_of),
}

_DATA = (int, float, str, bytes, bytearray, bool, complex, tuple, list, dict, set, frozenset, type(None))


class Machine:
    """Runs one pickle.  `names` adds to the table; `persistent(id)` gives what lies outside."""

    def __init__(self, names=None, persistent=None):
        self.names = {**NAMES, **(names or {})}
        self.persistent = persistent

    def load(self, stream):
        """The value of the pickle that begins where the stream is, which is in memory: lengths in a
        damaged file would be asked for of others."""
        try:
            return self._run(stream)
        except UnpicklingError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, EOFError, RuntimeError,
                NotImplementedError) as error:  # RecursionError is a RuntimeError
            fail(f"the file is damaged ({type(error).__name__}: {error})")
        return None

    def _global(self, module, name):
        found = self.names.get((module, name))
        if found is None and module in ("janus", "janus._C"):
            found = getattr(_C, name, None)
            found = found if isinstance(found, type(_C.float32)) else None
        if found is None:
            fail(f"{module}.{name} is not among what is read")
        return found

    @staticmethod
    def _call(builder, args, as_class):
        known = isinstance(builder, Builder) and builder.make is not None and (builder.new or not as_class)
        if not known or not isinstance(args, tuple):
            fail("a call of something that is no builder")
        return builder.make(*args)

    @staticmethod
    def _of(value, kind):
        return value if isinstance(value, kind) else fail("an instruction on a value of another kind")

    def _state(self, made, state):
        """BUILD: attributes of a state_dict (PyTorch's `_metadata`); of nothing else."""
        if type(made) is not collections.OrderedDict or not isinstance(state, dict):
            fail(f"a state for a {type(made).__name__}")
        for key in state:
            if key != "_metadata":
                fail(f"an attribute {key!r} of a dict")
        made.__dict__.update(state)

    def _run(self, stream):
        stack, marks, memo = [], [], {}

        def pop_mark():
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            return items

        def pop():
            if marks and len(stack) <= marks[-1]:
                fail("the file is damaged (a mark where a value should be)")
            return stack.pop()

        def hashable(key, depth=0):
            if depth > MAX_DEPTH:
                fail("keys nested too deep")
            if isinstance(key, tuple):
                for part in key:
                    hashable(part, depth + 1)
            elif not isinstance(key, _DATA):
                fail(f"a {type(key).__name__} as a key")
            return key

        for op, arg, _ in pickletools.genops(stream):
            name = op.name
            if name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            elif name in _LITERALS:
                stack.append(arg)
            elif name in ("STRING", "BINSTRING", "SHORT_BINSTRING"):
                stack.append(arg)
            elif name in ("PROTO", "FRAME"):
                continue
            elif name == "MARK":
                marks.append(len(stack))
            elif name == "POP":
                if marks and len(stack) == marks[-1]:
                    marks.pop()
                else:
                    stack.pop()
            elif name == "POP_MARK":
                pop_mark()
            elif name == "DUP":
                stack.append(stack[-1])
            elif name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET"):
                stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}[name]())
            elif name in ("TUPLE", "LIST", "FROZENSET"):
                items = pop_mark()
                if name == "FROZENSET":
                    items = [hashable(item) for item in items]
                stack.append({"TUPLE": tuple, "LIST": list, "FROZENSET": frozenset}[name](items))
            elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
                n = int(name[-1])
                items = [pop() for _ in range(n)]
                stack.append(tuple(reversed(items)))
            elif name == "DICT":
                items = pop_mark()
                stack.append({hashable(items[i]): items[i + 1] for i in range(0, len(items), 2)})
            elif name == "APPEND":
                value = pop()
                self._of(stack[-1], list).append(value)
            elif name == "APPENDS":
                items = pop_mark()
                self._of(stack[-1], list).extend(items)
            elif name == "SETITEM":
                value, key = pop(), pop()
                self._of(stack[-1], dict)[hashable(key)] = value
            elif name == "SETITEMS":
                items = pop_mark()
                target = self._of(stack[-1], dict)
                for i in range(0, len(items), 2):
                    target[hashable(items[i])] = items[i + 1]
            elif name == "ADDITEMS":
                items = pop_mark()
                self._of(stack[-1], set).update(hashable(item) for item in items)
            elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
                memo[int(arg)] = stack[-1]
            elif name == "MEMOIZE":
                memo[len(memo)] = stack[-1]
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                stack.append(memo[int(arg)])
            elif name == "GLOBAL":
                stack.append(self._global(*arg.split(" ", 1)))
            elif name == "STACK_GLOBAL":
                attribute, module = pop(), pop()
                stack.append(self._global(self._of(module, str), self._of(attribute, str)))
            elif name in ("REDUCE", "NEWOBJ"):
                args, builder = pop(), pop()
                stack.append(self._call(builder, args, name == "NEWOBJ"))
            elif name == "BUILD":
                state = pop()
                self._state(stack[-1], state)
            elif name in ("BINPERSID", "PERSID"):
                key = pop() if name == "BINPERSID" else arg
                if self.persistent is None:
                    fail("something that lies outside the file")
                stack.append(self.persistent(key))
            elif name == "STOP":
                if len(stack) != 1 or marks:
                    fail("the file is damaged (it ends in the middle)")
                return self._data(stack[0])
            else:
                fail(f"the instruction {name}")
        return fail("the file is damaged (it does not end)")

    @staticmethod
    def _data(value):
        """The value, if no name has been left in it in place of data."""
        todo, seen = [value], set()
        while todo:
            item = todo.pop()
            if isinstance(item, Builder):
                fail(f"the name {item.name} in place of data")
            if isinstance(item, (tuple, list, dict)) and id(item) not in seen:
                seen.add(id(item))
                todo.extend(item)
                if isinstance(item, dict):
                    todo.extend(item.values())
        return value


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE",
             "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
