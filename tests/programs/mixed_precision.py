# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: autocast around the forward pass, a scaler around the backward pass."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.amp import GradScaler, autocast


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.norm = nn.LayerNorm(sizes[-2])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.gelu(layer(x))
        return self.layers[-1](self.norm(x))


def train_step(model, optimizer, scaler, x, y):
    optimizer.zero_grad(set_to_none=True)
    with autocast(device_type="cpu", dtype=torch.bfloat16):
        output = model(x)
        loss = F.mse_loss(output.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def train_epoch(model, optimizer, scaler, data, epoch):
    start, total = time.perf_counter(), torch.zeros(())
    for x, y in data:
        total += train_step(model, optimizer, scaler, x, y)
    print(f"epoch {epoch}: {total.item() / len(data):.2f} scale {scaler.get_scale():.0f} "
          f"{(time.perf_counter() - start) * 1e3:.1f} ms")
    return scaler.get_scale()


def main(epochs):
    data = [(torch.randn(4, 6), torch.randn(4, 3)) for _ in range(3)]
    model = MLP([6, 12, 12, 3])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    scaler = GradScaler(init_scale=1024.0, growth_interval=4)
    scales = [train_epoch(model, optimizer, scaler, data, e) for e in range(epochs)]
    return scales, [p.shape for p in model.parameters()]


MODEL, STEP, EPOCH = "MLP.forward", "train_step", "train_epoch"
