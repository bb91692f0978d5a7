# SPDX-License-Identifier: Apache-2.0
"""Conv1d and the transposed convolutions."""
import math

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Convolution(Module):
    """Weights and options of a convolution over n dims; `transposed` swaps channels in the weights."""

    n = 1
    transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode != "zeros":
            raise NotImplementedError(f"{type(self).__name__}: padding_mode {padding_mode!r} is not supported")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size, self.stride, self.dilation = (self._tuple(v) for v in (kernel_size, stride, dilation))
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding if isinstance(padding, str) else self._tuple(padding)
        self.groups = groups
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(_C.empty(first, second // groups, *self.kernel_size, **kind))
        self.register_parameter("bias", Parameter(_C.empty(out_channels, **kind)) if bias else None)
        self.reset_parameters()

    def _tuple(self, value):
        return (value,) * self.n if isinstance(value, int) else tuple(value)

    def reset_parameters(self):
        """Draws the parameters anew, as a layer that is made does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.numel() // self.weight.shape[0]
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, plain in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name, None)
            if value is not None and value != (plain,) * self.n:
                text += f", {name}={value}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


class Conv1d(_Convolution):
    """1-D cross-correlation of [N, C, L]; `padding` may be "same" (stride 1) or "valid"."""

    def forward(self, input):
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _Transposed(_Convolution):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                         device, dtype)
        self.output_padding = self._tuple(output_padding)

    def _extra(self, input, output_size):
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        sizes = tuple(output_size)[-self.n:]
        least = [(input.shape[i - self.n] - 1) * self.stride[i] - 2 * self.padding[i]
                 + self.dilation[i] * (self.kernel_size[i] - 1) + 1 for i in range(self.n)]
        extra = tuple([size - low for size, low in zip(sizes, least)])
        if any(not 0 <= more < max(step, gap) for more, step, gap in zip(extra, self.stride, self.dilation)):
            raise ValueError(f"requested an output size of {sizes}, but valid sizes start at {least}")
        return extra


class ConvTranspose1d(_Transposed):
    """The gradient of a Conv1d by its input, as a layer."""

    def forward(self, input, output_size=None):
        return F.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(input, output_size), self.groups, self.dilation)


class ConvTranspose2d(_Transposed):
    """The gradient of a Conv2d by its input, as a layer."""

    n = 2

    def forward(self, input, output_size=None):
        return F.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(input, output_size), self.groups, self.dilation)
