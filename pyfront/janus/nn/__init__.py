# SPDX-License-Identifier: Apache-2.0
"""Layers and models, with PyTorch's names, defaults and state-dict keys."""
from . import functional, init, utils
from .activation import ELU, GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from .container import ModuleDict, ModuleList, ParameterList, Sequential
from .conv import AvgPool2d, Conv2d, MaxPool2d
from .linear import Embedding, Flatten, Identity, Linear
from .loss import (BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss)
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, Dropout, LayerNorm
from .parameter import Parameter
from .rnn import GRUCell, LSTM, LSTMCell
