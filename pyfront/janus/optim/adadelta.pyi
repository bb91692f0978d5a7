# Written by tools/stubs/write.py; do not edit.
from typing import Any, Iterable
from janus.optim.optimizer import OneByOne as OneByOne
from janus.optim.optimizer import at_least_zero as at_least_zero

class Adadelta(OneByOne):
    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-06, weight_decay: float = 0.0, *, maximize: bool = False) -> None: ...
