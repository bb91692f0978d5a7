# SPDX-License-Identifier: Apache-2.0
"""Optimisers and learning-rate schedules, with PyTorch's names and defaults."""
from . import lr_scheduler
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD
