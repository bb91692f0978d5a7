# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast, and scaling of losses so that gradients in float16 do not vanish."""
import functools
import warnings

from . import _C
from ._C import autocast, is_autocast_enabled  # noqa: F401


def _decorated(function, context):
    """`function` run inside the context; what autocast(...) gives as a decorator."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with context:
            return function(*args, **kwargs)
    return wrapper


def is_autocast_available(device_type):
    """Whether autocast knows the device."""
    return device_type in ("cpu", "cuda")


class GradScaler:
    """Multiplies losses by a number that grows while gradients stay finite and shrinks when they do not; steps
    with gradients that are not finite are left out."""

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):
        if enabled and device == "cuda" and _C._cuda_reason() is not None:
            warnings.warn("GradScaler is enabled, but CUDA is not available. Disabling.")
            enabled = False
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device = device
        self._enabled = enabled
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._init_scale, self._init_growth_tracker = float(init_scale), 0
        self._scale = self._growth_tracker = None
        self._unscaled = []  # optimizers since the last update ...
        self._found = []     # ... and whether something in their gradients is not finite
        self._stepped = []

    def _begin(self):
        if self._scale is None:
            self._scale = _C.full((), self._init_scale, dtype=_C.float32, device=self._device)
            self._growth_tracker = _C.full((), self._init_growth_tracker, dtype=_C.int32, device=self._device)

    def scale(self, outputs):
        """The outputs (a tensor, or a list or tuple of them) times the scale."""
        if not self._enabled:
            return outputs
        self._begin()
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(output) for output in outputs])
        return outputs * self._scale

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale, once per step."""
        if not self._enabled:
            return
        self._begin()
        if _place(self._stepped, optimizer) >= 0:
            raise RuntimeError("unscale_() is being called after step().")
        if _place(self._unscaled, optimizer) >= 0:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        found = _unscale(optimizer, self._scale)
        self._unscaled.append(optimizer)
        self._found.append(found)

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step() unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if _place(self._stepped, optimizer) >= 0:
            raise RuntimeError("step() has already been called since the last update().")
        if _place(self._unscaled, optimizer) < 0:
            self.unscale_(optimizer)
        found = self._found[_place(self._unscaled, optimizer)]
        self._stepped.append(optimizer)
        if found is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        if found.item():
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Adapts the scale to what the steps since the last update have met."""
        if not self._enabled:
            return
        if self._scale is None:
            raise AssertionError("Attempted update but _scale is None. This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")
        if new_scale is not None:
            if isinstance(new_scale, _C.Tensor):
                self._scale.copy_(new_scale)
            else:
                self._scale.fill_(new_scale)
        else:
            found = None
            for value in self._found:
                if value is not None:
                    found = value if found is None else found.logical_or(value)
            if found is None:
                raise AssertionError("No inf checks were recorded prior to update.")
            _adapt(self._scale, self._growth_tracker, found, self._growth_factor, self._backoff_factor,
                   self._growth_interval)
        self._unscaled = []
        self._found = []
        self._stepped = []

    def get_scale(self):
        """The scale as a number."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """What the scale is multiplied by after growth_interval steps without infinities."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is multiplied by after a step with infinities."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many steps without infinities the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets it."""
        self._growth_interval = new_interval

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    def state_dict(self):
        """What load_state_dict takes; empty where the scaler is not enabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._init_growth_tracker if self._growth_tracker is None
                else self._growth_tracker.item()}

    def load_state_dict(self, state_dict):
        """Takes back what state_dict gave."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled "
                               "instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)


def _place(optimizers, optimizer):
    """Where it is in the list; -1: nowhere."""
    for i in range(len(optimizers)):
        if optimizers[i] is optimizer:
            return i
    return -1


def _unscale(optimizer, scale):
    """Divides gradients; a bool tensor: whether one of them is not finite. None without gradients."""
    inverse = scale.double().reciprocal().float()
    found = None
    with _C.no_grad():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.dtype == _C.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                bad = gradient.isfinite().all().logical_not()
                found = bad if found is None else found.logical_or(bad)
                gradient.mul_(inverse)
    return found


def _adapt(scale, tracker, found, growth, backoff, interval):
    """The rule of PyTorch: back off after an infinity, grow after `interval` steps without one."""
    with _C.no_grad():
        steps = tracker + 1
        due = steps == interval
        grown = scale * growth
        grown = _C.where(due.logical_and(grown.isfinite()), grown, scale)
        scale.copy_(_C.where(found, scale * backoff, grown))
        tracker.copy_(_C.where(found.logical_or(due), _C.zeros_like(tracker), steps))
