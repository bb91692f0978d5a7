# SPDX-License-Identifier: Apache-2.0
"""REINFORCE on a toy corridor: episodes of any length, log probabilities kept on the policy."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.distributions import Categorical


class Corridor:
    """Walk to the right end; each step costs."""

    def __init__(self, length, seed):
        self.length, self.rng = length, random.Random(seed)

    def reset(self):
        self.at = self.rng.randrange(self.length - 1)
        return self.observe()

    def observe(self):
        return [self.at / self.length, 1.0, self.rng.random()]

    def step(self, action):
        self.at = max(0, self.at + (1 if action == 1 else -1))
        done = self.at >= self.length - 1
        return self.observe(), 1.0 if done else -0.1, done


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(3, 8)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(8, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(policy, state):
    state = torch.tensor(state).unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.99, eps=1e-6):
    R, policy_loss, returns = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(unbiased=False) + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


def episode(env, policy, optimizer, running_reward, number):
    state, ep_reward = env.reset(), 0
    for t in range(1, 15):
        action = select_action(policy, state)
        state, reward, done = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.05 * ep_reward + 0.95 * running_reward
    loss = finish_episode(policy, optimizer)
    if number % 2 == 0:
        print("Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}".format(number, ep_reward, running_reward))
    return running_reward, loss, t


def main(epochs):
    env, policy = Corridor(5, seed=1), Policy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=1e-2)
    running, out = 0.0, []
    for i in range(2 * epochs):
        running, loss, t = episode(env, policy, optimizer, running, i)
        out.append((running, loss, t))
    return out, policy


MODEL, STEP, EPOCH = "Policy.forward", "finish_episode", "episode"
