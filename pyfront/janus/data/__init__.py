# SPDX-License-Identifier: Apache-2.0
"""Datasets, samplers and the loader that makes batches of them."""
from .dataloader import DataLoader, default_collate, random_split
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset
from .sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                      WeightedRandomSampler)
