# SPDX-License-Identifier: Apache-2.0
"""Double, duelling Q-learning with n-step returns, noisy layers and a replay that draws by priority from a sum tree."""
import collections
import math
import random

import numpy as np
import janus
import janus.nn as nn
import janus.nn.functional as F

Transition = collections.namedtuple("Transition", "state action reward next_state done")


class SumTree:
    def __init__(self, capacity):
        self.capacity, self.tree, self.data, self.at, self.size = capacity, np.zeros(2 * capacity - 1), [None] * capacity, 0, 0

    def add(self, priority, item):
        self.data[self.at] = item
        self.update(self.at + self.capacity - 1, priority)
        self.at = (self.at + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def update(self, index, priority):
        change = priority - self.tree[index]
        self.tree[index] = priority
        while index:
            index = (index - 1) // 2
            self.tree[index] += change

    def get(self, value):
        parent = 0
        while 2 * parent + 1 < len(self.tree):
            left = 2 * parent + 1
            if value <= self.tree[left]:
                parent = left
            else:
                value -= self.tree[left]
                parent = left + 1
        return parent, self.tree[parent], self.data[parent - self.capacity + 1]


class NoisyLinear(nn.Module):
    def __init__(self, n_in, n_out, sigma=0.5):
        super().__init__()
        self.n_in, self.n_out = n_in, n_out
        bound = 1 / math.sqrt(n_in)
        self.weight_mu = nn.Parameter(janus.empty(n_out, n_in).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(janus.full((n_out, n_in), sigma * bound))
        self.bias_mu = nn.Parameter(janus.empty(n_out).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(janus.full((n_out,), sigma * bound))
        self.register_buffer("weight_epsilon", janus.zeros(n_out, n_in))
        self.register_buffer("bias_epsilon", janus.zeros(n_out))

    @staticmethod
    def scaled(size):
        x = janus.randn(size)
        return x.sign().mul_(x.abs().sqrt_())

    def reset_noise(self):
        e_in, e_out = self.scaled(self.n_in), self.scaled(self.n_out)
        self.weight_epsilon.copy_(e_out.outer(e_in))
        self.bias_epsilon.copy_(e_out)

    def forward(self, x):
        if self.training:
            return F.linear(x, self.weight_mu + self.weight_sigma * self.weight_epsilon, self.bias_mu + self.bias_sigma * self.bias_epsilon)
        return F.linear(x, self.weight_mu, self.bias_mu)


class Dueling(nn.Module):
    def __init__(self, n_state, n_action, hidden=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_state, hidden), nn.ReLU())
        self.value, self.advantage = NoisyLinear(hidden, 1), NoisyLinear(hidden, n_action)

    def forward(self, x):
        h = self.body(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(dim=1, keepdim=True)

    def reset_noise(self):
        for m in self.modules():
            if isinstance(m, NoisyLinear):
                m.reset_noise()


class Corridor:
    """Walk right to the end; falling back is possible."""

    def reset(self):
        self.x, self.t = 0, 0
        return self.observe()

    def observe(self):
        return np.array([self.x / 5, self.t / 20, float(self.x % 2)], dtype=np.float32)

    def step(self, action):
        self.t += 1
        self.x = min(5, max(0, self.x + (1 if action == 1 and random.random() < 0.9 else -1)))
        return self.observe(), float(self.x == 5), self.x == 5 or self.t >= 15


class Agent:
    def __init__(self, gamma=0.95, n_step=3):
        self.online, self.target = Dueling(3, 2), Dueling(3, 2)
        self.target.load_state_dict(self.online.state_dict())
        self.opt = janus.optim.Adam(self.online.parameters(), lr=3e-3, eps=1.5e-4)
        self.memory, self.gamma, self.n_step, self.beta, self.steps = SumTree(128), gamma, n_step, 0.4, 0
        self.recent = collections.deque(maxlen=n_step)

    @janus.no_grad()
    def act(self, state):
        self.online.reset_noise()
        return self.online(janus.from_numpy(state).unsqueeze(0)).argmax(dim=1).item()

    def remember(self, *step):
        self.recent.append(Transition(*step))
        if len(self.recent) == self.n_step or step[-1]:
            reward = sum(t.reward * self.gamma ** i for i, t in enumerate(self.recent))
            first, last = self.recent[0], self.recent[-1]
            self.memory.add(1.0, Transition(first.state, first.action, reward, last.next_state, last.done))
            if step[-1]:
                self.recent.clear()

    def sample(self, n=16):
        total = self.memory.tree[0]
        picks = [self.memory.get(random.uniform(total * i / n, total * (i + 1) / n)) for i in range(n)]
        index, priority, batch = zip(*picks)
        weights = (self.memory.size * np.array(priority) / total) ** -self.beta
        return index, Transition(*zip(*batch)), janus.as_tensor(weights / weights.max(), dtype=janus.float32)

    def learn(self):
        index, batch, weights = self.sample()
        state = janus.from_numpy(np.stack(batch.state))
        next_state = janus.from_numpy(np.stack(batch.next_state))
        action = janus.tensor(batch.action).unsqueeze(1)
        reward = janus.tensor(batch.reward, dtype=janus.float32)
        alive = 1.0 - janus.tensor(batch.done, dtype=janus.float32)
        q = self.online(state).gather(1, action).squeeze(1)
        with janus.no_grad():
            best = self.online(next_state).argmax(dim=1, keepdim=True)
            wanted = reward + alive * self.gamma ** self.n_step * self.target(next_state).gather(1, best).squeeze(1)
        error = wanted - q
        loss = (weights * F.huber_loss(q, wanted, reduction="none")).mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.opt.step()
        for i, e in zip(index, error.detach().abs().tolist()):
            self.memory.update(i, (e + 1e-5) ** 0.6)
        return loss.item()


def run_epoch(epoch, agent, env):
    score, losses = 0.0, []
    for _ in range(3):
        state, done = env.reset(), False
        while not done:
            action = agent.act(state)
            nxt, reward, done = env.step(action)
            agent.remember(state, action, reward, nxt, done)
            state, score = nxt, score + reward
            agent.steps += 1
            if agent.memory.size >= 32 and agent.steps % 2 == 0:
                losses.append(agent.learn())
            if agent.steps % 25 == 0:
                agent.target.load_state_dict(agent.online.state_dict())
    agent.beta = min(1.0, agent.beta + 0.02)
    print(f"epoch={epoch} score={score:.1f} loss={np.mean(losses) if losses else float('nan'):.4f} beta={agent.beta:.2f}")
    return score


def main(epochs):
    janus.manual_seed(11)
    random.seed(11)
    agent, env = Agent(), Corridor()
    return [run_epoch(e, agent, env) for e in range(epochs)]


MODEL, STEP, EPOCH = "Dueling.forward", "Agent.learn", "run_epoch"
