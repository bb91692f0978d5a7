# SPDX-License-Identifier: Apache-2.0
"""vmap: a function of one example made one of a batch of examples.

The function is called once per example, in order, and the results are stacked.  In a graph each of these
calls is an invoke of one SubGraph, and the executor runs the rows of independent invokes together
(docs/adr/0007-vmap.md): so branches, loops and recursions may go another way in every example, and what a
call draws, writes or prints is what the loop over the examples would.
"""
from . import _C
from ._C import Tensor, stack


def _flatten(tree):
    """The leaves of nested tuples, lists and dicts, and what puts them together again."""
    if isinstance(tree, Tensor):
        return (tree,), (None,)
    leaves, spec, todo = [], [], [tree]
    while todo:
        x = todo.pop()
        if isinstance(x, dict):
            keys = tuple(x)
            spec.append(("dict", keys))
            for k in reversed(keys):
                todo.append(x[k])
        elif isinstance(x, (tuple, list)):
            spec.append(("list" if isinstance(x, list) else type(x) if hasattr(x, "_fields") else "tuple", len(x)))
            for i in range(len(x)):
                todo.append(x[len(x) - 1 - i])
        else:
            spec.append(None)
            leaves.append(x)
    return tuple(leaves), tuple(spec)


def _build(leaves, spec):
    """The inverse of _flatten."""
    if spec == (None,):
        return leaves[0]
    made, at = [], len(leaves)
    for node in reversed(spec):
        if node is None:
            at -= 1
            made.append(leaves[at])
            continue
        kind, n = node
        items = []
        for _ in range(n if isinstance(n, int) else len(n)):
            items.append(made.pop())
        if kind == "dict":
            made.append(dict(zip(n, items)))
        elif kind == "list":
            made.append(items)
        else:
            made.append(tuple(items) if kind == "tuple" else kind(*items))
    return made[0]


def _name(func):
    return getattr(func, "__name__", None) or type(func).__name__


def _spread(axes, spec, func, what):
    """An axis for each leaf: `axes` is a number, None, or has the structure, whose parts may be one for all."""
    out, todo = [], [axes]
    skip = 0  # leaves and inner nodes below a part that one axis is given for
    for node in spec:
        n = 0 if node is None else node[1] if isinstance(node[1], int) else len(node[1])
        if skip:
            skip += n - 1
            if node is None:
                out.append(axis)  # noqa: F821
            continue
        axis = todo.pop()
        if axis is None or isinstance(axis, int):
            if node is None:
                out.append(axis)
            skip = n
            continue
        if node is not None and node[0] == "dict":
            fits = isinstance(axis, dict) and len(axis) == n and all(k in axis for k in node[1])
        else:
            fits = node is not None and isinstance(axis, (tuple, list)) and len(axis) == n
        if not fits and not isinstance(axis, (dict, tuple, list)):
            raise ValueError(f"vmap({_name(func)}): an axis of {what} must be an int or None, got {type(axis)}")
        if not fits:
            raise ValueError(f"vmap({_name(func)}): {what}={axes} is not compatible with the structure of the "
                             f"{'inputs' if what == 'in_axes' else 'outputs'}")
        for i in range(n):
            todo.append(axis[node[1][n - 1 - i]] if node[0] == "dict" else axis[n - 1 - i])
    return out


def _rows(leaves, axes, func):
    """The number of examples, and for each mapped leaf its rows."""
    size, rows = None, []
    for x, axis in zip(leaves, axes):
        if axis is None:
            continue
        if not isinstance(x, Tensor):
            raise ValueError(f"vmap({_name(func)}): in_axes has {axis} for an input of type {type(x)}; only tensors "
                             "are mapped, use None for other inputs")
        if axis < -x.ndim or axis >= x.ndim:
            raise ValueError(f"vmap({_name(func)}): in_axes has {axis} for a tensor of {x.ndim} dims, expected "
                             f"-{x.ndim} <= axis < {x.ndim}")
        n = x.shape[axis]
        if size is None:
            size = n
        elif n != size:
            raise ValueError(f"vmap({_name(func)}): expected all tensors to have the same size in the mapped dim, got "
                             f"{size} and {n}")
        rows.append(x.unbind(axis))
    if size is None:
        raise ValueError(f"vmap({_name(func)}): at least one input must be mapped, in_axes is None for all")
    if size == 0:
        raise ValueError(f"vmap({_name(func)}): the mapped dim has size 0, so the results have no shape")
    return size, rows


