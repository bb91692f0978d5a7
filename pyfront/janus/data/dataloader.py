# SPDX-License-Identifier: Apache-2.0
"""The joining of examples into batches, and DataLoader, all in this process."""
from .. import _C
from .._C import Tensor
from .._tensor import as_tensor
from .dataset import IterableDataset, Subset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def random_split(dataset, lengths):
    """Subsets of given sizes (or shares of one, the rest going to the first ones), drawn at random."""
    total = len(dataset)
    if all(isinstance(length, float) for length in lengths):
        if abs(sum(lengths) - 1.0) > 1e-6:
            raise ValueError(f"shares of a dataset add up to 1, these to {sum(lengths)}")
        lengths = [int(total * share) for share in lengths]
        for extra in range(total - sum(lengths)):
            lengths[extra % len(lengths)] += 1
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _C.randperm(total).tolist()
    subsets, start = [], 0
    for length in lengths:
        subsets.append(Subset(dataset, order[start:start + length]))
        start += length
    return subsets


def default_collate(batch):
    """Joins examples: tensors and numbers are stacked, tuples, lists and dicts joined inside."""
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return _C.stack(list(batch))
    if hasattr(first, "__array_interface__") and not isinstance(first, float):
        return _C.stack([as_tensor(example) for example in batch])
    if isinstance(first, (bool, int, float)):
        return _C.tensor(list(batch), dtype=_C.float64 if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, dict):
        return {key: default_collate([example[key] for example in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        joined = [default_collate(column) for column in zip(*batch)]
        if hasattr(first, "_fields"):
            return type(first)(*joined)
        return tuple(joined) if isinstance(first, tuple) else joined
    raise TypeError("default_collate: batch must contain tensors, numbers, dicts or lists; found "
                    f"{type(first).__name__}")


def _pinned(batch):
    """The batch with its tensors in pinned memory."""
    if isinstance(batch, Tensor):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return type(batch)((k, _pinned(v)) for k, v in batch.items())
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(_pinned, batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(map(_pinned, batch))
    return batch


class DataLoader:
    """Batches of a dataset.  `num_workers` and what belongs to workers are accepted; nothing is forked."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False):
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                     f"{name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                                 "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None:
            if drop_last:
                raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        elif batch_size < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if sampler is None and not iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None and not iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        in_batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if in_batches else lambda example: example)
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers

    def __iter__(self):
        return map(_pinned, self._batches()) if self.pin_memory else self._batches()

    def _batches(self):
        if isinstance(self.dataset, IterableDataset):
            examples = iter(self.dataset)
            batches = examples if self.batch_size is None else BatchSampler(examples, self.batch_size, self.drop_last)
            for batch in batches:
                yield self.collate_fn(batch)
        elif self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
        else:
            for indices in self.batch_sampler:
                yield self.collate_fn([self.dataset[index] for index in indices])

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
