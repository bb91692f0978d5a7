# SPDX-License-Identifier: Apache-2.0
"""A weight divided by its largest singular value (Miyato et al. 2018), which power iteration follows from call to call."""
from ... import _C
from ..functional import normalize
from ..parameter import Parameter
from ._weight_norm import hooks_of


class _SpectralNorm:
    """The hook that makes `name` of `name_orig`, with the singular vectors `name_u` and `name_v`, buffers of the module."""

    def __init__(self, name, n_power_iterations, eps, dim):
        self.name, self.n_power_iterations, self.eps, self.dim = name, n_power_iterations, eps, dim

    def matrix(self, weight):
        """[rows, columns], dim being the rows."""
        return (weight.transpose(0, self.dim) if self.dim else weight).reshape(weight.shape[self.dim], -1)

    def made(self, module, iterations):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        if iterations:
            with _C.no_grad():
                for _ in range(iterations):
                    v.copy_(normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # for backward(): the next call writes the buffers
        return weight / u.dot(matrix @ v)

    def __call__(self, module, args):
        setattr(module, self.name, self.made(module, self.n_power_iterations if module.training else 0))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Replaces a parameter by `name_orig`; the module has it as `name` divided by its largest singular value, made anew before each
    call after `n_power_iterations` of power iteration where it trains. Rows are along dim (1 for transposed convolutions, else 0).
    Returns the module."""
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    if any(hook.name == name for hook in hooks_of(module, _SpectralNorm)):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook, weight = _SpectralNorm(name, n_power_iterations, eps, dim), getattr(module, name)
    rows, columns = hook.matrix(weight.detach()).shape
    delattr(module, name)
    module.register_parameter(name + "_orig", Parameter(weight.detach()))
    for end, size in (("_u", rows), ("_v", columns)):
        start = _C.zeros(size, dtype=weight.dtype, device=weight.device).normal_()
        module.register_buffer(name + end, normalize(start, dim=0, eps=eps))
    setattr(module, name, weight.detach())
    hook.handle = module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Turns what spectral_norm() made into one parameter again, with the value that it has. Returns the module."""
    for hook in hooks_of(module, _SpectralNorm):
        if hook.name == name:
            weight = hook.made(module, 0).detach()
            for attribute in (name, name + "_u", name + "_v", name + "_orig"):
                delattr(module, attribute)
            module.register_parameter(name, Parameter(weight))
            hook.handle.remove()
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