def _join(results, axes, func):
    """The results of all examples, stacked leaf by leaf."""
    leaves, spec = results[0]
    for other in results:
        if other[1] != spec:
            raise ValueError(f"vmap({_name(func)}): results of different structure: {spec} and {other[1]}")
    axes = _spread(axes, spec, func, "out_axes")
    out = []
    for k in range(len(leaves)):
        first, axis = leaves[k], axes[k]
        if axis is None:
            for other in results:
                if other[0][k] is not first:
                    raise ValueError(f"vmap({_name(func)}): out_axes is None for a result that is mapped")
            out.append(first)
            continue
        if not isinstance(first, Tensor):
            raise ValueError(f"vmap({_name(func)}): {_name(func)} must only return tensors, got type {type(first)}; "
                             "use None as its out_axes")
        if axis < -first.ndim - 1 or axis > first.ndim:
            raise IndexError(f"vmap({_name(func)}): out_axes has {axis} for results of {first.ndim} dims")
        out.append(stack([other[0][k] for other in results], axis))
    return _build(tuple(out), spec)


def vmap(func, in_axes=0, out_axes=0):
    """A function that maps `func` over an axis of its arguments.

    in_axes: the axis of each positional argument that runs over the examples, None: the same for all; one number
    for all arguments, or a tuple with nested tuples, lists and dicts like the arguments', of which a number may
    stand for a whole part.  out_axes: where that axis is in the results.  Keyword arguments are not mapped.
    Each example is a call of its own: it branches, loops and recurses as its values say, and draws its own random
    numbers, one example after the other.
    """
    if not isinstance(in_axes, (int, tuple, list)):
        raise ValueError(f"vmap({_name(func)}): expected in_axes to be an int or a (nested) tuple like the inputs, got "
                         f"{type(in_axes)}")

    def mapped(*args, **kwargs):
        if not args:
            raise ValueError(f"vmap({_name(func)}): got no inputs to map over")
        leaves, spec = _flatten(args)
        axes = _spread(in_axes, spec, func, "in_axes")
        size, rows = _rows(leaves, axes, func)

        def example(*row):
            filled, at = [], 0
            for x, axis in zip(leaves, axes):
                if axis is None:
                    filled.append(x)
                else:
                    filled.append(row[at])
                    at += 1
            filled = _build(tuple(filled), spec)
            return _flatten(func(*filled, **kwargs) if kwargs else func(*filled))

        results = [_C._apart(example, *[r[i] for r in rows]) for i in range(size)]
        return _join(results, out_axes, func)

    return _C._function_like(mapped, func)


def _refilled(leaves, tensors):
    """The leaves with other tensors, in order, in the place of those among them."""
    filled, at = [], 0
    for x in leaves:
        if isinstance(x, Tensor):
            filled.append(tensors[at])
            at += 1
        else:
            filled.append(x)
    return tuple(filled)


def checkpoint(func, *args, **kwargs):
    """`func(*args, **kwargs)`, of which a graph keeps the arguments only and computes the rest again for gradients.

    The same as PyTorch's torch.utils.checkpoint; random numbers that it draws are kept.  In imperative execution it
    is a plain call.
    """
    leaves, spec = _flatten(args)
    tensors = [x for x in leaves if isinstance(x, Tensor)]

    def part(*again):
        filled = _build(_refilled(leaves, again), spec)
        return _flatten(func(*filled, **kwargs) if kwargs else func(*filled))

    return _build(*_C._checkpoint(part, *tensors))
