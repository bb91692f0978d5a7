# SPDX-License-Identifier: Apache-2.0
"""merge: models of one architecture, called together.

Each model is a call of its own, one after the other, and the results are a list.  In a graph each of these calls
is apart, and SubGraphs that turn out equal but for the parameters they read are one, whose calls run together
(docs/adr/0051-merged-models.md): an op of all models is one kernel, with a row for each model.
"""
from . import _C
from ._C import Tensor
from ._asked import function_of
from ._vmap import _build, _flatten, _refilled
from .nn import Module


def _describe(x):
    if isinstance(x, Tensor):
        return f"a tensor of {x.dtype} and shape {tuple(x.shape)}"
    text = repr(x)
    return text if len(text) < 60 else f"of {type(x)}"


def _plain(x):
    """Whether a value of a module's attribute is part of its architecture: numbers, names and tuples of them."""
    if isinstance(x, (tuple, list)):
        return all(_plain(item) for item in x)
    return x is None or isinstance(x, (bool, int, float, str))


def _parts(module):
    """Everything that models of one architecture agree on, by name, in order."""
    parts = {}
    for name, sub in module.named_modules(remove_duplicate=False):
        at = f"{name}." if name else ""
        parts[name or "the model"] = type(sub)
        for key, value in list(sub._parameters.items()) + list(sub._buffers.items()):
            parts[at + key] = value
        for key, value in vars(sub).items():
            if not key.startswith("_") and key != "training" and _plain(value):
                parts[at + key] = value
    return parts


def _equal(a, b):
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return tuple(a.shape) == tuple(b.shape) and a.dtype == b.dtype and a.device == b.device
    return type(a) is type(b) and (a is b or not isinstance(a, Tensor) and (a == b or a != a and b != b))


def _same_modules(first, other, i):
    a, b = _parts(first), _parts(other)
    for name in list(a) + [name for name in b if name not in a]:
        if name not in a or name not in b:
            has, lacks = (0, i) if name in a else (i, 0)
            raise ValueError(f"merge: the models are of different architectures: models[{has}] has {name}, which "
                             f"models[{lacks}] has not")
        if not _equal(a[name], b[name]):
            raise ValueError(f"merge: the models are of different architectures: {name} is {_describe(b[name])} in "
                             f"models[{i}] and {_describe(a[name])} in models[0]")


def _code(f):
    """The code of a function, decorated, bound or partly applied; None: it has none."""
    for _ in range(32):
        inner = getattr(f, "func", None) or getattr(f, "__func__", None) or getattr(f, "__wrapped__", None)
        if inner is None:
            break
        f = inner
    return getattr(f, "__code__", None)


def _same_code(a, b):
    return a is b or (a.co_code == b.co_code and a.co_names == b.co_names and len(a.co_consts) == len(b.co_consts) and
                      all(_same_code(x, y) if hasattr(x, "co_code") and hasattr(y, "co_code") else
                          type(x) is type(y) and x == y for x, y in zip(a.co_consts, b.co_consts)))


def _same_functions(first, other, i):
    a, b = _code(first), _code(other)
    if type(first) is not type(other) or (a is None) != (b is None):
        raise ValueError(f"merge: the models are of different architectures: models[{i}] is {_describe(other)} and "
                         f"models[0] is {_describe(first)}")
    if a is not None and not _same_code(a, b):
        raise ValueError(f"merge: the models are of different architectures: models[{i}] is {b.co_name} "
                         f"({b.co_filename}:{b.co_firstlineno}) and models[0] is {a.co_name} "
                         f"({a.co_filename}:{a.co_firstlineno}), whose code is another")


def _own(args, i, n):
    """The arguments of model i: an item of each list, everything else as it is."""
    out = []
    for x in args:
        if isinstance(x, list):
            if len(x) != n:
                raise ValueError(f"merge: an argument is a list of {len(x)}, expected an item for each of {n} models")
            out.append(x[i])
        else:
            out.append(x)
    return out


def _call(model, args, kwargs):
    """One model, called apart: the tensors among its arguments are what the SubGraph is called with."""
    if not kwargs and all([isinstance(x, Tensor) for x in args]):
        def plain(*again):
            return _flatten(model(*again))

        return _build(*_C._apart(plain, *args))
    leaves, spec = _flatten((tuple(args), kwargs))
    tensors = [x for x in leaves if isinstance(x, Tensor)]

    def one(*again):
        pos, named = _build(_refilled(leaves, again), spec)
        return _flatten(model(*pos, **named))

    return _build(*_C._apart(one, *tensors))


class Merged:
    """Models of one architecture that are called as one; what merge returns.

    models: the models, a tuple.  They stay what they were: each may be called by itself, trained, saved, and its
    parameters may be changed between calls.
    """

    def __init__(self, models):
        self.models = tuple(models)

        def merged(*args, **kwargs):
            n = len(self.models)
            names = tuple(kwargs)
            given = [kwargs[name] for name in names]
            results = []
            for i in range(n):
                own = _own(given, i, n)
                results.append(_call(self.models[i], _own(args, i, n), dict(zip(names, own))))
            return results

        merged.__qualname__ = repr(self)  # what explain, warnings and profiles call it
        self._janus_function_ = _C._function_like(merged, merged)

    def __call__(self, *args, **kwargs):
        """The list of the models' results.  An argument that is a list gives each model an item of its own, and
        must have as many; any other argument is the same for all."""
        return self._janus_function_(*args, **kwargs)

    def graphs(self):
        """The text of each graph that was made of the calls, the newest first."""
        return self._janus_function_.graphs()

    def stats(self):
        """Counts of what happened, as those of a `janus.function`."""
        return self._janus_function_.stats()

    def clear(self):
        """Forgets all graphs."""
        self._janus_function_.clear()

    def __len__(self):
        return len(self.models)

    def __repr__(self):
        name = type(self.models[0]).__name__ if isinstance(self.models[0], Module) else _describe(self.models[0])
        return f"Merged({len(self.models)} x {name})"


def merge(models):
    """Makes models of one architecture and different parameters one function, which computes them together.

    models: Modules, or functions with the same code, at least one.  The result is called as a model is and returns
    the list of the models' results, each as if it had been called by itself, one after the other: gradients go to
    each model's own parameters, and a parameter that an optimizer changed is seen by the next call.  An argument that is
    a list gives each model an item of its own; any other argument is the same for all.  Models of different
    architectures are a ValueError, which names the first module, parameter or attribute that differs.
    """
    if isinstance(models, (dict, str)) or not hasattr(type(models), "__iter__"):
        raise TypeError(f"janus.merge: expected a list of models, got {type(models).__name__}")
    models = tuple(models)
    if not models:
        raise ValueError("merge: expected at least one model")
    for i, model in enumerate(models):
        function_of("janus.merge", model, f"a Module or a function as models[{i}]")
        if isinstance(model, Module) != isinstance(models[0], Module):
            raise ValueError(f"merge: models[{i}] is {_describe(model)} and models[0] is {_describe(models[0])}")
        if i and isinstance(model, Module):
            _same_modules(models[0], model, i)
        elif i:
            _same_functions(models[0], model, i)
    return Merged(models)
