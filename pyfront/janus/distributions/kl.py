# SPDX-License-Identifier: Apache-2.0
"""Divergences."""
from .. import _C
from .discrete import Bernoulli, Categorical
from .gamma import Beta, Dirichlet, Gamma
from .independent import Independent
from .inverted import Exponential
from .normal import LogNormal, Normal


def kl_divergence(p, q):
    """Divergence of q from p, for two of one kind: Normal, LogNormal, Categorical, Bernoulli, Gamma, Dirichlet, Beta,
    Exponential, or Independent of these."""
    if type(p) is type(q) is Independent and p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
        return p._added(kl_divergence(p.base_dist, q.base_dist))
    if type(p) is type(q) is Beta:
        return kl_divergence(p._shares, q._shares)
    if type(p) is type(q) is Dirichlet:
        a, b = p.concentration, q.concentration
        total = a.sum(-1)
        apart = (a - b) * (a.digamma() - total.digamma().unsqueeze(-1))
        return total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma() + apart).sum(-1)
    if type(p) is type(q) is Gamma:
        a, b = p.concentration, q.concentration
        return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    if type(p) is type(q) is Exponential:
        ratio = q.rate / p.rate
        return ratio - ratio.log() - 1
    if type(p) is type(q) and type(p) in (Normal, LogNormal):
        ratio, gap = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
        return 0.5 * (ratio + gap - 1 - ratio.log())
    if type(p) is type(q) is Categorical:
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if type(p) is type(q) is Bernoulli:
        return p.probs * (p.logits - q.logits) - _C.softplus(p.logits) + _C.softplus(q.logits)
    raise NotImplementedError(f"kl_divergence({type(p).__name__}, {type(q).__name__})")
