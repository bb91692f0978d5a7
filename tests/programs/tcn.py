# SPDX-License-Identifier: Apache-2.0
"""Series forecast by dilated causal convolutions: a scaler, windows, teacher-free roll-out, patience and the best weights put back."""
import copy
import io

import numpy as np
import janus as torch
import janus.nn as nn


class StandardScaler:
    def fit(self, x):
        self.mean, self.std = x.mean(0, keepdim=True), x.std(0, keepdim=True) + 1e-6
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def inverse(self, x):
        return x * self.std + self.mean


class Chomp1d(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, :-self.size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_in, n_out, kernel, dilation, dropout=0.1):
        super().__init__()
        pad = (kernel - 1) * dilation
        self.net = nn.Sequential(
            nn.Conv1d(n_in, n_out, kernel, padding=pad, dilation=dilation), Chomp1d(pad), nn.ReLU(), nn.Dropout(dropout),
            nn.Conv1d(n_out, n_out, kernel, padding=pad, dilation=dilation), Chomp1d(pad), nn.ReLU(), nn.Dropout(dropout))
        self.downsample = nn.Conv1d(n_in, n_out, 1) if n_in != n_out else None
        self.relu = nn.ReLU()

    def forward(self, x):
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(self.net(x) + res)


class TCN(nn.Module):
    def __init__(self, features, channels=(8, 8, 12), kernel=3):
        super().__init__()
        layers = []
        for level, out in enumerate(channels):
            layers.append(TemporalBlock(features if level == 0 else channels[level - 1], out, kernel, 2 ** level))
        self.network = nn.Sequential(*layers)
        self.head = nn.Linear(channels[-1], features)

    def forward(self, x):
        return self.head(self.network(x.transpose(1, 2))[:, :, -1])


class EarlyStopping:
    def __init__(self, patience=4, min_delta=1e-3):
        self.patience, self.min_delta, self.best, self.wait, self.stop = patience, min_delta, np.inf, 0, False
        self.buffer = None

    def __call__(self, value, model):
        if value < self.best - self.min_delta:
            self.best, self.wait = value, 0
            self.buffer = io.BytesIO()
            torch.save(model.state_dict(), self.buffer)
        else:
            self.wait += 1
            self.stop = self.wait >= self.patience
        return self.stop


def windows(series, length):
    return torch.stack([series[i:i + length] for i in range(len(series) - length)]), series[length:]


def train_step(model, opt, sched, xb, yb, loss_fn):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    return loss.item(), float(norm)


def rollout(model, window, steps):
    out = []
    for _ in range(steps):
        nxt = model(window.unsqueeze(0)).squeeze(0)
        out.append(nxt)
        window = torch.cat([window[1:], nxt.unsqueeze(0)])
    return torch.stack(out)


def run_epoch(epoch, model, opt, sched, train, valid, stopper, scaler):
    if stopper.stop:
        stopper.buffer.seek(0)
        model.load_state_dict(torch.load(stopper.buffer))
        stopper.wait, stopper.stop = 0, False
        print("restored")
    model.train()
    x, y = train
    perm = torch.randperm(len(x))
    losses = []
    for i in range(0, len(x), 16):
        idx = perm[i:i + 16]
        loss, norm = train_step(model, opt, sched, x[idx], y[idx], nn.SmoothL1Loss(beta=0.5))
        losses.append(loss)
    model.eval()
    with torch.no_grad():
        vx, vy = valid
        pred = model(vx)
        val = (scaler.inverse(pred) - scaler.inverse(vy)).abs().mean().item()
        future = rollout(model, vx[-1], 4)
    stopper(val, model)
    print("epoch %d train %.4f val mae %.4f norm %.2f lr %.2e next %s" % (
        epoch, np.mean(losses), val, norm, opt.param_groups[0]["lr"], [round(v, 2) for v in future[:, 0].tolist()]))
    return val


def main(epochs):
    torch.manual_seed(2)
    t = torch.arange(120, dtype=torch.float32)
    series = torch.stack([torch.sin(t / 5) + 0.1 * torch.randn(120), torch.cos(t / 9) * 3 + 1], dim=1)
    scaler = StandardScaler().fit(series[:90])
    scaled = scaler.transform(series)
    train, valid = windows(scaled[:90], 12), windows(scaled[78:], 12)
    model = TCN(2)
    best = copy.deepcopy(model)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=20)
    stopper = EarlyStopping()
    out = [run_epoch(e, model, opt, sched, train, valid, stopper, scaler) for e in range(epochs)]
    drift = sum((a - b).abs().sum().item() for a, b in zip(model.parameters(), best.parameters()))
    return out, round(drift, 2)


MODEL, STEP, EPOCH = "TCN.forward", "train_step", "run_epoch"
