# SPDX-License-Identifier: Apache-2.0
"""An actor and a critic that learn to cross a grid with pits: episodes of other lengths, advantages from the end backwards, shuffled minibatches."""
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

SIDE, MOVES = 4, [(0, 1), (1, 0), (0, -1), (-1, 0)]


class Grid:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.pits = {(1, 1), (2, 3)}

    def reset(self):
        self.at, self.steps = (0, 0), 0
        return self.observe()

    def observe(self):
        r, c = self.at
        return [r / SIDE, c / SIDE, 1.0 if (r + 1, c) in self.pits else 0.0, 1.0 if (r, c + 1) in self.pits else 0.0]

    def step(self, action):
        dr, dc = MOVES[action]
        r, c = min(max(self.at[0] + dr, 0), SIDE - 1), min(max(self.at[1] + dc, 0), SIDE - 1)
        self.at, self.steps = (r, c), self.steps + 1
        if self.at in self.pits:
            return self.observe(), -1.0, True
        if self.at == (SIDE - 1, SIDE - 1):
            return self.observe(), 1.0, True
        return self.observe(), -0.02, self.steps >= 20


class Buffer:
    def __init__(self):
        self.clear()

    def clear(self):
        self.observations, self.actions, self.rewards, self.values, self.log_probs = [], [], [], [], []

    def add(self, observation, action, reward, value, log_prob):
        self.observations.append(observation)
        self.actions.append(action)
        self.rewards.append(reward)
        self.values.append(value)
        self.log_probs.append(log_prob)

    def advantages(self, gamma=0.97, lam=0.9):
        result, returns = [0.0] * len(self.rewards), []
        last = 0.0
        for t in range(len(self.rewards) - 1, -1, -1):
            following = self.values[t + 1] if t + 1 < len(self.values) else 0.0
            delta = self.rewards[t] + gamma * following - self.values[t]
            last = delta + gamma * lam * last
            result[t] = last
        for a, v in zip(result, self.values):
            returns.append(a + v)
        return result, returns


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.Tanh())
        self.actor, self.critic = nn.Linear(24, len(MOVES)), nn.Linear(24, 1)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.actor(h), dim=-1), self.critic(h).squeeze(-1)


def collect(env, net, buffer):
    observation, done, total = env.reset(), False, 0.0
    while not done:
        with torch.no_grad():
            log_probs, value = net(torch.tensor([observation]))
        probs = log_probs[0].exp().tolist()
        action = env.rng.choices(range(len(MOVES)), probs)[0]
        following, reward, done = env.step(action)
        buffer.add(observation, action, reward, value.item(), log_probs[0, action].item())
        observation, total = following, total + reward
    return total


def learn(net, opt, buffer, rng, clip=0.2):
    advantages, returns = buffer.advantages()
    adv = torch.tensor(advantages)
    adv = (adv - adv.mean()) / (adv.std() + 1e-6) if len(advantages) > 1 else adv
    x, a = torch.tensor(buffer.observations), torch.tensor(buffer.actions)
    old, target = torch.tensor(buffer.log_probs), torch.tensor(returns)
    losses = []
    for _ in range(2):
        log_probs, values = net(x)
        ratio = (log_probs.gather(1, a[:, None]).squeeze(1) - old).exp()
        gain = torch.minimum(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
        entropy = -(log_probs.exp() * log_probs).sum(1).mean()
        loss = F.mse_loss(values, target) - gain.mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses


def run_epoch(epoch, env, net, opt, buffer, rng):
    rewards, lengths, history = [], [], []
    for _ in range(4):
        buffer.clear()
        rewards.append(collect(env, net, buffer))
        lengths.append(len(buffer.rewards))
        history += learn(net, opt, buffer, rng)
    print(f"epoch {epoch} reward {sum(rewards) / len(rewards):+.3f} steps {lengths} loss {history[-1]:.4f}")
    return sum(rewards)


def main(epochs):
    torch.manual_seed(5)
    env, net, buffer = Grid(5), ActorCritic(), Buffer()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    return [run_epoch(e, env, net, opt, buffer, random.Random(e)) for e in range(epochs)]


MODEL, STEP, EPOCH = "ActorCritic.forward", "learn", "run_epoch"
