# Written by tools/stubs/write.py; do not edit.
from typing import Any, Iterable
from janus.optim.optimizer import OneByOne as OneByOne
from janus.optim.optimizer import at_least_zero as at_least_zero
from janus.optim.optimizer import beta_pair as beta_pair

class Adamax(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.002, betas: tuple[float, float] = ..., eps: float = 1e-08, weight_decay: float = 0.0, *, maximize: bool = False) -> None: ...
class NAdam(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.002, betas: tuple[float, float] = ..., eps: float = 1e-08, weight_decay: float = 0.0, momentum_decay: float = 0.004, decoupled_weight_decay: bool = False, *, maximize: bool = False) -> None: ...
class RAdam(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 0.001, betas: tuple[float, float] = ..., eps: float = 1e-08, weight_decay: float = 0.0, decoupled_weight_decay: bool = False, *, maximize: bool = False) -> None: ...
