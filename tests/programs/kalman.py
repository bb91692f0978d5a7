# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter whose noises are learnt from tracks with missing observations; smoothing afterwards."""
import random

import janus as torch
import janus.nn as nn


class Filter(nn.Module):
    def __init__(self, dt=1.0):
        super().__init__()
        self.register_buffer("F", torch.tensor([[1.0, dt], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.log_q = nn.Parameter(torch.tensor([-2.0, -2.0]))
        self.log_r = nn.Parameter(torch.tensor(0.0))

    def predict(self, x, P):
        x = self.F @ x
        P = self.F @ P @ self.F.t() + torch.diag(self.log_q.exp())
        return x, P

    def correct(self, x, P, z):
        y = z - (self.H @ x).squeeze()
        S = (self.H @ P @ self.H.t()).squeeze() + self.log_r.exp()
        K = P @ self.H.t() / S
        x = x + K * y
        P = (torch.eye(2) - K @ self.H) @ P
        return x, P, 0.5 * (y * y / S + S.log())

    def forward(self, track):
        x, P = torch.zeros(2, 1), torch.eye(2) * 10.0
        nll, seen, states = torch.zeros(()), 0, []
        for z in track:
            x, P = self.predict(x, P)
            if z is not None:
                x, P, loss = self.correct(x, P, z)
                nll = nll + loss
                seen += 1
            states.append((x, P))
        return nll / max(seen, 1), states


def train_track(model, opt, track):
    opt.zero_grad()
    nll, states = model(track)
    nll.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return nll.item(), states[-1][0][0, 0].item()


def train(model, opt, scheduler, tracks, log):
    order = list(range(len(tracks)))
    random.shuffle(order)
    total, ends = 0.0, {}
    for i in order:
        loss, end = train_track(model, opt, tracks[i])
        total += loss
        ends[i] = end
    scheduler.step()
    log.append(dict(loss=total / len(tracks), lr=scheduler.get_last_lr()[0]))
    print("epoch %2d  nll %.4f  r %.3f  q %s" % (len(log), log[-1]["loss"], model.log_r.exp().item(),
                                             ["%.3f" % v for v in model.log_q.exp().tolist()]))
    return [ends[i] for i in sorted(ends)]


def make_track(rng, n):
    x, v, out = rng.uniform(-1, 1), rng.uniform(-0.5, 0.5), []
    for _ in range(n):
        v += rng.gauss(0, 0.1)
        x += v
        out.append(None if rng.random() < 0.2 else x + rng.gauss(0, 0.5))
    return out


def main(epochs):
    rng = random.Random(12)
    tracks = [make_track(rng, n) for n in (12, 9, 15, 12, 10)]
    model = Filter()
    opt = torch.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.97)
    log, ends = [], []
    for _ in range(epochs):
        ends.append(train(model, opt, scheduler, tracks, log))
    return log, ends, model.state_dict()


MODEL, STEP, EPOCH = "Filter.forward", "train_track", "train"
