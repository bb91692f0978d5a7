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


class ModuleDict(Module):
    """A dict of modules whose parameters are seen by the module that holds it."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        delattr(self, key)

    def keys(self):
        """The names, in the order in which they were put in."""
        return self._modules.keys()

    def values(self):
        """The modules, in the order of their names."""
        return self._modules.values()

    def items(self):
        """Pairs of name and module."""
        return self._modules.items()

    def update(self, modules):
        """Adds modules from a mapping or from `(key, module)` pairs."""
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


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

    @staticmethod
    def _parameter(value):
        return value if isinstance(value, Parameter) else Parameter(value)


class ParameterDict(Module):
    """A dict of parameters; a plain tensor put in becomes a Parameter."""

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, value):
        self.register_parameter(key, ParameterList._parameter(value))

    def __delitem__(self, key):
        del self._parameters[key]

    def keys(self):
        """The names, in the order in which they were put in."""
        return self._parameters.keys()

    def values(self):
        """The parameters, in the order of their names."""
        return self._parameters.values()

    def items(self):
        """Pairs of name and parameter."""
        return self._parameters.items()

    def get(self, key, default=None):
        """The parameter of that name, or `default`."""
        return self._parameters.get(key, default)

    def pop(self, key):
        """Takes a parameter out, and returns it."""
        return self._parameters.pop(key)

    def update(self, parameters):
        """Adds parameters from a mapping or from `(key, parameter)` pairs."""
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value
