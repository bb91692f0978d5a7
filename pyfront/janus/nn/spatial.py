# SPDX-License-Identifier: Apache-2.0
"""Padding, resizing and pooling layers, each a call of a function of nn.functional."""
from . import functional as F
from .module import Module


class _Options(Module):
    """Keeps named options and shows them."""

    def __init__(self, **options):
        super().__init__()
        self._shown = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)

    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)


class _Pad(_Options):
    n = 1
    mode = "constant"

    def __init__(self, padding):
        super().__init__(padding=(padding,) * (2 * self.n) if isinstance(padding, int) else tuple(padding))

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)


class ConstantPad1d(_Pad):
    """A value around the last dim."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad2d(ConstantPad1d):
    """A value around the last two dims."""

    n = 2


class ZeroPad1d(_Pad):
    """Zeros around the last dim."""


class ZeroPad2d(_Pad):
    """Zeros around the last two dims."""

    n = 2


class ReflectionPad1d(_Pad):
    """The last dim mirrored at its ends."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """The last two dims mirrored at their ends."""

    n = 2


class ReplicationPad1d(_Pad):
    """The ends of the last dim repeated."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """The ends of the last two dims repeated."""

    n = 2


class Upsample(_Options):
    """interpolate() as a layer."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None):
        super().__init__(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners)

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class UpsamplingNearest2d(Upsample):
    """Nearest neighbours."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Bilinear, corners aligned."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(_Options):
    """[N, C r r, H, W] as [N, C, H r, W r]."""

    def __init__(self, upscale_factor):
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Options):
    """The reverse of PixelShuffle."""

    def __init__(self, downscale_factor):
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class _Adaptive(_Options):
    def __init__(self, output_size):
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_Adaptive):
    """Means of windows that cover the last dim."""

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of windows that cover the last two dims."""

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveMaxPool1d(_Adaptive):
    """Largest values of windows that cover the last dim."""

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(_Adaptive):
    """Largest values of windows that cover the last two dims."""

    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size)


class MaxPool1d(_Options):
    """The largest value of each window of the last dim."""

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
                         dilation=dilation, ceil_mode=ceil_mode)

    def forward(self, input):
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class AvgPool1d(_Options):
    """The mean of each window of the last dim."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding,
                         ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class Unfold(_Options):
    """Windows of images as columns."""

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Unflatten(_Options):
    """One dim made several."""

    def __init__(self, dim, unflattened_size):
        super().__init__(dim=dim, unflattened_size=tuple(unflattened_size))

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


class Fold(_Options):
    """Columns added up to images: Unfold turned round."""

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
