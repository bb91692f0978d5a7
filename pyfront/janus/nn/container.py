# SPDX-License-Identifier: Apache-2.0
"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict: modules that hold others in order.

A child's name is its position (or key), so the names in state_dict are PyTorch's.
"""
from .module import Module
from .parameter import Parameter


def _position(index, length):
    """A non-negative index of a sequence of that length; IndexError outside it."""
    place = index if isinstance(index, int) else index.__index__()
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of range")
    return place % length if length else 0


class _Listed(Module):
    """What Sequential and ModuleList share: children in a row, named by their positions."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __contains__(self, module):
        return any(child is module for child in self)

    def __getitem__(self, index):
        children = list(self._modules.values())
        if isinstance(index, slice):
            made = type(self)()
            made._replace(children[index])
            return made
        return children[_position(index, len(children))]

    def __setitem__(self, index, module):
        names = list(self._modules)
        self.add_module(names[_position(index, len(names))], module)

    def __delitem__(self, index):
        children = list(self._modules.values())
        del children[index]
        self._replace(children)

    def _replace(self, children):
        for name in list(self._modules):
            delattr(self, name)
        for place, module in enumerate(children):
            self.add_module(str(place), module)

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds every module of an iterable at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Adds a module before the one at `index`."""
        children = list(self._modules.values())
        children.insert(index, module)
        self._replace(children)
        return self

    def pop(self, index):
        """Takes the module at `index` out, and returns it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, modules):
        made = type(self)()
        return made.extend(self).extend(modules)


class Sequential(_Listed):
    """Feeds its input through its modules in order; from modules or one dict of named modules."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules whose parameters are seen by the module that holds it."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)


class _Named(Module):
    """What ModuleDict and ParameterDict share: what they hold has names, in the order in which it was put in.

    A class says in which of a module's dicts that is (`_held`), and how something gets a name (`__setitem__`).
    """

    def __len__(self):
        return len(self._held)

    def __iter__(self):
        return iter(self._held)

    def __contains__(self, key):
        return key in self._held

    def __getitem__(self, key):
        return self._held[key]

    def __delitem__(self, key):
        self._held[key]  # KeyError
        delattr(self, key)

    def keys(self):
        """The names, in the order in which they were put in."""
        return self._held.keys()

    def values(self):
        """What has the names, in their order."""
        return self._held.values()

    def items(self):
        """Pairs of a name and what has it."""
        return self._held.items()

    def pop(self, key):
        """Takes what has that name out, and returns it."""
        value = self[key]
        del self[key]
        return value

    def clear(self):
        """Takes all out."""
        for key in list(self):
            del self[key]

    def update(self, items):
        """Adds what a mapping has, or `(key, value)` pairs."""
        for key, value in items.items() if hasattr(items, "items") else items:
            self[key] = value


class ModuleDict(_Named):
    """A dict of modules whose parameters are seen by the module that holds it."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    @property
    def _held(self):
        return self._modules

    def __setitem__(self, key, module):
        self.add_module(key, module)


class ParameterList(Module):
    """A list of parameters; a plain tensor put in becomes a Parameter."""

    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            self.extend(values)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._parameters[str(_position(index, len(self)))]

    def __setitem__(self, index, value):
        self.register_parameter(str(_position(index, len(self))), self._parameter(value))

    def append(self, value):
        """Adds a parameter at the end."""
        self.register_parameter(str(len(self)), self._parameter(value))
        return self

    def extend(self, values):
        """Adds every parameter of an iterable at the end."""
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    @staticmethod
    def _parameter(value):
        return value if isinstance(value, Parameter) else Parameter(value)


class ParameterDict(_Named):
    """A dict of parameters; a plain tensor put in becomes a Parameter."""

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    @property
    def _held(self):
        return self._parameters

    def __setitem__(self, key, value):
        self.register_parameter(key, ParameterList._parameter(value))

    def __reversed__(self):
        return reversed(self._parameters)

    def get(self, key, default=None):
        """The parameter of that name, or `default`."""
        return self._parameters.get(key, default)

    def setdefault(self, key, default=None):
        """The parameter of that name; where there is none, `default` becomes it."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self):
        """Takes the last one out, and returns its name and it."""
        if not self:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def copy(self):
        """A new dict of the same parameters."""
        return type(self)(self._parameters)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self
