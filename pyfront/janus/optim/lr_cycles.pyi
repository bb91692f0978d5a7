# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Mapping, Sequence
from janus.optim.optimizer import Optimizer
from janus.optim.lr_scheduler import LRScheduler as LRScheduler

class CosineAnnealingWarmRestarts(LRScheduler):
    T_0: Any
    T_i: Any
    T_mult: int
    eta_min: float
    T_cur: Any
    def __init__(self, optimizer: Optimizer, T_0: Any, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> Any: ...
    def step(self, epoch: float | None = None) -> Any: ...
class CyclicLR(LRScheduler):
    max_lrs: Any
    total_size: Any
    step_ratio: Any
    mode: str
    gamma: float
    scale_mode: str
    cycle_momentum: bool
    use_beta1: Any
    base_momentums: Any
    max_momentums: Any
    def __init__(self, optimizer: Optimizer, base_lr: float | Sequence[float], max_lr: float | Sequence[float], step_size_up: int = 2000, step_size_down: int | None = None, mode: str = 'triangular', gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = 'cycle', cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.8, max_momentum: float | Sequence[float] = 0.9, last_epoch: int = -1) -> None: ...
    def scale_fn(self, x: float) -> Any: ...
    def get_lr(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None: ...
class OneCycleLR(LRScheduler):
    cycle_momentum: bool
    total_steps: int | None
    use_beta1: Any
    def __init__(self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None, epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = 'cos', cycle_momentum: bool = True, base_momentum: float | Sequence[float] = 0.85, max_momentum: float | Sequence[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 10000.0, three_phase: bool = False, last_epoch: int = -1) -> None: ...
    def get_lr(self) -> Any: ...
