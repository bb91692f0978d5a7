# SPDX-License-Identifier: Apache-2.0
"""Cooperating agents: recurrent Q functions mixed by a hypernetwork that reads the state, episodes padded and masked, epsilon that decays."""
import random
import time
from collections import deque

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Meeting:
    """Agents on a line are rewarded when all stand at the same place."""
    n_agents, n_actions, size, limit = 2, 3, 4, 7

    def reset(self):
        self.places = [random.randrange(self.size) for _ in range(self.n_agents)]
        self.t = 0
        return self.get_obs(), self.get_state()

    def get_obs(self):
        return [[float(p == i) for i in range(self.size)] + [float(k)] for k, p in enumerate(self.places)]

    def get_state(self):
        return [p / self.size for p in self.places] + [self.t / self.limit]

    def get_avail_actions(self):
        return [[int(0 <= p + a - 1 < self.size) for a in range(self.n_actions)] for p in self.places]

    def step(self, actions):
        self.places = [p + a - 1 for p, a in zip(self.places, actions)]
        self.t += 1
        met = len(set(self.places)) == 1
        return (1.0 if met else -0.1), met or self.t >= self.limit, {"battle_won": met}


class RNNAgent(nn.Module):
    def __init__(self, inputs, hidden, n_actions):
        super().__init__()
        self.fc1, self.rnn, self.fc2 = nn.Linear(inputs, hidden), nn.GRUCell(hidden, hidden), nn.Linear(hidden, n_actions)
        self.hidden = hidden

    def init_hidden(self):
        return self.fc1.weight.new_zeros(1, self.hidden)

    def forward(self, inputs, hidden):
        x = F.relu(self.fc1(inputs))
        h = self.rnn(x, hidden.reshape(-1, self.hidden))
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self, n_agents, state_dim, embed=8):
        super().__init__()
        self.n_agents, self.state_dim, self.embed = n_agents, state_dim, embed
        self.hyper_w_1, self.hyper_b_1 = nn.Linear(state_dim, embed * n_agents), nn.Linear(state_dim, embed)
        self.hyper_w_final = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, embed))
        self.V = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, qs, states):
        bs = qs.size(0)
        states = states.reshape(-1, self.state_dim)
        qs = qs.view(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, self.n_agents, self.embed)
        b1 = self.hyper_b_1(states).view(-1, 1, self.embed)
        hidden = F.elu(torch.bmm(qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, self.embed, 1)
        return (torch.bmm(hidden, w_final) + self.V(states).view(-1, 1, 1)).view(bs, -1, 1)


class EpsilonSchedule:
    def __init__(self, start=1.0, end=0.05, steps=60):
        self.start, self.end, self.steps, self.t = start, end, steps, 0

    def __call__(self):
        self.t += 1
        return max(self.end, self.start - (self.start - self.end) * self.t / self.steps)


def select(q, avail, epsilon):
    q = q.clone()
    q[avail == 0] = -float("inf")
    picked = []
    for k in range(q.size(0)):
        if random.random() < epsilon:
            picked.append(random.choice([a for a in range(q.size(1)) if avail[k, a]]))
        else:
            picked.append(q[k].argmax().item())
    return picked


@torch.no_grad()
def rollout(env, agent, epsilon):
    (obs, state), episode, done, total = env.reset(), [], False, 0.0
    hidden = agent.init_hidden().expand(env.n_agents, -1)
    while not done:
        avail = env.get_avail_actions()
        q, hidden = agent(torch.tensor(obs), hidden)
        actions = select(q, torch.tensor(avail), epsilon())
        reward, done, info = env.step(actions)
        episode.append({"obs": obs, "state": state, "actions": actions, "avail": avail, "reward": reward, "done": done and info["battle_won"]})
        obs, state = env.get_obs(), env.get_state()
        total += reward
    episode.append({"obs": obs, "state": state, "actions": [1] * env.n_agents, "avail": env.get_avail_actions(), "reward": 0.0, "done": True})
    return episode, total


def stack_episodes(episodes):
    longest = max(len(e) for e in episodes)
    batch = {}
    for key in episodes[0][0]:
        padded = [[step[key] for step in e] + [e[-1][key]] * (longest - len(e)) for e in episodes]
        batch[key] = torch.tensor(padded)
    batch["filled"] = torch.tensor([[1.0] * (len(e) - 1) + [0.0] * (longest - len(e)) for e in episodes])
    return batch


def unroll(agent, obs):
    b, t, n, d = obs.shape
    hidden, outs = agent.init_hidden().expand(b * n, -1), []
    for k in range(t):
        q, hidden = agent(obs[:, k].reshape(b * n, d), hidden)
        outs.append(q.view(b, n, -1))
    return torch.stack(outs, dim=1)


def learn(agent, mixer, targets, optimizer, episodes, gamma=0.95):
    batch = stack_episodes(episodes)
    rewards, mask, done = batch["reward"][:, :-1].unsqueeze(-1), batch["filled"].unsqueeze(-1), batch["done"][:, :-1].float().unsqueeze(-1)
    mac_out = unroll(agent, batch["obs"])
    chosen = torch.gather(mac_out[:, :-1], dim=3, index=batch["actions"][:, :-1].unsqueeze(3)).squeeze(3)
    with torch.no_grad():
        target_out = unroll(targets[0], batch["obs"])[:, 1:]
        live = mac_out.clone().detach()
        live[batch["avail"] == 0] = -9999999
        best = live[:, 1:].max(dim=3, keepdim=True)[1]
        target_max = torch.gather(target_out, 3, best).squeeze(3)
        goal = rewards + gamma * (1 - done) * targets[1](target_max, batch["state"][:, 1:])
    td_error = (mixer(chosen, batch["state"][:, :-1]) - goal) * mask.expand_as(goal)
    loss = (td_error ** 2).sum() / mask.sum()
    optimizer.zero_grad()
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 10)
    optimizer.step()
    return loss.item(), grad_norm.item()


def train_epoch(epoch, env, agent, mixer, targets, optimizer, memory, epsilon):
    start, returns = time.time(), []
    for _ in range(4):
        episode, total = rollout(env, agent, epsilon)
        memory.append(episode)
        returns.append(total)
    stats = [learn(agent, mixer, targets, optimizer, random.sample(memory, min(4, len(memory)))) for _ in range(2)]
    if epoch % 2 == 0:
        for target, source in zip(targets, (agent, mixer)):
            target.load_state_dict(source.state_dict())
    loss, norm = (sum(s) / len(s) for s in zip(*stats))
    print(f"episode {4 * (epoch + 1)} return {sum(returns) / 4:+.3f} loss {loss:.4f} grad_norm {norm:.3f} eps {epsilon.t} ({time.time() - start:.2f}s)")
    return loss


def main(epochs):
    torch.manual_seed(2)
    random.seed(2)
    env, epsilon, memory = Meeting(), EpsilonSchedule(), deque(maxlen=16)
    make = (lambda: RNNAgent(env.size + 1, 12, env.n_actions)), (lambda: QMixer(env.n_agents, env.n_agents + 1))
    agent, mixer = (m() for m in make)
    targets = [m() for m in make]
    optimizer = torch.optim.RMSprop([*agent.parameters(), *mixer.parameters()], lr=5e-3, alpha=0.99, eps=1e-5)
    return [train_epoch(e, env, agent, mixer, targets, optimizer, memory, epsilon) for e in range(epochs)], agent, mixer


MODEL, STEP, EPOCH = "QMixer.forward", "learn", "train_epoch"
