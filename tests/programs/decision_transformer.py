# SPDX-License-Identifier: Apache-2.0
"""A decision transformer: returns to go, states and actions interleaved, trained offline, rolled out with a target return."""
import math
import random
import time
from collections import deque
from dataclasses import dataclass, field

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


@dataclass
class Trajectory:
    states: list = field(default_factory=list)
    actions: list = field(default_factory=list)
    rewards: list = field(default_factory=list)

    def __len__(self):
        return len(self.actions)

    @property
    def returns_to_go(self):
        out, total = [], 0.0
        for r in reversed(self.rewards):
            total += r
            out.append(total)
        return out[::-1]


class Corridor:
    """A point on a line that is to reach a goal; two coordinates are seen."""

    def __init__(self, rng, horizon=12):
        self.rng, self.horizon = rng, horizon

    def reset(self):
        self.x, self.goal, self.t = self.rng.uniform(-1, 1), self.rng.choice([-2.0, 2.0]), 0
        return (self.x, self.goal)

    def step(self, action):
        self.x += (-0.5, 0.0, 0.5)[action]
        self.t += 1
        done = abs(self.x - self.goal) < 0.3 or self.t >= self.horizon
        reward = 1.0 if abs(self.x - self.goal) < 0.3 else -0.1
        return (self.x, self.goal), reward, done


CONFIG = dict(context=4, width=16, heads=2, layers=2, dropout=0.1, batch_size=8, lr=3e-3, warmup=4, clip=0.5)


class CausalAttention(nn.Module):
    def __init__(self, width, heads, size, dropout):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(size, size)).view(1, 1, size, size))

    def forward(self, x, pad):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        att = att.masked_fill(pad[:, None, None, :] == 0, -1e9)
        y = self.drop(F.softmax(att, dim=-1)) @ v
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, size, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalAttention(width, heads, size, dropout)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x, pad):
        x = x + self.attn(self.ln1(x), pad)
        return x + self.mlp(self.ln2(x))


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim, n_actions, max_t, context, width, heads, layers, dropout, **unused):
        super().__init__()
        self.context, self.n_actions = context, n_actions
        self.embed_state, self.embed_return = nn.Linear(state_dim, width), nn.Linear(1, width)
        self.embed_action, self.embed_time = nn.Embedding(n_actions + 1, width), nn.Embedding(max_t + 1, width)
        self.ln = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, 3 * context, dropout) for _ in range(layers))
        self.head = nn.Linear(width, n_actions)

    def forward(self, rtg, states, actions, times, mask):
        b, t = actions.shape
        when = self.embed_time(times)
        tokens = [self.embed_return(rtg), self.embed_state(states), self.embed_action(actions)]
        x = torch.stack([tok + when for tok in tokens], dim=2).reshape(b, 3 * t, -1)
        pad = torch.stack([mask, mask, mask], dim=2).reshape(b, 3 * t)
        x = self.ln(x)
        for block in self.blocks:
            x = block(x, pad)
        x = x.reshape(b, t, 3, -1)
        return self.head(x[:, :, 1])

    @torch.no_grad()
    def act(self, rtg, states, actions, times):
        k = self.context
        n = min(len(states), k)
        pad = k - n
        actions = list(actions)[-(n - 1):] if n > 1 else []
        logits = self(torch.tensor([[[0.0]] * pad + [[r] for r in list(rtg)[-n:]]]),
                      torch.tensor([[[0.0, 0.0]] * pad + [list(s) for s in list(states)[-n:]]]),
                      torch.tensor([[self.n_actions] * pad + actions + [self.n_actions]]),
                      torch.tensor([[0] * pad + list(times)[-n:]]),
                      torch.tensor([[0.0] * pad + [1.0] * n]))
        return int(logits[0, -1].argmax())


def sample_batch(trajectories, rng, context, batch_size, n_actions):
    weights = [len(t) for t in trajectories]
    rows = {"rtg": [], "states": [], "actions": [], "times": [], "mask": []}
    for traj in rng.choices(trajectories, weights=weights, k=batch_size):
        start = rng.randrange(len(traj))
        end = min(start + context, len(traj))
        n = end - start
        pad = context - n
        rows["rtg"].append([[0.0]] * pad + [[r] for r in traj.returns_to_go[start:end]])
        rows["states"].append([[0.0, 0.0]] * pad + [list(s) for s in traj.states[start:end]])
        rows["actions"].append([n_actions] * pad + traj.actions[start:end])
        rows["times"].append([0] * pad + list(range(start, end)))
        rows["mask"].append([0.0] * pad + [1.0] * n)
    return {k: torch.tensor(v) for k, v in rows.items()}


def train_step(model, optimizer, scheduler, batch, clip):
    logits = model(**batch)
    keep = batch["mask"].reshape(-1) > 0
    target = batch["actions"].reshape(-1)[keep]
    loss = F.cross_entropy(logits.reshape(-1, model.n_actions)[keep], target)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scheduler.step()
    with torch.no_grad():
        acc = (logits.reshape(-1, model.n_actions)[keep].argmax(-1) == target).float().mean()
    return {"loss": loss.item(), "acc": acc.item(), "norm": float(norm)}


def rollout(model, env, target):
    model.eval()
    state, done, total = env.reset(), False, 0.0
    rtg, states, actions, times = (deque(maxlen=model.context) for _ in range(4))
    while not done:
        rtg.append(target)
        states.append(state)
        times.append(env.t)
        a = model.act(rtg, states, actions, times)
        state, reward, done = env.step(a)
        actions.append(a)
        target -= reward
        total += reward
    model.train()
    return total


def train_epoch(epoch, model, optimizer, scheduler, data, env, rng, config):
    start, history = time.time(), {}
    for _ in range(3):
        batch = sample_batch(data, rng, config["context"], config["batch_size"], model.n_actions)
        for name, value in train_step(model, optimizer, scheduler, batch, config["clip"]).items():
            history.setdefault(name, []).append(value)
    means = {k: sum(v) / len(v) for k, v in history.items()}
    returns = [rollout(model, env, 0.8) for _ in range(2)]
    print(f"[{epoch:02d}] " + " ".join(f"{k}={v:.4f}" for k, v in means.items())
          + f" return={sum(returns) / len(returns):.2f} lr={scheduler.get_last_lr()[0]:.2e} ({time.time() - start:.2f}s)")
    return means, returns


def collect(env, rng, episodes):
    data = []
    for _ in range(episodes):
        traj, state, done = Trajectory(), env.reset(), False
        while not done:
            good = 2 if state[1] > state[0] else 0
            action = good if rng.random() < 0.7 else rng.randrange(3)
            traj.states.append(state)
            state, reward, done = env.step(action)
            traj.actions.append(action)
            traj.rewards.append(reward)
        data.append(traj)
    return data


def main(epochs):
    torch.manual_seed(3)
    rng = random.Random(3)
    env = Corridor(rng)
    data = collect(env, rng, 20)
    model = DecisionTransformer(2, 3, env.horizon, **CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["lr"], weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / CONFIG["warmup"], 1.0))
    out = [train_epoch(e, model, optimizer, scheduler, data, env, rng, CONFIG) for e in range(epochs)]
    return out, model.state_dict()


MODEL, STEP, EPOCH = "DecisionTransformer.forward", "train_step", "train_epoch"
