# SPDX-License-Identifier: Apache-2.0
"""A weight as its length and its direction, made before each call of its module."""
from ..parameter import Parameter


def _length(weight, dim):
    """The norm over all dims but one, which stays."""
    if dim is None:
        return weight.norm()
    others = [d for d in range(weight.ndim) if d != dim % weight.ndim]
    return (weight * weight).sum(others, keepdim=True).sqrt() if others else weight.abs()


def hooks_of(module, kind):
    """Those of the module's hooks that are of a kind; a module without hooks has no dict of them."""
    return [hook for hook in getattr(module, "_forward_pre_hooks", {}).values() if isinstance(hook, kind)]


class _WeightNorm:
    """The hook that makes `name` of `name_g` and `name_v`."""

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def made(self, module):
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return direction * (length / _length(direction, self.dim))

    def __call__(self, module, args):
        setattr(module, self.name, self.made(module))


def weight_norm(module, name="weight", dim=0):
    """Replaces a parameter by two, `name_g`, its length along each slice of dim (of all for None), and `name_v`, its direction;
    the module has their product as `name`, made anew before each call. Returns the module."""
    if any(hook.name == name for hook in hooks_of(module, _WeightNorm)):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook, weight = _WeightNorm(name, dim), getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(_length(weight.detach(), dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach().clone()))
    setattr(module, name, hook.made(module))
    hook.handle = module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Turns what weight_norm() made into one parameter again, with the value that it has. Returns the module."""
    for hook in hooks_of(module, _WeightNorm):
        if hook.name == name:
            weight = hook.made(module).detach()
            delattr(module, name)
            delattr(module, name + "_g")
            delattr(module, name + "_v")
            module.register_parameter(name, Parameter(weight))
            hook.handle.remove()
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
