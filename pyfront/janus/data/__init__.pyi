# Written by tools/stubs/write.py; do not edit.
from janus.data import dataloader as dataloader
from janus.data import dataset as dataset
from janus.data.dataloader import DataLoader as DataLoader
from janus.data.dataloader import RandomSampler as RandomSampler
from janus.data.dataloader import SequentialSampler as SequentialSampler
from janus.data.dataloader import default_collate as default_collate
from janus.data.dataloader import random_split as random_split
from janus.data.dataset import Dataset as Dataset
from janus.data.dataset import Subset as Subset
from janus.data.dataset import TensorDataset as TensorDataset

