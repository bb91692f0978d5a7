# Written by tools/stubs/write.py; do not edit.
from typing import Any, Callable, Sequence
from janus import Generator
from janus import Tensor as Tensor
from janus import as_tensor as as_tensor
from janus.data.dataset import IterableDataset as IterableDataset
from janus.data.dataset import Subset as Subset
from janus.data.sampler import BatchSampler as BatchSampler
from janus.data.sampler import RandomSampler as RandomSampler
from janus.data.sampler import SequentialSampler as SequentialSampler

class DataLoader:
    dataset: Any
    batch_size: int
    sampler: Any
    batch_sampler: Any
    num_workers: int
    collate_fn: Callable[..., Any] | None
    pin_memory: bool
    drop_last: bool
    timeout: int
    worker_init_fn: Any
    multiprocessing_context: Any
    generator: Generator | None
    prefetch_factor: Any
    persistent_workers: bool
    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: Any = None, sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[..., Any] | None = None, pin_memory: bool = False, drop_last: bool = False, timeout: int = 0, worker_init_fn: Any = None, multiprocessing_context: Any = None, generator: Generator | None = None, *, prefetch_factor: Any = None, persistent_workers: bool = False) -> None: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
def default_collate(batch: Any) -> Any: ...
def random_split(dataset: Any, lengths: Sequence[float]) -> list[Subset]: ...
