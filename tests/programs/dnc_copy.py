# SPDX-License-Identifier: Apache-2.0
"""A differentiable neural computer (Graves et al. 2016) on the copy task, sequences of many lengths."""
import random
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class DNCState(NamedTuple):
    controller: tuple
    memory: torch.Tensor
    usage: torch.Tensor
    precedence: torch.Tensor
    link: torch.Tensor
    write_w: torch.Tensor
    read_w: torch.Tensor
    reads: torch.Tensor


@dataclass(frozen=True)
class Config:
    bits: int = 4
    slots: int = 8
    width: int = 6
    heads: int = 2
    hidden: int = 20
    lr: float = 1e-2
    clip: float = 5.0
    sizes: dict = field(default_factory=dict)


class Interface(nn.Module):
    """Splits the controller's output into the named parts of the interface vector."""

    def __init__(self, hidden, width, heads):
        super().__init__()
        self.parts = {
            "read_keys": width * heads, "read_strengths": heads, "write_key": width, "write_strength": 1,
            "erase": width, "write": width, "free": heads, "alloc_gate": 1, "write_gate": 1, "modes": 3 * heads,
        }
        self.width, self.heads = width, heads
        self.linear = nn.Linear(hidden, sum(self.parts.values()))

    def forward(self, h):
        pieces = dict(zip(self.parts, self.linear(h).split(list(self.parts.values()), dim=-1)))
        b = h.shape[0]
        pieces["read_keys"] = pieces["read_keys"].view(b, self.heads, self.width)
        pieces["modes"] = pieces["modes"].view(b, self.heads, 3).softmax(-1)
        for name in ("read_strengths", "write_strength"):
            pieces[name] = 1 + F.softplus(pieces[name])
        for name in ("erase", "free", "alloc_gate", "write_gate"):
            pieces[name] = torch.sigmoid(pieces[name])
        return pieces


def content(memory, keys, strengths, eps=1e-6):
    dot = keys @ memory.transpose(1, 2)
    norm = keys.norm(dim=-1, keepdim=True) * memory.norm(dim=-1).unsqueeze(1)
    return (dot / (norm + eps) * strengths.unsqueeze(-1)).softmax(-1)


def allocation(usage, eps=1e-6):
    usage = eps + (1 - eps) * usage
    ordered, index = usage.sort(dim=-1)
    shifted = torch.cat([torch.ones_like(ordered[:, :1]), ordered[:, :-1]], dim=-1)
    ranked = (1 - ordered) * shifted.cumprod(-1)
    return torch.zeros_like(usage).scatter(1, index, ranked)


class DNC(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.cell = nn.LSTMCell(cfg.bits + 2 + cfg.heads * cfg.width, cfg.hidden)
        self.interface = Interface(cfg.hidden, cfg.width, cfg.heads)
        self.out = nn.Linear(cfg.hidden + cfg.heads * cfg.width, cfg.bits)

    def initial(self, b):
        c = self.cfg
        zero = torch.zeros
        return DNCState((zero(b, c.hidden), zero(b, c.hidden)), zero(b, c.slots, c.width), zero(b, c.slots),
                        zero(b, c.slots), zero(b, c.slots, c.slots), zero(b, c.slots), zero(b, c.heads, c.slots),
                        zero(b, c.heads, c.width))

    def write(self, s, p):
        retention = (1 - p["free"].unsqueeze(-1) * s.read_w).prod(dim=1)
        usage = (s.usage + s.write_w - s.usage * s.write_w) * retention
        by_content = content(s.memory, p["write_key"].unsqueeze(1), p["write_strength"]).squeeze(1)
        gate = p["alloc_gate"]
        w = p["write_gate"] * (gate * allocation(usage) + (1 - gate) * by_content)
        memory = s.memory * (1 - w.unsqueeze(-1) * p["erase"].unsqueeze(1)) + w.unsqueeze(-1) * p["write"].unsqueeze(1)
        wi, wj = w.unsqueeze(2), w.unsqueeze(1)
        link = (1 - wi - wj) * s.link + wi * s.precedence.unsqueeze(1)
        link = link * (1 - torch.eye(self.cfg.slots))
        precedence = (1 - w.sum(-1, keepdim=True)) * s.precedence + w
        return s._replace(memory=memory, usage=usage, write_w=w, link=link, precedence=precedence)

    def read(self, s, p):
        forward = s.read_w @ s.link.transpose(1, 2)
        backward = s.read_w @ s.link
        by_content = content(s.memory, p["read_keys"], p["read_strengths"])
        modes = p["modes"]
        w = sum(modes[..., i:i + 1] * part for i, part in enumerate((backward, by_content, forward)))
        return s._replace(read_w=w, reads=w @ s.memory)

    def step(self, x, s):
        h, c = self.cell(torch.cat([x, s.reads.flatten(1)], -1), s.controller)
        p = self.interface(h)
        s = self.read(self.write(s._replace(controller=(h, c)), p), p)
        return self.out(torch.cat([h, s.reads.flatten(1)], -1)), s

    def forward(self, sequence, answer_length):
        b, length, _ = sequence.shape
        state = self.initial(b)
        for t in range(length):
            _, state = self.step(sequence[:, t], state)
        blank = torch.zeros(b, sequence.shape[-1])
        blank[:, -1] = 1.0
        outputs = []
        for _ in range(answer_length):
            y, state = self.step(blank, state)
            outputs.append(y)
        return torch.stack(outputs, 1), state


def copy_task(bits, batch, lengths):
    while True:
        n = random.choice(lengths)
        data = torch.randint(0, 2, (batch, n, bits)).float()
        x = torch.zeros(batch, n + 1, bits + 2)
        x[:, :n, :bits] = data
        x[:, n, bits] = 1.0
        yield x, data


def train_step(model, optimizer, x, y, clip):
    logits, state = model(x, y.shape[1])
    loss = F.binary_cross_entropy_with_logits(logits, y)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    wrong = ((logits > 0).float() != y).sum().item()
    return {"loss": loss.item(), "norm": float(norm), "wrong": wrong / y.numel(), "used": state.usage.mean().item()}


def run_epoch(number, model, optimizer, tasks, cfg, batches=6):
    rows = [train_step(model, optimizer, *next(tasks), cfg.clip) for _ in range(batches)]
    means = {k: sum(r[k] for r in rows) / len(rows) for k in rows[0]}
    print(f"epoch {number:>2d} | " + " | ".join(f"{k} {v:.4f}" for k, v in means.items()))
    return means


def main(epochs):
    cfg = replace(Config(), hidden=16)
    model = DNC(cfg)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.lr, momentum=0.9)
    tasks = copy_task(cfg.bits, 3, range(1, 5))
    history = [run_epoch(n, model, optimizer, tasks, cfg) for n in range(1, epochs + 1)]
    return history, model.state_dict(), cfg


MODEL, STEP, EPOCH = "DNC.forward", "train_step", "run_epoch"
