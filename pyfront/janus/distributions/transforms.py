# SPDX-License-Identifier: Apache-2.0
"""Functions of draws that can be undone, with how much they stretch (Rezende and Mohamed 2015): y = t(x), x = t.inv(y)."""
import math

from .. import _C
from ..nn.functional import softplus


class Transform:
    """A subclass has `_call`, `_inverse` and `log_abs_det_jacobian`; `event_dim` dims at the end go together.

    With cache_size=1 the last x is kept with its y, so that the inverse of that y is exact.
    """

    event_dim = 0
    sign = 1

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._cached = cache_size, (None, None)

    def __call__(self, x):
        old, made = self._cached
        if x is old:
            return made
        y = self._call(x)
        self._keep(x, y)
        return y

    def _undo(self, y):
        old, made = self._cached
        if y is made:
            return old
        x = self._inverse(y)
        self._keep(x, y)
        return x

    def _keep(self, x, y):
        if self._cache_size:
            self._cached = x, y

    @property
    def inv(self):
        """The transform back."""
        return _Inverse(self)

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """Logarithm of how much it stretches at x, whose y is given."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """The transform back of another one."""

    def __init__(self, of):
        super().__init__()
        self._of, self.event_dim, self.sign = of, of.event_dim, of.sign

    @property
    def inv(self):
        return self._of

    def __call__(self, x):
        return self._of._undo(x)

    def _undo(self, y):
        return self._of(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)

    def __repr__(self):
        return f"Inverse of {self._of!r}"


class ExpTransform(Transform):
    """y = exp(x)."""

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for x above 0."""

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), between 0 and 1."""

    def _call(self, x):
        return x.sigmoid()

    def _inverse(self, y):
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)), above 0."""

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x), between -1 and 1; actions of policies are such (with cache_size=1 the inverse of a draw is exact)."""

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AffineTransform(Transform):
    """y = loc + scale * x."""

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    @property
    def sign(self):
        """Whether it grows: 1 or -1, for each element where the scale is a tensor."""
        if isinstance(self.scale, _C.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, _C.Tensor):
            each = self.scale.abs().log().expand(x.shape)
        else:
            each = _C.full_like(x, math.log(abs(self.scale)))
        return _added(each, self.event_dim)


class ComposeTransform(Transform):
    """Several, one after the other."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = list(parts)
        self.event_dim = max([part.event_dim for part in self.parts], default=0)

    @property
    def sign(self):
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    def _call(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y):
        for part in reversed(self.parts):
            y = part._undo(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        total = _C.zeros(x.shape[:x.dim() - self.event_dim], dtype=x.dtype, device=x.device)
        for part in self.parts:
            y = part(x)
            total = total + _added(part.log_abs_det_jacobian(x, y), self.event_dim - part.event_dim)
            x = y
        return total

    def __repr__(self):
        return f"ComposeTransform({self.parts!r})"


def _added(value, dims):
    """The sum over the last dims, of so many."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


identity_transform = ComposeTransform([])
