# SPDX-License-Identifier: Apache-2.0
"""Layers over three dims: Conv3d, ConvTranspose3d, pooling and padding of volumes [N, C, D, H, W]."""
from . import functional as F
from .conv_transpose import _Convolution, _Transposed
from .norm import Dropout, _BatchNorm, _InstanceNorm
from .spatial import ConstantPad1d, ReflectionPad1d, ReplicationPad1d, _Adaptive, _Options, _Pad


class Conv3d(_Convolution):
    """3-D cross-correlation of [N, C, D, H, W]; `padding` may be "same" (stride 1) or "valid"."""

    n = 3

    def forward(self, input):
        return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose3d(_Transposed):
    """The gradient of a Conv3d by its input, as a layer."""

    n = 3

    def forward(self, input, output_size=None):
        return F.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding,
                                  self._extra(input, output_size), self.groups, self.dilation)


class MaxPool3d(_Options):
    """The largest value of each box of the last three dims."""

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
                         dilation=dilation, ceil_mode=ceil_mode)

    def forward(self, input):
        return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class AvgPool3d(_Options):
    """The mean of each box of the last three dims."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
                         ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    def forward(self, input):
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of boxes that cover the last three dims."""

    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool3d(_Adaptive):
    """Largest values of boxes that cover the last three dims."""

    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of [N, C, D, H, W]."""

    dimensions = (5,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of [N, C, D, H, W]."""

    dimensions = (5,)


class Dropout3d(Dropout):
    """In training zeroes channels of [N, C, D, H, W] with probability p and scales the others."""

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class ConstantPad3d(ConstantPad1d):
    """A value around the last three dims."""

    n = 3


class ZeroPad3d(_Pad):
    """Zeros around the last three dims."""

    n = 3


class ReflectionPad3d(ReflectionPad1d):
    """The last three dims mirrored at their ends."""

    n = 3


class ReplicationPad3d(ReplicationPad1d):
    """The ends of the last three dims repeated."""

    n = 3


class CircularPad1d(_Pad):
    """The last dim continued from its other end."""

    mode = "circular"


class CircularPad2d(CircularPad1d):
    """The last two dims continued from their other ends."""

    n = 2


class CircularPad3d(CircularPad1d):
    """The last three dims continued from their other ends."""

    n = 3
