# SPDX-License-Identifier: Apache-2.0
"""Activations as modules, each a call of the function of the same name."""
from .. import _C
from . import functional as F
from .module import Module
from .parameter import Parameter


class _MayWrite(Module):
    """`inplace=True`: the result is written over the input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_MayWrite):
    """max(x, 0)."""

    def forward(self, input):
        return F.relu(input, self.inplace)


class SiLU(_MayWrite):
    """x sigmoid(x)."""

    def forward(self, input):
        return F.silu(input, self.inplace)


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


class LeakyReLU(_MayWrite):
    """x where positive, negative_slope x elsewhere."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(_MayWrite):
    """x where positive, alpha (exp(x) - 1) elsewhere."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


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


class ReLU6(_MayWrite):
    """min(max(x, 0), 6)."""

    def forward(self, input):
        return F.relu6(input, self.inplace)


class Hardsigmoid(_MayWrite):
    """x / 6 + 1/2, limited to [0, 1]."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_MayWrite):
    """x hardsigmoid(x)."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class Mish(_MayWrite):
    """x tanh(softplus(x))."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class SELU(_MayWrite):
    """elu with the scale and alpha that keep mean 0 and variance 1."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class LogSigmoid(Module):
    """log(sigmoid(x))."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input):
        return F.tanhshrink(input)


class Hardtanh(_MayWrite):
    """x limited to [min_val, max_val]."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__(inplace)
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class CELU(_MayWrite):
    """x where positive, alpha (exp(x / alpha) - 1) elsewhere."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Hardshrink(Module):
    """0 where |x| <= lambd."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Softshrink(Module):
    """x moved by lambd towards 0, at most to 0."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Threshold(_MayWrite):
    """x where above the threshold, value elsewhere."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x where positive, a learnt weight times x elsewhere."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(_C.full((num_parameters,), init, device=device, dtype=dtype or _C.float32))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmin(_OverDim):
    """softmax(-x)."""

    def forward(self, input):
        return F.softmin(input, self._dim(input))


class Softmax2d(Module):
    """softmax over the channels of images."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
