# Written by tools/stubs/write.py; do not edit.
from typing import Any, Sequence
from janus import Tensor
from janus.distributions.distribution import Distribution as Distribution
from janus.distributions.transforms import ComposeTransform as ComposeTransform
from janus.distributions.transforms import Transform as Transform

class TransformedDistribution(Distribution):
    transforms: Transform | Sequence[Transform]
    base_dist: Any
    has_rsample: Any
    batch_shape: Any
    event_shape: Any
    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform]) -> None: ...
    def rsample(self, sample_shape: int | Sequence[int] = ...) -> Tensor: ...
    def sample(self, sample_shape: int | Sequence[int] = ...) -> Tensor: ...
    def log_prob(self, value: Tensor) -> Tensor: ...
    def cdf(self, value: Tensor) -> Tensor: ...
