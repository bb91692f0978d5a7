# SPDX-License-Identifier: Apache-2.0
"""Hooks of modules: functions that see, and may change, what goes into a module's call, what comes out, and gradients.

A module without hooks pays one look at a class attribute, `_hooked`. The dicts are PyTorch's, `{number: hook}` in the
order in which hooks are called; `_hook_options` has those that were registered with options.
"""
from .. import _C
from ..autograd import Function

_REGISTRIES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


class RemovableHandle:
    """What registering a hook returns: `remove()` takes it away, as leaving a `with` block does."""

    _last = 0

    def __init__(self, module, hooks):
        RemovableHandle._last += 1
        self.id = RemovableHandle._last
        self._module, self._hooks = module, hooks

    def remove(self):
        """Takes the hook away; a second time does nothing."""
        if self._hooks.pop(self.id, None) is not None:
            self._module._hook_options.pop(self.id, None)
            self._module._changed()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.remove()


def register(module, registry, hook, prepend=False, **options):
    """Adds `hook` to one of _REGISTRIES of a module; options: what is not as usual when it is called."""
    if not callable(hook):
        raise TypeError(f"a hook is called, and {type(hook).__name__} objects are not callable")
    if not module._hooked:
        for name in _REGISTRIES:
            module._set_plain(name, {})
        module._set_plain("_hook_options", {})
        module._set_plain("_hooked", True)
    hooks = getattr(module, registry)
    handle = RemovableHandle(module, hooks)
    later = dict(hooks)
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(later)
    if any(options.values()):
        module._hook_options[handle.id] = options
    module._changed()
    return handle


def call(module, args, kwargs):
    """`module(*args, **kwargs)` with its hooks."""
    args, kwargs = _before(module, args, kwargs)
    watched = None
    if module._backward_hooks or module._backward_pre_hooks:
        watched = _Watched(module)
        args = watched.arguments(args)
    called = []
    try:
        result = module.forward(*args, **kwargs)
        for key, hook in list(module._forward_hooks.items()):
            called.append(key)
            result = _after(module, key, hook, args, kwargs, result)
    except Exception:
        for key, hook in list(module._forward_hooks.items()):
            if key not in called and module._hook_options.get(key, {}).get("always_call"):
                _after(module, key, hook, args, kwargs, None)
        raise
    return result if watched is None else watched.results(result)


def _before(module, args, kwargs):
    for key, hook in list(module._forward_pre_hooks.items()):
        if module._hook_options.get(key, {}).get("with_kwargs"):
            given = hook(module, args, kwargs)
            if given is not None:
                if not (isinstance(given, tuple) and len(given) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {given}.")
                args, kwargs = given
        else:
            given = hook(module, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
    return args, kwargs


def _after(module, key, hook, args, kwargs, result):
    if module._hook_options.get(key, {}).get("with_kwargs"):
        given = hook(module, args, kwargs, result)
    else:
        given = hook(module, args, result)
    return result if given is None else given


class _Same(Function):
    """Tensors as they are; their gradients go through `change`, which gets and gives a tuple."""

    @staticmethod
    def forward(ctx, change, *tensors):
        ctx.change = change
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.change(grads))


def _pass_on(change, tensors):
    """The tensors of a tuple that require gradients as results of _Same, the rest as it is; and where they are."""
    places = [i for i, t in enumerate(tensors) if isinstance(t, _C.Tensor) and t.requires_grad]
    if not places or not _C.is_grad_enabled():
        return tensors, []
    passed = list(tensors)
    for i, t in zip(places, _Same.apply(change, *(tensors[i] for i in places))):
        passed[i] = t
    return tuple(passed), places


class _Watched:
    """One call of a module with backward hooks: they run when the gradients of its inputs are there."""

    def __init__(self, module):
        self.module = module
        self.gradients = None  # of the results, as they came
        self.inputs, self.outputs = [], []  # which arguments and results have a gradient
        self.n_inputs = self.n_outputs = 0

    def arguments(self, args):
        """The arguments of forward; gradients that come back to them call the hooks."""
        self.n_inputs = len(args)
        passed, self.inputs = _pass_on(self._arrived, args)
        return passed

    def results(self, result):
        """The results of the call; gradients that come to them are kept for the hooks."""
        results = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(results)
        passed, self.outputs = _pass_on(self._left, results)
        if not isinstance(result, tuple):
            return passed[0]
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    def _left(self, grads):
        full = [None] * self.n_outputs
        for i, grad in zip(self.outputs, grads):
            full[i] = grad
        for hook in list(self.module._backward_pre_hooks.values()):
            given = hook(self.module, tuple(full))
            if given is not None:
                full = list(given if isinstance(given, tuple) else (given,))
        self.gradients = tuple(full)
        if not self.inputs:  # no input requires a gradient: nothing else comes
            self._hooks((None,) * self.n_inputs)
        return tuple(full[i] for i in self.outputs)

    def _arrived(self, grads):
        full = [None] * self.n_inputs
        for i, grad in zip(self.inputs, grads):
            full[i] = grad
        full = self._hooks(tuple(full))
        return tuple(full[i] for i in self.inputs)

    def _hooks(self, inputs):
        for hook in list(self.module._backward_hooks.values()):
            given = hook(self.module, inputs, self.gradients)
            if given is not None:
                given = given if isinstance(given, tuple) else (given,)
                if len(given) != len(inputs):
                    raise RuntimeError("Backward hook returned an invalid number of grad_input, got "
                                       f"{len(given)}, but expected {len(inputs)}")
                inputs = given
        return inputs
