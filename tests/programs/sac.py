# SPDX-License-Identifier: Apache-2.0
"""Soft actor-critic: two critics, targets moved slowly, a temperature that is learnt; three optimizers in a step."""
import copy
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.distributions import Normal

LOG_STD_MIN, LOG_STD_MAX = -5, 2


class Actor(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs, hidden), nn.Linear(hidden, hidden)
        self.fc_mean, self.fc_logstd = nn.Linear(hidden, act), nn.Linear(hidden, act)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)

    def sample(self, x):
        mean, log_std = self(x)
        normal = Normal(mean, log_std.exp())
        x_t = normal.rsample()
        action = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x, a):
        return self.net(torch.cat([x, a], 1))


class SAC:
    def __init__(self, obs, act, hidden=8, gamma=0.99, tau=0.05):
        self.gamma, self.tau = gamma, tau
        self.actor = Actor(obs, act, hidden)
        self.q1, self.q2 = Critic(obs, act, hidden), Critic(obs, act, hidden)
        self.q1_target, self.q2_target = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.target_entropy = -float(act)
        self.q_opt = torch.optim.Adam(list(self.q1.parameters()) + list(self.q2.parameters()), lr=1e-3)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=1e-3)

    def update(self, obs, actions, rewards, next_obs, dones):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            next_actions, next_log_pi = self.actor.sample(next_obs)
            target = torch.min(self.q1_target(next_obs, next_actions), self.q2_target(next_obs, next_actions))
            target = rewards + (1 - dones) * self.gamma * (target - alpha * next_log_pi)
        q_loss = F.mse_loss(self.q1(obs, actions), target) + F.mse_loss(self.q2(obs, actions), target)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()

        pi, log_pi = self.actor.sample(obs)
        actor_loss = (alpha * log_pi - torch.min(self.q1(obs, pi), self.q2(obs, pi))).mean()
        self.a_opt.zero_grad()
        actor_loss.backward()
        self.a_opt.step()

        alpha_loss = (-self.log_alpha.exp() * (log_pi.detach() + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()

        for net, slow in ((self.q1, self.q1_target), (self.q2, self.q2_target)):
            for param, target_param in zip(net.parameters(), slow.parameters()):
                target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)
        return q_loss.item(), actor_loss.item(), alpha_loss.item()


def train(agent, batches, number):
    start = time.time()
    for i, batch in enumerate(batches):
        losses = agent.update(*batch)
        if i % 2 == 0:
            print(number, i, "q %.4f pi %.4f alpha %.4f" % losses, "%d SPS" % 1, f"{time.time() - start:.3f}s")
    return losses


def main(epochs):
    agent = SAC(3, 2)
    batches = [(torch.randn(6, 3), torch.rand(6, 2) * 2 - 1, torch.randn(6, 1), torch.randn(6, 3),
                (torch.rand(6, 1) > 0.8).float()) for _ in range(3)]
    return [train(agent, batches, e) for e in range(epochs)], agent.actor, agent.q1_target, agent.log_alpha


MODEL, STEP, EPOCH = "Actor.forward", "SAC.update", "train"
