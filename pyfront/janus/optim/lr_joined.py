# SPDX-License-Identifier: Apache-2.0
"""Schedules made of others: one after the other, or all at once."""
from bisect import bisect_right

from .lr_scheduler import LRScheduler, ReduceLROnPlateau, _state_of


def _check(schedulers, optimizer, name):
    for number, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name} does not support `ReduceLROnPlateau`, whose `step` takes a metric, but got one at "
                             f"index {number} in the given schedulers sequence.")
        if optimizer != scheduler.optimizer:
            raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                             f"{type(scheduler).__name__} at index {number} of another one")


class _Joined(LRScheduler):
    """Keeps the state of schedules inside beside its own."""

    def state_dict(self):
        return {**_state_of(self, ("_schedulers",)), "_schedulers": [inner.state_dict() for inner in self._schedulers]}

    def load_state_dict(self, state_dict):
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for inner, state in zip(self._schedulers, state_dict["_schedulers"]):
            inner.load_state_dict(state)


def _take_back(scheduler):
    """Undoes the steps that schedulers made when they were built."""
    if hasattr(scheduler, "_schedulers"):
        for inner in scheduler._schedulers:
            _take_back(inner)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class SequentialLR(_Joined):
    """`schedulers` one after the other: the next one begins at each of the epochs in `milestones`."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        _check(schedulers, optimizer, name)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number "
                             f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                             f"milestones to be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        _take_back(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self):
        """Goes to the next epoch of the schedule whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Joined):
    """All `schedulers` at once, each changing what the one before has set."""

    def __init__(self, schedulers, optimizer=None):
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        _check(schedulers, optimizer, name)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._rates()

    def step(self):
        """A step of each, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
