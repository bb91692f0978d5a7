# SPDX-License-Identifier: Apache-2.0
"""Advantage actor-critic (Mnih et al. 2016), one worker: episodes in an environment that is plain Python."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

from .cartpole import CartPole


class ActorCritic(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.hidden = nn.Linear(4, size)
        self.actor, self.critic = nn.Linear(size, 2), nn.Linear(size, 1)

    def forward(self, state):
        h = torch.tanh(self.hidden(state))
        return self.actor(h), self.critic(h)


def episode(model, env, longest):
    log_probs, values, entropies, rewards = [], [], [], []
    state = env.reset()
    for _ in range(longest):
        scores, value = model(torch.tensor([state]))
        probs, log_prob = F.softmax(scores, dim=1), F.log_softmax(scores, dim=1)
        action = probs.detach().multinomial(1)
        state, reward, done = env.step(action.item())
        log_probs.append(log_prob.gather(1, action).view(()))
        entropies.append(-(probs * log_prob).sum())
        values.append(value.view(()))
        rewards.append(reward)
        if done:
            break
    return log_probs, values, entropies, rewards


def loss_of(log_probs, values, entropies, rewards, gamma):
    returns, R = [], 0.0
    for reward in reversed(rewards):
        R = reward + gamma * R
        returns.insert(0, R)
    returns, values = torch.tensor(returns), torch.stack(values)
    advantages = returns - values
    policy = -(torch.stack(log_probs) * advantages.detach()).sum()
    return policy + 0.5 * advantages.pow(2).sum() - 0.01 * torch.stack(entropies).sum()


def make(small, decorate):
    size, longest = (8, 12) if small else (100, 20)
    model, env = ActorCritic(size), CartPole(3)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001)

    @decorate
    def step(gamma):
        optimizer.zero_grad()
        loss = loss_of(*episode(model, env, longest), gamma)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 40.0)
        optimizer.step()
        return loss.item()

    return [model], step, [0.99] * 4
