# SPDX-License-Identifier: Apache-2.0
"""Normalisation over batches, layers, groups and instances; dropout."""
from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _BatchNorm(Module):
    """Batch normalisation of dimension 1; the subclasses check the number of dimensions."""

    dimensions = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 device=None, dtype=None):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = Parameter(_C.ones(num_features, **kind))
            self.bias = Parameter(_C.zeros(num_features, **kind))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _C.zeros(num_features, **kind) if tracked else None)
        self.register_buffer("running_var", _C.ones(num_features, **kind) if tracked else None)
        self.register_buffer("num_batches_tracked", _C.tensor(0, dtype=_C.int64) if tracked else None)

    def reset_parameters(self):
        """Draws the parameters anew, as a layer that is made does."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def forward(self, input):
        if input.dim() not in self.dimensions:
            wanted = " or ".join(f"{n}D" for n in self.dimensions)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # a plain mean over all batches seen
                momentum = 1.0 / float(self.num_batches_tracked)
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                            self.training or not self.track_running_stats, momentum or 0.0, self.eps)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L]."""

    dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W]."""

    dimensions = (4,)


class LayerNorm(Module):
    """Normalises over the last dimensions, then scales and shifts each element of them."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(_C.ones(*self.normalized_shape, **kind))
                                if elementwise_affine else None)
        self.register_parameter("bias", Parameter(_C.zeros(*self.normalized_shape, **kind))
                                if elementwise_affine and bias else None)

    def reset_parameters(self):
        """Draws the parameters anew, as a layer that is made does."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class Dropout(Module):
    """In training zeroes elements with probability p and scales the others by 1/(1-p)."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """In training zeroes channels of [N, C, L] with probability p and scales the others."""

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """In training zeroes channels of [N, C, H, W] with probability p and scales the others."""

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class GroupNorm(Module):
    """Normalises each example's channels in groups, then scales and shifts each channel."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(_C.ones(num_channels, **kind)) if affine else None)
        self.register_parameter("bias", Parameter(_C.zeros(num_channels, **kind)) if affine else None)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions, then scales each element."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", Parameter(_C.ones(*self.normalized_shape, device=device, dtype=dtype))
                                if elementwise_affine else None)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class _InstanceNorm(_BatchNorm):
    """Normalisation of each channel of each example; without a batch dimension one less."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        if input.dim() + 1 in self.dimensions:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        if input.dim() not in self.dimensions:
            raise ValueError(f"expected {self.dimensions[0] - 1}D or {self.dimensions[0]}D input "
                             f"(got {input.dim()}D input)")
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats, self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of [N, C, L]."""

    dimensions = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of [N, C, H, W]."""

    dimensions = (4,)


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance, for networks of SELU."""

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class LocalResponseNorm(Module):
    """Divides by (k + alpha * mean of squares of `size` neighbouring channels) to the power beta."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
