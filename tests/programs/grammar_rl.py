# SPDX-License-Identifier: Apache-2.0
"""Sentences grown from a grammar by a policy that is rewarded for their balance; actions that a grammar forbids are masked, a baseline is learnt."""
import logging
from dataclasses import dataclass, field
from typing import List, Optional
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.distributions import Categorical

RULES = {"S": [("a", "S", "b"), ("S", "S"), ("c",)]}
SYMBOLS = ["S", "a", "b", "c", "<pad>"]
log = logging.getLogger("grammar")


@dataclass
class Trajectory:
    log_probs: List[torch.Tensor] = field(default_factory=list)
    values: List[torch.Tensor] = field(default_factory=list)
    entropies: List[torch.Tensor] = field(default_factory=list)
    reward: Optional[float] = None

    def __len__(self):
        return len(self.log_probs)


class Policy(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.embed = nn.Embedding(len(SYMBOLS), hidden)
        self.rnn = nn.GRU(hidden, hidden, bidirectional=True, batch_first=True)
        self.actor, self.critic = nn.Linear(2 * hidden, 3), nn.Linear(2 * hidden, 1)

    def forward(self, symbols, at):
        ids = torch.tensor([[SYMBOLS.index(s) for s in symbols]])
        out, _ = self.rnn(self.embed(ids))
        here = out[0, at]
        return self.actor(here), self.critic(here).squeeze(-1)


def rollout(policy, limit=7):
    sentence, t = ["S"], Trajectory()
    while "S" in sentence and len(t) < 12:
        at = sentence.index("S")
        logits, value = policy(sentence, at)
        mask = torch.tensor([len(sentence) + len(r) - 1 > limit for r in RULES["S"]])
        dist = Categorical(logits=logits.masked_fill(mask, -1e9))
        action = dist.sample()
        t.log_probs.append(dist.log_prob(action))
        t.values.append(value)
        t.entropies.append(dist.entropy())
        sentence[at:at + 1] = RULES["S"][action.item()]
    t.reward = 1.0 - abs(sentence.count("a") - 2) / 2 if "S" not in sentence else -1.0
    return sentence, t


def update(policy, opt, trajectories):
    policy_loss, value_loss, entropy = [], [], []
    for t in trajectories:
        returns = [t.reward * 0.95 ** (len(t) - 1 - i) for i in range(len(t))]
        for lp, v, e, r in zip(t.log_probs, t.values, t.entropies, returns):
            policy_loss.append(-lp * (r - v.item()))
            value_loss.append(F.smooth_l1_loss(v, torch.tensor(r)))
            entropy.append(e)
    opt.zero_grad()
    loss = torch.stack(policy_loss).sum() + 0.5 * torch.stack(value_loss).sum() - 0.01 * torch.stack(entropy).sum()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 1.0)
    opt.step()
    return loss.item()


def train_iteration(policy, opt, n=4):
    batch = [rollout(policy) for _ in range(n)]
    loss = update(policy, opt, [t for _, t in batch])
    return loss, sum(t.reward for _, t in batch) / n, max((s for s, _ in batch), key=len)


def run_epoch(epoch, policy, opt):
    best, total = "", 0.0
    for i in range(3):
        loss, reward, longest = train_iteration(policy, opt)
        total += reward
        text = "".join(longest)
        if len(text) > len(best):
            best = text
        log.info("%d.%d loss=%.3f reward=%.2f", epoch, i, loss, reward)
    print(f"{epoch:3d} reward {total / 3:+.3f} longest {best}")
    return total


def main(epochs):
    torch.manual_seed(13)
    policy = Policy()
    opt = torch.optim.RMSprop(policy.parameters(), lr=5e-3)
    return [run_epoch(e, policy, opt) for e in range(epochs)]


MODEL, STEP, EPOCH = "Policy.forward", "train_iteration", "run_epoch"
