# SPDX-License-Identifier: Apache-2.0
"""Gradients: backward, grad, grad modes, and operations with a gradient of their own."""
import functools
import inspect

from . import _C
from ._C import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

Variable = None  # set by the package: the old name of Tensor


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of `tensors` to the `.grad` of the leaves they come from."""
    _C._backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None):
    """The gradients of `outputs` with respect to `inputs`, as a tuple."""
    return _C._grad(outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused)


def _with_grad_mode(function, mode):
    """`function` with gradients recorded or not; what no_grad() gives as a decorator."""
    if inspect.isclass(function):
        raise TypeError("a grad mode decorates functions, not classes")
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def generator(*args, **kwargs):
            inner = function(*args, **kwargs)
            value = None
            while True:
                was = _C._switch_grad(mode)
                try:
                    out = inner.send(value)
                except StopIteration as stop:
                    return stop.value
                finally:
                    _C._switch_grad(was)
                value = yield out
        return generator

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        was = _C._switch_grad(mode)
        try:
            return function(*args, **kwargs)
        finally:
            _C._switch_grad(was)
    return wrapper


class RemovableHandle:
    """What register_hook returns: `remove()` takes the hook away."""

    def __init__(self, tensor, key):
        self._tensor, self._key = tensor, key

    def remove(self):
        """Takes the hook away; a second time does nothing."""
        if self._tensor is not None:
            _C._remove_hook(self._tensor, self._key)
        self._tensor = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.remove()


class FunctionCtx:
    """Carries what `forward` leaves for `backward`."""

    def __init__(self):
        self._saved = ()
        self._own = ()
        self._freed = False
        self._not_differentiable = ()
        self._dirty = ()
        self._materialize = True
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for `saved_tensors`, checking that nobody writes into them."""
        self._saved = tuple((t, _C._writes(t)) if isinstance(t, _C.Tensor) else (t, 0) for t in tensors)

    @property
    def saved_tensors(self):
        """The tensors that save_for_backward got."""
        if self._freed:
            raise RuntimeError("Trying to backward through the graph a second time (or directly access saved tensors "
                               "after they have already been freed). Saved intermediate values of the graph are "
                               "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you "
                               "need to backward through the graph a second time or if you need to access saved "
                               "tensors after calling backward.")
        for tensor, version in self._saved:
            if isinstance(tensor, _C.Tensor) and _C._writes(tensor) != version:
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an "
                                   f"inplace operation: a saved tensor is at version {tensor._version}; expected "
                                   f"version {version} instead")
        return tuple(tensor for tensor, _ in self._saved)

    def mark_non_differentiable(self, *tensors):
        """Results that get no gradient."""
        self._not_differentiable = tensors

    def mark_dirty(self, *tensors):
        """Arguments that forward wrote into."""
        self._dirty = tensors

    def set_materialize_grads(self, value):
        """Whether gradients that do not arrive are given as zeros (default) or None."""
        self._materialize = bool(value)


class Function:
    """An operation with its own gradient: static methods `forward(ctx, ...)` and `backward(ctx, ...)`."""

    @staticmethod
    def forward(ctx, *args, **kwargs):
        """Computes the result: a tensor or a tuple; nothing in it is recorded. A subclass defines it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of forward's arguments, None where there is none, from those of its results."""
        raise NotImplementedError("You must implement the backward function for your custom autograd.Function.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward, and records backward when an argument needs gradients."""
        ctx = FunctionCtx()
        tensors = tuple(isinstance(a, _C.Tensor) and a.requires_grad for a in args)
        ctx.needs_input_grad = tensors
        record = is_grad_enabled() and any(tensors)
        setup = getattr(cls, "setup_context", None)
        was = _C._switch_grad(False)
        try:
            if setup is None:
                result = cls.forward(ctx, *args, **kwargs)
            else:
                result = cls.forward(*args, **kwargs)
                setup(ctx, args, result)
        finally:
            _C._switch_grad(was)
        if not record:
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        fresh = tuple(o.view_as(o) if isinstance(o, _C.Tensor) and any(o is a for a in args)
                      and not any(o is d for d in ctx._dirty) else o for o in outputs)
        marks = tuple(isinstance(o, _C.Tensor) and o.dtype.is_floating_point
                      and not any(o is m for m in ctx._not_differentiable) for o in outputs)
        # A saved result would own itself through the tape: keep its values only.
        ctx._saved = tuple((t.detach() if any(t is o for o in fresh) else t, version) for t, version in ctx._saved)
        shapes = tuple((o.shape, o.dtype) if isinstance(o, _C.Tensor) else None for o in outputs)

        def run(grads, wanted):
            if ctx._materialize:
                grads = tuple(_C.zeros(*shapes[i][0], dtype=shapes[i][1])
                              if g is None and shapes[i] is not None and marks[i] else g
                              for i, g in enumerate(grads))
            gradients = cls.backward(ctx, *grads)
            gradients = gradients if isinstance(gradients, tuple) else (gradients,)
            if len(gradients) > len(args) and all(g is None for g in gradients[len(args):]):
                gradients = gradients[:len(args)]
            return gradients

        def release():
            ctx._saved, ctx._freed = (), True

        fresh = _C._function_node(run, release, cls.__name__, tuple(args), fresh, marks)
        return fresh if isinstance(result, tuple) else fresh[0]
