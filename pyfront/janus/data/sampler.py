# SPDX-License-Identifier: Apache-2.0
"""Samplers: what gives the positions of examples, one by one or in batches."""
from .. import _C
from .._tensor import as_tensor


class Sampler:
    """Base class: `__iter__` gives positions, `__len__`, where it is known, how many."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """Every position once, in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _check_count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class RandomSampler(Sampler):
    """Every position once, in a random order; or `num_samples` of them, with `replacement` each independent of the
    others, else as many orders one after the other as it takes."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_count(self.num_samples)

    @property
    def num_samples(self):
        """How many positions it gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count, left = len(self.data_source), self.num_samples
        if self.replacement:
            yield from _C.randint(0, count, (left,), generator=self.generator).tolist()
            return
        while left > 0:
            yield from _C.randperm(count, generator=self.generator).tolist()[:left]
            left -= count

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The positions in `indices`, each once, in a random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for position in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` positions, each as probable as its one of `weights`, which need not add up to 1."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        weights = as_tensor(weights, dtype=_C.float64)
        if len(weights.shape) != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}")
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """What another sampler gives, in lists of `batch_size`; a last one that is not full is left out where `drop_last`."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        batch = []
        for position in self.sampler:
            batch.append(position)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
