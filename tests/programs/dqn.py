# SPDX-License-Identifier: Apache-2.0
"""Deep Q-learning with a replay memory that is a deque, a target network and masks for final states."""
import math
import random
from collections import deque, namedtuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 12)
        self.layer2 = nn.Linear(12, 12)
        self.layer3 = nn.Linear(12, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Agent:
    BATCH, GAMMA, START, END, DECAY, TAU = 8, 0.99, 0.9, 0.05, 50, 0.05

    def __init__(self):
        self.policy_net, self.target_net = DQN(4, 2), DQN(4, 2)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.AdamW(self.policy_net.parameters(), lr=1e-3, amsgrad=True)
        self.memory, self.steps_done = ReplayMemory(40), 0

    def select_action(self, state):
        threshold = self.END + (self.START - self.END) * math.exp(-1. * self.steps_done / self.DECAY)
        self.steps_done += 1
        if random.random() > threshold:
            with torch.no_grad():
                return self.policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], dtype=torch.long)

    def optimize_model(self):
        if len(self.memory) < self.BATCH:
            return None
        batch = Transition(*zip(*self.memory.sample(self.BATCH)))
        non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch, action_batch = torch.cat(batch.state), torch.cat(batch.action)
        reward_batch = torch.cat(batch.reward)
        state_action_values = self.policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(self.BATCH)
        with torch.no_grad():
            next_state_values[non_final_mask] = self.target_net(non_final_next_states).max(1).values
        expected = (next_state_values * self.GAMMA) + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()
        return loss.item()

    def soft_update(self):
        target, policy = self.target_net.state_dict(), self.policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * self.TAU + target[key] * (1 - self.TAU)
        self.target_net.load_state_dict(target)

    def episode(self, number):
        state, losses = torch.rand(1, 4) - 0.5, []
        for t in range(10):
            action = self.select_action(state)
            move = 0.3 if action.item() == 1 else -0.3
            observation = state + move * torch.tensor([[1.0, 0.5, 0.0, -0.5]])
            reward = torch.tensor([1.0 - observation.abs().max().item()])
            terminated = bool(observation.abs().max() > 1.0)
            next_state = None if terminated else observation
            self.memory.push(state, action, next_state, reward)
            loss = self.optimize_model()
            if loss is not None:
                losses.append(loss)
            self.soft_update()
            if terminated:
                break
            state = next_state
        print(f"episode {number}: {t + 1} steps, {len(losses)} updates")
        return losses


def main(epochs):
    agent = Agent()
    return [agent.episode(n) for n in range(2 * epochs)], agent.policy_net, agent.target_net


MODEL, STEP, EPOCH = "DQN.forward", "Agent.optimize_model", "Agent.episode"
