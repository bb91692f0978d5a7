# SPDX-License-Identifier: Apache-2.0
"""Proximal policy optimisation for a continuous control toy: K epochs over the memory of each update."""
import math

import janus as torch
import janus.nn as nn
from janus.distributions import Normal


class Memory:
    def __init__(self):
        self.actions, self.states, self.logprobs, self.rewards, self.is_terminals = [], [], [], [], []

    def clear(self):
        del self.actions[:], self.states[:], self.logprobs[:], self.rewards[:], self.is_terminals[:]


class Pendulum:
    def reset(self):
        self.angle, self.speed, self.t = torch.rand(1).item() - 0.5, 0.0, 0
        return self.state()

    def state(self):
        return [math.cos(self.angle), math.sin(self.angle), self.speed]

    def step(self, force):
        self.speed += 0.1 * (math.sin(self.angle) + max(-1.0, min(1.0, force)))
        self.angle += 0.1 * self.speed
        self.t += 1
        return self.state(), -self.angle ** 2 - 0.1 * self.speed ** 2, self.t >= 8


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(state_dim, 8), nn.Tanh(), nn.Linear(8, action_dim), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(state_dim, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_std = nn.Parameter(torch.zeros(action_dim))

    def act(self, state, memory):
        dist = Normal(self.actor(state), self.log_std.exp())
        action = dist.sample()
        memory.states.append(state)
        memory.actions.append(action)
        memory.logprobs.append(dist.log_prob(action).sum(-1))
        return action.detach()

    def evaluate(self, state, action):
        dist = Normal(self.actor(state), self.log_std.exp().expand(state.shape[0], -1))
        return dist.log_prob(action).sum(-1), self.critic(state).squeeze(-1), dist.entropy().sum(-1)


class PPO:
    def __init__(self, state_dim, action_dim, lr, gamma, k_epochs, eps_clip):
        self.gamma, self.k_epochs, self.eps_clip = gamma, k_epochs, eps_clip
        self.policy = ActorCritic(state_dim, action_dim)
        self.policy_old = ActorCritic(state_dim, action_dim)
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr, betas=(0.9, 0.999))
        self.mse = nn.MSELoss()

    def update(self, memory):
        rewards, discounted = [], 0
        for reward, is_terminal in zip(reversed(memory.rewards), reversed(memory.is_terminals)):
            if is_terminal:
                discounted = 0
            discounted = reward + self.gamma * discounted
            rewards.insert(0, discounted)
        rewards = torch.tensor(rewards)
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-5)
        old_states = torch.stack(memory.states).detach()
        old_actions = torch.stack(memory.actions).detach()
        old_logprobs = torch.stack(memory.logprobs).detach()
        for _ in range(self.k_epochs):
            logprobs, values, entropy = self.policy.evaluate(old_states, old_actions)
            ratios = torch.exp(logprobs - old_logprobs)
            advantages = rewards - values.detach()
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * self.mse(values, rewards) - 0.01 * entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        self.policy_old.load_state_dict(self.policy.state_dict())
        return loss.mean().item()


def run(ppo, env, memory, number):
    total = 0.0
    for _ in range(2):
        state, done = env.reset(), False
        while not done:
            action = ppo.policy_old.act(torch.tensor(state), memory)
            state, reward, done = env.step(action.item())
            memory.rewards.append(reward)
            memory.is_terminals.append(done)
            total += reward
    loss = ppo.update(memory)
    memory.clear()
    print("update %d: reward %.3f loss %.4f" % (number, total, loss))
    return total, loss


def main(epochs):
    ppo, env, memory = PPO(3, 1, 2e-3, 0.99, 3, 0.2), Pendulum(), Memory()
    return [run(ppo, env, memory, n) for n in range(epochs)], ppo.policy


MODEL, STEP, EPOCH = "ActorCritic.evaluate", "PPO.update", "run"
