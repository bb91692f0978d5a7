# SPDX-License-Identifier: Apache-2.0
"""Slot attention for scenes of a few objects: iterated attention over slots, a set loss with the best assignment found by branch and bound."""
import math
import random
import time
from collections import OrderedDict

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class SlotAttention(nn.Module):
    def __init__(self, width, slots, iters=3, eps=1e-8):
        super().__init__()
        self.slots, self.iters, self.eps, self.scale = slots, iters, eps, width ** -0.5
        self.mu = nn.Parameter(torch.randn(1, 1, width))
        self.log_sigma = nn.Parameter(torch.zeros(1, 1, width))
        nn.init.xavier_uniform_(self.log_sigma)
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gru = nn.GRUCell(width, width)
        self.mlp = nn.Sequential(OrderedDict(norm=nn.LayerNorm(width), up=nn.Linear(width, 2 * width), act=nn.ReLU(), down=nn.Linear(2 * width, width)))
        self.norm_in, self.norm_slots = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, inputs, slots=None):
        b, n, d = inputs.shape
        slots = slots or self.slots
        mu, sigma = self.mu.expand(b, slots, -1), self.log_sigma.exp().expand(b, slots, -1)
        state = mu + sigma * torch.randn(mu.shape)
        inputs = self.norm_in(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)
        for _ in range(self.iters):
            previous = state
            q = self.to_q(self.norm_slots(state))
            attn = (torch.einsum("bid,bjd->bij", q, k) * self.scale).softmax(dim=1) + self.eps
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum("bjd,bij->bid", v, attn)
            state = self.gru(updates.reshape(-1, d), previous.reshape(-1, d)).reshape(b, -1, d)
            state = state + self.mlp(state)
        return state, attn


class SetModel(nn.Module):
    def __init__(self, channels=3, width=16, slots=4, colours=3, size=6):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        grid = torch.stack(torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij"), dim=-1)
        self.register_buffer("grid", torch.cat([grid, 1 - grid], dim=-1).unsqueeze(0))
        self.position = nn.Linear(4, width)
        self.slot_attention = SlotAttention(width, slots)
        self.head = nn.Linear(width, 1 + colours + 2)

    def forward(self, image):
        x = self.conv(image).permute(0, 2, 3, 1)
        x = (x + self.position(self.grid)).flatten(1, 2)
        slots, attn = self.slot_attention(x)
        return self.head(slots), attn


def assign(cost):
    """The cheapest permutation of a small matrix given as lists."""
    n, best, bestp = len(cost), math.inf, None
    least = [min(row) for row in cost]

    def go(row, used, total, chosen):
        nonlocal best, bestp
        if total + sum(least[row:]) >= best:
            return
        if row == n:
            best, bestp = total, tuple(chosen)
            return
        for j in range(n):
            if j not in used:
                go(row + 1, used | {j}, total + cost[row][j], chosen + [j])
    go(0, frozenset(), 0.0, [])
    return bestp, best


def pairwise(prediction, target):
    real = F.binary_cross_entropy_with_logits(prediction[:, None, 0].expand(-1, len(target)), target[None, :, 0].expand(len(prediction), -1), reduction="none")
    colour = -(F.log_softmax(prediction[:, None, 1:-2], -1) * target[None, :, 1:-2]).sum(-1)
    place = F.smooth_l1_loss(prediction[:, None, -2:].sigmoid().expand(-1, len(target), -1), target[None, :, -2:].expand(len(prediction), -1, -1), reduction="none").sum(-1)
    return real + target[None, :, 0] * (colour + 4 * place)


def train_step(model, optimizer, images, targets):
    prediction, attn = model(images)
    loss, used = 0.0, []
    for p, t in zip(prediction, targets):
        cost = pairwise(p, t)
        match, total = assign(cost.tolist())
        loss = loss + cost[torch.arange(len(match)), torch.tensor(match)].mean()
        used.append(match)
    loss = loss / len(targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    entropy = -(attn * attn.log()).sum(-1).mean()
    return loss.item(), entropy.item(), used


def train_epoch(epoch, model, optimizer, scheduler, batches):
    start, history = time.time(), {"loss": [], "entropy": []}
    perms = set()
    for images, targets in batches:
        loss, entropy, used = train_step(model, optimizer, images, targets)
        history["loss"].append(loss)
        history["entropy"].append(entropy)
        perms.update(used)
    scheduler.step()
    print(f"epoch {epoch}: {', '.join(f'{k} {sum(v) / len(v):.4f}' for k, v in history.items())}, {len(perms)} permutations, took {time.time() - start:.2f} s")
    return history, sorted(perms)


def scene(rng, size=6, slots=4):
    image, rows = torch.rand(3, size, size) * 0.1, []
    for _ in range(rng.randint(1, slots - 1)):
        i, j, c = rng.randrange(size), rng.randrange(size), rng.randrange(3)
        image[c, i, j] = 1.0
        rows.append([1.0] + [float(k == c) for k in range(3)] + [i / size, j / size])
    rows += [[0.0] * 6] * (slots - len(rows))
    return image, torch.tensor(rows)


def main(epochs):
    torch.manual_seed(15)
    rng = random.Random(15)
    batches = []
    for _ in range(3):
        images, targets = zip(*[scene(rng) for _ in range(4)])
        batches.append((torch.stack(images), list(targets)))
    model = SetModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    return [train_epoch(e, model, optimizer, scheduler, batches) for e in range(epochs)], model.state_dict()


MODEL, STEP, EPOCH = "SetModel.forward", "train_step", "train_epoch"
