# Written by tools/stubs/write.py; do not edit.
from typing import Any
from janus.optim.optimizer import Optimizer
from janus.optim.lr_scheduler import LRScheduler as LRScheduler

class ConstantLR(LRScheduler):
    factor: float
    total_iters: int
    def __init__(self, optimizer: Optimizer, factor: float = 0.3333333333333333, total_iters: int = 5, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> Any: ...
class LinearLR(LRScheduler):
    start_factor: float
    end_factor: float
    total_iters: int
    def __init__(self, optimizer: Optimizer, start_factor: float = 0.3333333333333333, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> Any: ...
class PolynomialLR(LRScheduler):
    total_iters: int
    power: float
    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> Any: ...
