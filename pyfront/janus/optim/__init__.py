# SPDX-License-Identifier: Apache-2.0
"""Optimisers and learning-rate schedules, with PyTorch's names and defaults."""
from . import lr_scheduler
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adam_variants import Adamax, NAdam, RAdam
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rmsprop import RMSprop, Rprop
from .sgd import ASGD, SGD
