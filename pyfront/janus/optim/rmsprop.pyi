# Written by tools/stubs/write.py; do not edit.
from typing import Any, Iterable
from janus.optim.optimizer import OneByOne as OneByOne
from janus.optim.optimizer import at_least_zero as at_least_zero

class RMSprop(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-08, weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, *, maximize: bool = False) -> None: ...
class Rprop(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.01, etas: tuple[float, float] = ..., step_sizes: tuple[float, float] = ..., *, maximize: bool = False) -> None: ...
