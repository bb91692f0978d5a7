# SPDX-License-Identifier: Apache-2.0
"""janus.data under the name that PyTorch's programs have for it."""
from ..data import (BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler,
                    SequentialSampler, StackDataset, Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler,
                    default_collate, random_split)
