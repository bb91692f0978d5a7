# SPDX-License-Identifier: Apache-2.0
"""Module: the base of every layer and model.

Parameters, buffers and sub-modules live in the instance dict like any attribute, so reading
`self.weight` costs what it costs in any Python object and a graph can read it without running
code; `_parameters`, `_buffers` and `_modules` hold the same objects once more, in the order of
registration.  Assigning, deleting and the `register_` methods keep the two equal; ModuleBase counts
each such change, so that a graph can tell with one number that a model is as it was.
"""
import collections
import types

from .. import _C
from . import _hooks
from .parameter import Parameter

_REGISTRIES = ("_parameters", "_buffers", "_modules")
_WANTED = {"parameter": "janus.nn.Parameter", "child module": "janus.nn.Module", "buffer": "janus.Tensor"}


class Module(_C.ModuleBase):
    """Base class: derive from it, make layers in `__init__` and compute in `forward`."""

    _hooked = False  # whether a hook was ever registered

    def __init__(self):
        self._set_plain("training", True)
        self._set_plain("_parameters", {})
        self._set_plain("_buffers", {})
        self._set_plain("_modules", {})
        self._set_plain("_non_persistent", {})  # name: None; a graph can look into a dict

    def forward(self, *args, **kwargs):
        """What a call of the module computes; NotImplementedError unless a subclass says."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._called_in_c(cls)

    def __call__(self, *args, **kwargs):  # what it does is done in C: see _called_in_c
        if self._hooked:
            return _hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # Hooks, see _hooks.py.

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls `hook(module, args)` before forward; what it returns, unless None, takes the arguments' place.

        With `with_kwargs` it gets the keywords, too, and returns `(args, kwargs)`. Returns a handle; its `remove()`
        takes the hook away.
        """
        return _hooks.register(self, "_forward_pre_hooks", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls `hook(module, args, output)` after forward; what it returns, unless None, takes the result's place.

        With `with_kwargs` the keywords come before the output; `always_call`: also where forward raises. Returns a
        handle; its `remove()` takes the hook away.
        """
        return _hooks.register(self, "_forward_hooks", hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_output)` when the gradients of the results are there, before they go on.

        Both are tuples; what it returns, unless None, takes the gradients' place. Returns a handle.
        """
        return _hooks.register(self, "_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the positional arguments are there.

        Both are tuples, None where there is no gradient; what it returns, unless None, takes grad_input's place.
        Returns a handle.
        """
        return _hooks.register(self, "_backward_hooks", hook, prepend)

    # Attributes.

    # ModuleBase stores and deletes plain attributes itself and calls these two for a tensor, a
    # module, or a name that is registered; `_own(name)` is what the instance dict has, or None.

    def _set_registered(self, name, value):
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        else:
            for registry, kind in (("_parameters", "parameter"), ("_modules", "child module"), ("_buffers", "buffer")):
                held = self._own(registry)
                if held and name in held:
                    if value is not None and not (kind == "buffer" and isinstance(value, _C.Tensor)):
                        wanted = _WANTED[kind]
                        raise TypeError(f"cannot assign '{type(value).__name__}' as {kind} '{name}' "
                                        f"({wanted} or None expected)")
                    held[name] = value
            self._set_plain(name, value)

    def _del_registered(self, name):
        for registry in _REGISTRIES:
            self.__dict__.get(registry, {}).pop(name, None)
        self.__dict__.get("_non_persistent", {}).pop(name, None)
        self._del_plain(name)

    def _enter(self, registry, name, value):
        """Puts a checked value under `name` into one registry and the instance dict."""
        held = self._own(registry)
        if held is None:
            raise AttributeError(f"cannot assign a parameter, buffer or module to "
                                 f"'{type(self).__name__}' before Module.__init__() was called")
        if not isinstance(name, str):
            raise TypeError(f"the name of a parameter, buffer or module is a string, not {type(name).__name__}")
        if "." in name or not name:
            raise KeyError(f'the name of a parameter, buffer or module is not empty and has no ".", got "{name}"')
        for other in _REGISTRIES:
            if other != registry:
                self._own(other).pop(name, None)
        held[name] = value
        self._set_plain(name, value)

    def register_parameter(self, name, param):
        """Adds a Parameter (or None, which keeps the name) under `name`."""
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                                "(janus.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"cannot assign non-leaf Tensor to parameter '{name}'")
        self._enter("_parameters", name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state but no parameter; `persistent` puts it into state_dict."""
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                            "(janus.Tensor or None required)")
        self._enter("_buffers", name, tensor)
        if persistent:
            self._non_persistent.pop(name, None)
        else:
            self._non_persistent[name] = None

    def add_module(self, name, module):
        """Adds a sub-module under `name`, as assigning it to an attribute does."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._enter("_modules", name, module)

    register_module = add_module

    # Traversal.

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all under it, each once, as `(dotted name, module)`."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self):
        """This module and all under it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """Direct sub-modules, each once, as `(name, module)`."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """Direct sub-modules, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, registry, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, registry).items():
                if value is not None and value not in seen:
                    if remove_duplicate:
                        seen.add(value)
                    yield path + ("." if path else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Parameters of this module and those under it, each once, with dotted names."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Parameters of this module and those under it, each once."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Buffers of this module and those under it, each once, with dotted names."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Buffers of this module and those under it, each once."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_submodule(self, target):
        """The module under a dotted name; AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name)
            if module is None:
                raise AttributeError(f"{type(self).__name__} has no sub-module '{target}'")
        return module

    def get_parameter(self, target):
        """The parameter under a dotted name; AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no parameter '{target}'")
        return found

    def apply(self, fn):
        """Calls `fn` on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Modes, devices and types.

    def train(self, mode=True):
        """Training mode for this module and all under it: dropout drops, batch norm learns."""
        self.training = bool(mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Evaluation mode, the opposite of `train()`."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets (or zeroes) the gradient of every parameter."""
        for param in self._parameters.values():
            if param is not None and param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    param.grad = _C.zeros_like(param.grad)
        for module in self._modules.values():  # no generator and no set: inside a graph, too
            if module is not None:
                Module.zero_grad(module, set_to_none)

    def _apply(self, convert):
        """Replaces the data of every parameter, gradient and buffer; the objects stay."""
        for module in self.modules():
            for param in module._parameters.values():
                if param is not None:
                    param.data = convert(param.data)
                    if param.grad is not None:
                        param.grad = convert(param.grad)
            for name, buffer in list(module._buffers.items()):
                if buffer is not None:
                    setattr(module, name, convert(buffer))
        return self

    def to(self, *args, **kwargs):
        """Moves or casts as Tensor.to does; integer buffers keep their type."""
        def convert(tensor):
            moved = tensor.to(*args, **kwargs)
            if moved.dtype.is_floating_point != tensor.dtype.is_floating_point:
                return tensor.to(moved.device)
            return moved
        return self._apply(convert)

    def float(self):
        """Floating-point parameters and buffers as float32."""
        return self.to(_C.float32)

    def double(self):
        """Floating-point parameters and buffers as float64."""
        return self.to(_C.float64)

    def half(self):
        """Floating-point parameters and buffers as float16."""
        return self.to(_C.float16)

    def bfloat16(self):
        """Floating-point parameters and buffers as bfloat16."""
        return self.to(_C.bfloat16)

    def cpu(self):
        """Parameters and buffers in host memory."""
        return self.to("cpu")

    def cuda(self, device=None):
        """Parameters and buffers on a CUDA device."""
        return self.to("cuda" if device is None else device)

    # State.

    def state_dict(self, *, prefix="", keep_vars=False):
        """Dotted names to tensors: parameters and persistent buffers, sharing their storage."""
        state = {}
        for path, module in self.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
            lead = path + "." if path else ""
            for name, param in module._parameters.items():
                if param is not None:
                    state[lead + name] = param if keep_vars else param.detach()
            for name, buffer in module._buffers.items():
                if buffer is not None and name not in module._non_persistent:
                    state[lead + name] = buffer if keep_vars else buffer.detach()
        return state

    def load_state_dict(self, state_dict, strict=True):
        """Copies tensors into parameters and buffers of the same names.

        Returns `(missing_keys, unexpected_keys)`.  Shapes that differ, and with `strict` keys that
        differ, raise RuntimeError before anything is copied.
        """
        own = self.state_dict(keep_vars=True)
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ".")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
        for key, value in state_dict.items():
            if key in own and tuple(own[key].shape) != tuple(value.shape):
                problems.append(f"size mismatch for {key}: copying a param with shape {tuple(value.shape)} from "
                                f"checkpoint, the shape in current model is {tuple(own[key].shape)}.")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                               + "\n\t".join(problems))
        with _C.no_grad():
            for key, value in state_dict.items():
                if key in own:
                    own[key].copy_(value)
        return LoadResult(missing, unexpected)

    # Copies and pickles: the instance dict is all there is.

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__["_non_persistent"] = dict.fromkeys(state.get("_non_persistent", ()))  # a set once
        forward = state.get("forward")
        if isinstance(forward, _C.Function):  # a decorated module: the copy's own forward is decorated
            other = getattr(forward, "__self__", None)
            if other is not self and type(other) is type(self):
                self.__dict__["forward"] = _C._function_for(forward, types.MethodType(forward.__func__, self))
        self._changed()

    # Text.

    def extra_repr(self):
        """What repr shows between the brackets; layers override it."""
        return ""

    def __repr__(self):
        lines = []
        for name, module in self._modules.items():
            text = repr(module).split("\n")
            lines.append(f"  ({name}): " + "\n  ".join(text))
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = ([f"  {extra}"] if extra else []) + lines
        return f"{type(self).__name__}(\n" + "\n".join(body) + "\n)"


_C._called_in_c(Module)


class LoadResult(collections.namedtuple("LoadResult", ("missing_keys", "unexpected_keys"))):
    """`(missing_keys, unexpected_keys)` by position and by name."""

    __slots__ = ()

    def __repr__(self):
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"LoadResult(missing_keys={self[0]!r}, unexpected_keys={self[1]!r})"
