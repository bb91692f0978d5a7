# Written by tools/stubs/write.py; do not edit.
from janus.data.dataloader import DataLoader as DataLoader
from janus.data.dataloader import default_collate as default_collate
from janus.data.dataloader import random_split as random_split
from janus.data.dataset import ChainDataset as ChainDataset
from janus.data.dataset import ConcatDataset as ConcatDataset
from janus.data.dataset import Dataset as Dataset
from janus.data.dataset import IterableDataset as IterableDataset
from janus.data.dataset import StackDataset as StackDataset
from janus.data.dataset import Subset as Subset
from janus.data.dataset import TensorDataset as TensorDataset
from janus.data.sampler import BatchSampler as BatchSampler
from janus.data.sampler import RandomSampler as RandomSampler
from janus.data.sampler import Sampler as Sampler
from janus.data.sampler import SequentialSampler as SequentialSampler
from janus.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from janus.data.sampler import WeightedRandomSampler as WeightedRandomSampler

