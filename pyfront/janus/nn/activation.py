# SPDX-License-Identifier: Apache-2.0
"""Activations as modules, each a call of the function of the same name."""
from . import functional as F
from .module import Module


class _InPlaceAccepted(Module):
    """Takes PyTorch's `inplace`; the result is a new tensor either way."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlaceAccepted):
    """max(x, 0)."""

    def forward(self, input):
        return F.relu(input)


class SiLU(_InPlaceAccepted):
    """x sigmoid(x)."""

    def forward(self, input):
        return F.silu(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input):
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input):
        return F.sigmoid(input)


class GELU(Module):
    """x times the normal distribution function of x, exact or by tanh."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class LeakyReLU(_InPlaceAccepted):
    """x where positive, negative_slope x elsewhere."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}"


class ELU(_InPlaceAccepted):
    """x where positive, alpha (exp(x) - 1) elsewhere."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.elu(input, self.alpha)

    def extra_repr(self):
        return f"alpha={self.alpha}"


class Softplus(Module):
    """log(1 + exp(x))."""

    def forward(self, input):
        return F.softplus(input)


class _OverDim(Module):
    """A function over `dim`; without one over 0 for 0, 1 or 3 dimensions and over 1 otherwise."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def _dim(self, input):
        if self.dim is not None:
            return self.dim
        return 0 if input.dim() in (0, 1, 3) else 1

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """exp(x) divided by its sum over `dim`."""

    def forward(self, input):
        return F.softmax(input, self._dim(input))


class LogSoftmax(_OverDim):
    """log(softmax(x)) over `dim`."""

    def forward(self, input):
        return F.log_softmax(input, self._dim(input))
