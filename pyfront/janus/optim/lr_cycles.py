# SPDX-License-Identifier: Apache-2.0
"""Schedules that go up and down, of momentum, too."""
import math

from .lr_scheduler import LRScheduler, _check_optimizer, _of_groups, _state_of


def _check_momentum(optimizer):
    """Whether it is the first of `betas` that is the momentum; ValueError where there is none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group, momentum, use_beta1):
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps, down again in `step_size_down`, over and over; momentum,
    where `cycle_momentum`, from `max_momentum` down to `base_momentum` and up again. `mode`: "triangular",
    "triangular2" (half as high each time) or "exp_range" (times `gamma` each step), or `scale_fn` of the cycle's number
    or the step's (`scale_mode` "cycle" or "iterations")."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _of_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups):
                group["lr"] = rate
        self.max_lrs = _of_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            self.base_momentums = _of_groups("base_momentum", optimizer, base_momentum)
            self.max_momentums = _of_groups("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for most, least, group in zip(self.max_momentums, self.base_momentums, optimizer.param_groups):
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """How high cycle (or step) `x` is, as a part of the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma ** x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        high = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for least, most, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                _set_momentum(group, most - (most - least) * part * high, self.use_beta1)
        return [base + (most - base) * part * high for base, most in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        state = _state_of(self, ("_scale_fn_custom",))
        custom = self._scale_fn_custom
        is_object = custom is not None and type(custom).__name__ != "function"
        return {**state, "_scale_fn_custom": dict(custom.__dict__) if is_object else None}

    def load_state_dict(self, state_dict):
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min` in `T_0` epochs, then anew from the first rate, each `T_mult` times as long."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        part = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * part / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes to the next epoch, or to the one given, which may lie between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult ** n
        self._go_to(math.floor(epoch))


def _cosine(start, end, part):
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _linear(start, end, part):
    return (end - start) * part + start


class OneCycleLR(LRScheduler):
    """Once up to `max_lr`, from that by `div_factor`, and down to the first rate by `final_div_factor`, in `total_steps`
    (or `epochs` times `steps_per_epoch`) steps, of which `pct_start` go up; where `three_phase`, down to the first rate
    as fast as up, and then further. `anneal_strategy` is "cos" or "linear". Momentum goes the other way, between
    `max_momentum` and `base_momentum`, where `cycle_momentum`."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            for name, count in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(count, int) or count <= 0:
                    raise ValueError(f"Expected positive integer {name}, but got {count}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = self._phases(pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for most, group in zip(_of_groups("max_lr", optimizer, max_lr), optimizer.param_groups):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            mosts = _of_groups("max_momentum", optimizer, max_momentum)
            leasts = _of_groups("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                for most, least, group in zip(mosts, leasts, optimizer.param_groups):
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start, three_phase):
        """When each phase ends, and between which of a group's options rate and momentum go in it."""
        def phase(end_step, *names):
            keys = ("start_lr", "end_lr", "start_momentum", "end_momentum")
            return {"end_step": end_step, **dict(zip(keys, names))}
        up = phase(float(pct_start * self.total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        last = self.total_steps - 1
        if not three_phase:
            return [up, phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        return [up, phase(float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum",
                          "max_momentum"),
                phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start, number = 0.0, 0
        while number < len(self._schedule_phases) - 1 and step > self._schedule_phases[number]["end_step"]:
            start = self._schedule_phases[number]["end_step"]
            number += 1
        phase = self._schedule_phases[number]
        part = (step - start) / (phase["end_step"] - start)
        between = _cosine if self._anneal_func_type == "cos" else _linear
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                _set_momentum(group, between(group[phase["start_momentum"]], group[phase["end_momentum"]], part),
                              self.use_beta1)
        return rates
