# SPDX-License-Identifier: Apache-2.0
"""Datasets and the loader that makes batches of them."""
from .dataloader import DataLoader, RandomSampler, SequentialSampler, default_collate, random_split
from .dataset import Dataset, Subset, TensorDataset
