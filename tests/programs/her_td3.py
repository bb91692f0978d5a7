# SPDX-License-Identifier: Apache-2.0
"""TD3 with hindsight experience replay: a point that is to reach a goal, rewards of 0 or -1."""
import copy
import random
from collections import deque
from dataclasses import dataclass, asdict
from typing import NamedTuple

import numpy as np
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.optim import Adam


class Step(NamedTuple):
    obs: np.ndarray
    goal: np.ndarray
    action: np.ndarray
    achieved: np.ndarray
    next_obs: np.ndarray
    reward: float


class PointReach:
    horizon, tolerance = 8, 0.25

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.pos, self.vel = self.rng.uniform(-1, 1, 2), np.zeros(2)
        self.goal = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.t = 0
        return self.obs

    @property
    def obs(self):
        return np.concatenate([self.pos, self.vel]).astype(np.float32)

    @classmethod
    def reward(cls, achieved, goal):
        return 0.0 if np.linalg.norm(achieved - goal) < cls.tolerance else -1.0

    def step(self, action):
        self.vel = 0.6 * self.vel + 0.3 * np.clip(action, -1, 1)
        self.pos = np.clip(self.pos + self.vel, -1.5, 1.5)
        self.t += 1
        achieved = self.pos.astype(np.float32)
        return self.obs, achieved, self.reward(achieved, self.goal), self.t >= self.horizon


class HindsightBuffer:
    def __init__(self, size, k=2):
        self.data, self.k = deque(maxlen=size), k

    def add_episode(self, episode):
        for i, s in enumerate(episode):
            self.data.append(s)
            for future in random.choices(episode[i:], k=self.k):
                goal = future.achieved
                self.data.append(s._replace(goal=goal, reward=PointReach.reward(s.achieved, goal)))

    def sample(self, n):
        batch = Step(*zip(*random.sample(self.data, n)))
        obs, goal, action, _, next_obs = (torch.from_numpy(np.stack(part)) for part in batch[:-1])
        reward = torch.tensor(batch.reward, dtype=torch.float32).unsqueeze(-1)
        return obs, goal, action, next_obs, reward

    def __len__(self):
        return len(self.data)


def mlp(*sizes, out=None):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers.pop()
    if out is not None:
        layers.append(out)
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, n_obs, n_goal, n_act, hidden=24, limit=1.0):
        super().__init__()
        self.net, self.limit = mlp(n_obs + n_goal, hidden, hidden, n_act, out=nn.Tanh()), limit

    def forward(self, obs, goal):
        return self.limit * self.net(torch.cat((obs, goal), dim=-1))


class Critic(nn.Module):
    def __init__(self, n_obs, n_goal, n_act, hidden=24):
        super().__init__()
        self.qs = nn.ModuleList(mlp(n_obs + n_goal + n_act, hidden, hidden, 1) for _ in range(2))

    def forward(self, obs, goal, action):
        x = torch.cat((obs, goal, action), dim=-1)
        return tuple(q(x) for q in self.qs)

    def first(self, *parts):
        return self.qs[0](torch.cat(parts, dim=-1))


@dataclass
class Hyper:
    gamma: float = 0.9
    tau: float = 0.05
    policy_noise: float = 0.2
    noise_clip: float = 0.5
    policy_every: int = 2
    explore: float = 0.3
    batch: int = 16


class TD3:
    def __init__(self, hyper):
        self.h = hyper
        self.actor, self.critic = Actor(4, 2, 2), Critic(4, 2, 2)
        self.actor_target, self.critic_target = map(copy.deepcopy, (self.actor, self.critic))
        self.actor_opt = Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = Adam(self.critic.parameters(), lr=1e-3)
        self.total = 0
        for p in [*self.actor_target.parameters(), *self.critic_target.parameters()]:
            p.requires_grad_(False)

    def act(self, obs, goal, noise=0.0):
        with torch.no_grad():
            a = self.actor(torch.as_tensor(obs)[None], torch.as_tensor(goal)[None])[0]
        a = a.numpy()
        if noise:
            a = a + np.random.normal(0, noise, size=a.shape).astype(np.float32)
        return a.clip(-1, 1)

    def train(self, buffer):
        self.total += 1
        h = self.h
        obs, goal, action, next_obs, reward = buffer.sample(h.batch)
        with torch.no_grad():
            noise = (torch.randn_like(action) * h.policy_noise).clamp(-h.noise_clip, h.noise_clip)
            next_action = (self.actor_target(next_obs, goal) + noise).clamp(-1, 1)
            q_next = torch.min(*self.critic_target(next_obs, goal, next_action))
            target = (reward + h.gamma * q_next * (reward < 0).float()).clamp(min=-1 / (1 - h.gamma), max=0.0)
        q1, q2 = self.critic(obs, goal, action)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = None
        if self.total % h.policy_every == 0:
            pi = self.actor(obs, goal)
            actor_loss = -self.critic.first(obs, goal, pi).mean() + 0.1 * pi.pow(2).mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            for net, target_net in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
                for p, q in zip(net.parameters(), target_net.parameters()):
                    q.data.copy_(h.tau * p.data + (1 - h.tau) * q.data)
            actor_loss = actor_loss.item()
        return critic_loss.item(), actor_loss


def run_epoch(number, agent, env, buffer, episodes=3):
    total, critic_losses, actor_losses = 0.0, [], []
    for _ in range(episodes):
        obs, episode, done = env.reset(), [], False
        while not done:
            action = agent.act(obs, env.goal, agent.h.explore)
            next_obs, achieved, reward, done = env.step(action)
            episode.append(Step(obs, env.goal, action, achieved, next_obs, reward))
            obs, total = next_obs, total + reward
        buffer.add_episode(episode)
        for _ in range(4 if len(buffer) >= agent.h.batch else 0):
            c, a = agent.train(buffer)
            critic_losses.append(c)
            if a is not None:
                actor_losses.append(a)
    mean = lambda xs: sum(xs) / len(xs) if xs else float("nan")
    print(f"{number:3d} return {total / episodes:7.3f} critic {mean(critic_losses):.4f} actor {mean(actor_losses):+.4f} ({len(buffer)} kept)")
    return total, critic_losses, actor_losses


def main(epochs):
    np.random.seed(7)
    hyper = Hyper(batch=16)
    agent, env, buffer = TD3(hyper), PointReach(3), HindsightBuffer(200)
    log = [run_epoch(n, agent, env, buffer) for n in range(epochs)]
    tests = []
    for _ in range(2):
        obs, done = env.reset(), False
        while not done:
            obs, achieved, r, done = env.step(agent.act(obs, env.goal))
        tests.append((achieved.tolist(), r))
    return log, tests, agent.actor.state_dict(), asdict(hyper), agent.total


MODEL, STEP, EPOCH = "Critic.forward", "TD3.train", "run_epoch"
