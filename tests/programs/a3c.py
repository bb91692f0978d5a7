# SPDX-License-Identifier: Apache-2.0
"""Advantage actor-critic with a recurrent policy and generalised advantage estimation, one worker."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Maze:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def reset(self):
        self.x, self.t = self.rng.randrange(4), 0
        return self.state()

    def state(self):
        image = torch.zeros(1, 4, 4)
        image[0, self.x, self.t % 4] = 1.0
        return image

    def step(self, action):
        self.x = (self.x + action - 1) % 4
        self.t += 1
        return self.state(), float(self.x == 2), self.t >= 12 or self.rng.random() < 0.05


class ActorCritic(nn.Module):
    def __init__(self, actions):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, stride=1, padding=1)
        self.lstm = nn.LSTMCell(4 * 4 * 4, 8)
        self.critic_linear = nn.Linear(8, 1)
        self.actor_linear = nn.Linear(8, actions)

    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        x = F.elu(self.conv1(inputs))
        x = x.view(-1, 4 * 4 * 4)
        hx, cx = self.lstm(x, (hx, cx))
        return self.critic_linear(hx), self.actor_linear(hx), (hx, cx)


def rollout(model, env, state, hx, cx, steps):
    values, log_probs, rewards, entropies, done = [], [], [], [], False
    for step in range(steps):
        value, logit, (hx, cx) = model((state.unsqueeze(0), (hx, cx)))
        prob, log_prob = F.softmax(logit, dim=-1), F.log_softmax(logit, dim=-1)
        entropies.append(-(log_prob * prob).sum(1, keepdim=True))
        action = prob.multinomial(num_samples=1).detach()
        log_probs.append(log_prob.gather(1, action))
        state, reward, done = env.step(action.item())
        reward = max(min(reward, 1), -1)
        values.append(value)
        rewards.append(reward)
        if done:
            break
    return state, hx, cx, done, values, log_probs, rewards, entropies


def update(model, optimizer, last, values, log_probs, rewards, entropies, gamma=0.99, gae_lambda=1.0):
    values = values + [last]
    policy_loss, value_loss, gae, R = 0, 0, torch.zeros(1, 1), last
    for i in reversed(range(len(rewards))):
        R = gamma * R + rewards[i]
        advantage = R - values[i]
        value_loss = value_loss + 0.5 * advantage.pow(2)
        delta_t = rewards[i] + gamma * values[i + 1].detach() - values[i].detach()
        gae = gae * gamma * gae_lambda + delta_t
        policy_loss = policy_loss - log_probs[i] * gae - 0.01 * entropies[i]
    optimizer.zero_grad()
    (policy_loss + 0.5 * value_loss).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 40)
    optimizer.step()
    return policy_loss.item(), value_loss.item()


def train(model, optimizer, env, updates):
    start = time.time()
    state, done, losses = env.reset(), True, []
    for _ in range(updates):
        if done:
            state = env.reset()
            cx, hx = torch.zeros(1, 8), torch.zeros(1, 8)
        else:
            cx, hx = cx.detach(), hx.detach()
        state, hx, cx, done, *rest = rollout(model, env, state, hx, cx, 5)
        last = torch.zeros(1, 1) if done else model((state.unsqueeze(0), (hx, cx)))[0].detach()
        losses.append(update(model, optimizer, last, *rest))
    print("Time {:.2f} s, policy {:.4f}, value {:.4f}".format(time.time() - start, *losses[-1]))
    return losses


def main(epochs):
    model, env = ActorCritic(3), Maze(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return [train(model, optimizer, env, 4) for _ in range(epochs)], model


MODEL, STEP, EPOCH = "ActorCritic.forward", "update", "train"
