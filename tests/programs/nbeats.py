# SPDX-License-Identifier: Apache-2.0
"""N-BEATS: stacks of blocks with residuals backward and forecasts forward, trend and seasonality bases, windows drawn at random."""
import logging
import numpy as np
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

log = logging.getLogger(__name__)


class Block(nn.Module):
    def __init__(self, kind, back, fore, width=32, degree=3):
        super().__init__()
        self.kind = kind
        self.layers = nn.Sequential(nn.Linear(back, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        if kind == "trend":
            self.register_buffer("tb", torch.stack([torch.linspace(0, 1, back) ** i for i in range(degree)]))
            self.register_buffer("tf", torch.stack([torch.linspace(1, 2, fore) ** i for i in range(degree)]))
            self.theta = nn.Linear(width, 2 * degree, bias=False)
        elif kind == "season":
            k = torch.arange(1, degree + 1).float().unsqueeze(1)
            t = torch.arange(back + fore).float() / fore
            basis = torch.cat([torch.cos(2 * np.pi * k * t), torch.sin(2 * np.pi * k * t)])
            self.register_buffer("tb", basis[:, :back].clone())
            self.register_buffer("tf", basis[:, back:].clone())
            self.theta = nn.Linear(width, 4 * degree, bias=False)
        else:
            self.theta = nn.Linear(width, back + fore)
            self.sizes = back, fore

    def forward(self, x):
        theta = self.theta(self.layers(x))
        if self.kind == "generic":
            return theta.split(self.sizes, dim=-1)
        b, f = theta.chunk(2, dim=-1)
        return b @ self.tb, f @ self.tf


class NBeats(nn.Module):
    def __init__(self, back=20, fore=5, stacks=("trend", "season", "generic"), blocks=2):
        super().__init__()
        self.back, self.fore = back, fore
        self.stacks = nn.ModuleDict({f"{i}_{kind}": nn.ModuleList(Block(kind, back, fore) for _ in range(blocks)) for i, kind in enumerate(stacks)})
        self.parts = {}

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        residual, forecast = x - mean, mean.expand(-1, self.fore).clone()
        for name, blocks in self.stacks.items():
            part = torch.zeros_like(forecast)
            for block in blocks:
                b, f = block(residual)
                residual = residual - b
                part = part + f
            self.parts[name] = part.detach()
            forecast = forecast + part
        return residual, forecast


def smape(a, b):
    return 200 * ((a - b).abs() / (a.abs() + b.abs() + 1e-6)).mean()


def windows(series, rng, back, fore, n=16):
    for _ in range(5):
        starts = rng.integers(0, len(series) - back - fore, size=n)
        rows = np.stack([series[s:s + back + fore] for s in starts]).astype(np.float32)
        batch = torch.from_numpy(rows)
        yield batch[:, :back], batch[:, back:]


def train_step(model, opt, x, y, clip=1.0):
    model.train()
    residual, forecast = model(x)
    loss = smape(forecast, y) + 0.1 * F.l1_loss(residual, torch.zeros_like(residual))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    if not torch.isfinite(norm):
        log.warning("a gradient is not finite")
        return None
    opt.step()
    return loss.item()


def train_epoch(model, opt, sched, series, rng, epoch):
    losses = [v for x, y in windows(series, rng, model.back, model.fore) if (v := train_step(model, opt, x, y)) is not None]
    sched.step(np.mean(losses))
    model.eval()
    with torch.inference_mode():
        x = torch.tensor(series[None, -model.back - model.fore:-model.fore], dtype=torch.float32)
        _, forecast = model(x)
        error = smape(forecast[0], torch.tensor(series[-model.fore:], dtype=torch.float32)).item()
    log.info("epoch %d", epoch)
    print(f"{epoch:3d} {np.mean(losses):8.3f} {error:8.3f} " + " ".join(f"{k}:{float(v.abs().mean()):.3f}" for k, v in model.parts.items()))
    return losses, error


def main(epochs):
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    t = np.arange(200)
    series = 2 + 0.01 * t + np.sin(t / 5) + 0.1 * rng.standard_normal(200)
    model = NBeats()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    return [train_epoch(model, opt, sched, series, rng, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "NBeats.forward", "train_step", "train_epoch"
