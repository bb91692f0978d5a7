# Written by tools/stubs/write.py; do not edit.
from janus import Tensor
from janus.distributions.discrete import Bernoulli as Bernoulli
from janus.distributions.discrete import Categorical as Categorical
from janus.distributions.gamma import Beta as Beta
from janus.distributions.gamma import Dirichlet as Dirichlet
from janus.distributions.gamma import Gamma as Gamma
from janus.distributions.independent import Independent as Independent
from janus.distributions.inverted import Exponential as Exponential
from janus.distributions.normal import LogNormal as LogNormal
from janus.distributions.normal import Normal as Normal
from janus.distributions.distribution import Distribution

def kl_divergence(p: Distribution, q: Distribution) -> Tensor: ...
