# SPDX-License-Identifier: Apache-2.0
"""Proximal policy optimization (Schulman et al. 2017): a rollout, then epochs of shuffled minibatches over it."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

from .cartpole import CartPole


class Policy(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, size), nn.Tanh(), nn.Linear(size, size), nn.Tanh())
        self.actor, self.critic = nn.Linear(size, 2), nn.Linear(size, 1)

    def forward(self, states):
        h = self.body(states)
        return F.log_softmax(self.actor(h), dim=-1), self.critic(h).squeeze(-1)


class Rollout:
    def __init__(self):
        self.states, self.actions, self.log_probs, self.values, self.rewards, self.dones = [], [], [], [], [], []

    def advantages(self, last, gamma=0.99, lam=0.95):
        found, advantage, after = [], 0.0, last
        for i in reversed(range(len(self.rewards))):
            going = 0.0 if self.dones[i] else 1.0
            delta = self.rewards[i] + gamma * after * going - self.values[i]
            advantage = delta + gamma * lam * going * advantage
            found.append(advantage)
            after = self.values[i]
        return found[::-1]


def collect(policy, env, steps):
    rollout, state = Rollout(), env.reset()
    with torch.no_grad():
        for _ in range(steps):
            log_probs, value = policy(torch.tensor(state))
            action = int(log_probs.exp().multinomial(1))
            rollout.states.append(state)
            rollout.actions.append(action)
            rollout.log_probs.append(log_probs[action].item())
            rollout.values.append(value.item())
            state, reward, done = env.step(action)
            rollout.rewards.append(reward)
            rollout.dones.append(done)
            if done:
                state = env.reset()
        last = policy(torch.tensor(state))[1].item()
    return rollout, rollout.advantages(last)


def make(small, decorate):
    size, steps, rows, epochs = (8, 16, 4, 2) if small else (64, 256, 64, 4)
    policy, env, shuffler = Policy(size), CartPole(7), random.Random(2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, eps=1e-5)

    @decorate
    def update(states, actions, old, advantages, returns, clip=0.2):
        log_probs, values = policy(states)
        chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
        ratio = torch.exp(chosen - old)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        gain = torch.min(ratio * advantages, torch.clamp(ratio, 1 - clip, 1 + clip) * advantages)
        entropy = -(log_probs.exp() * log_probs).sum(1).mean()
        loss = -gain.mean() + 0.5 * F.mse_loss(values, returns) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
        return loss.item(), (old - chosen).mean().item()

    def step(target):
        rollout, advantages = collect(policy, env, steps)
        returns = [a + v for a, v in zip(advantages, rollout.values)]
        data = [torch.tensor(x) for x in (rollout.states, rollout.actions, rollout.log_probs, advantages, returns)]
        order, loss = list(range(steps)), 0.0
        for _ in range(epochs):
            shuffler.shuffle(order)
            for i in range(0, steps, rows):
                rows_of = torch.tensor(order[i:i + rows])
                loss, divergence = update(*[x[rows_of] for x in data])
            if divergence > target:  # the policy has moved far enough
                break
        return loss

    return [policy], step, [0.02] * 4
