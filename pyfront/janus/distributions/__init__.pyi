# Written by tools/stubs/write.py; do not edit.
from janus.distributions import discrete as discrete
from janus.distributions import distribution as distribution
from janus.distributions import gamma as gamma
from janus.distributions import independent as independent
from janus.distributions import inverted as inverted
from janus.distributions import kl as kl
from janus.distributions import normal as normal
from janus.distributions import transformed as transformed
from janus.distributions import transforms as transforms
from janus.distributions.discrete import Bernoulli as Bernoulli
from janus.distributions.discrete import Categorical as Categorical
from janus.distributions.distribution import Distribution as Distribution
from janus.distributions.gamma import Beta as Beta
from janus.distributions.gamma import Dirichlet as Dirichlet
from janus.distributions.gamma import Gamma as Gamma
from janus.distributions.independent import Independent as Independent
from janus.distributions.inverted import Exponential as Exponential
from janus.distributions.inverted import Gumbel as Gumbel
from janus.distributions.inverted import Laplace as Laplace
from janus.distributions.inverted import Uniform as Uniform
from janus.distributions.kl import kl_divergence as kl_divergence
from janus.distributions.normal import LogNormal as LogNormal
from janus.distributions.normal import Normal as Normal
from janus.distributions.transformed import TransformedDistribution as TransformedDistribution
from janus.distributions.transforms import AffineTransform as AffineTransform
from janus.distributions.transforms import ComposeTransform as ComposeTransform
from janus.distributions.transforms import ExpTransform as ExpTransform
from janus.distributions.transforms import PowerTransform as PowerTransform
from janus.distributions.transforms import SigmoidTransform as SigmoidTransform
from janus.distributions.transforms import SoftplusTransform as SoftplusTransform
from janus.distributions.transforms import TanhTransform as TanhTransform
from janus.distributions.transforms import Transform as Transform

identity_transform: ComposeTransform
