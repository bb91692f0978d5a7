# SPDX-License-Identifier: Apache-2.0
"""Probability distributions with PyTorch's names.

Draws come from janus's generator; `rsample` lets gradients through to the parameters.  Parameters
are broadcast together: their common shape is `batch_shape`. `event_shape` is empty but of Dirichlet, Independent and
what is made of these.
"""
from . import transforms
from .discrete import Bernoulli, Categorical
from .distribution import Distribution
from .gamma import Beta, Dirichlet, Gamma
from .independent import Independent
from .inverted import Exponential, Gumbel, Laplace, Uniform
from .kl import kl_divergence
from .normal import LogNormal, Normal
from .transformed import TransformedDistribution
from .transforms import (AffineTransform, ComposeTransform, ExpTransform, PowerTransform, SigmoidTransform,
                         SoftplusTransform, TanhTransform, Transform, identity_transform)
