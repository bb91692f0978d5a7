# SPDX-License-Identifier: Apache-2.0
"""Blind deconvolution of one-dimensional signals: unrolled proximal steps with learned thresholds, a kernel estimated beside the signal, restarts kept by their residual."""
import copy
import heapq
import math

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Blur:
    """A forward model: y = k * x + noise, with circular borders."""

    def __init__(self, length, taps, noise=0.01):
        self.length, self.taps, self.noise = length, taps, noise

    def apply(self, x, kernel):
        padded = F.pad(x.unsqueeze(1), (self.taps // 2, self.taps // 2), mode="circular")
        return F.conv1d(padded, kernel.view(1, 1, -1)).squeeze(1)

    def adjoint(self, r, kernel):
        return self.apply(r, kernel.flip(0))

    def sample(self, n, kernel):
        x = torch.zeros(n, self.length)
        for row in x:
            for _ in range(3):
                at = torch.randint(0, self.length, (1,)).item()
                row[at] += torch.randn(()).item() + math.copysign(1.0, row[at].item())
        return x, self.apply(x, kernel) + self.noise * torch.randn(n, self.length)


def shrink(x, threshold):
    return x.sign() * F.relu(x.abs() - threshold)


class Layer(nn.Module):
    def __init__(self, step=0.5, threshold=0.05):
        super().__init__()
        self.log_step = nn.Parameter(torch.tensor(math.log(step)))
        self.raw = nn.Parameter(torch.tensor(math.log(math.expm1(threshold))))

    def forward(self, x, y, kernel, blur):
        r = y - blur.apply(x, kernel)
        return shrink(x + self.log_step.exp() * blur.adjoint(r, kernel), F.softplus(self.raw)), r


class Unrolled(nn.Module):
    def __init__(self, blur, depth=5):
        super().__init__()
        self.blur = blur
        self.logits = nn.Parameter(-0.3 * (torch.arange(blur.taps) - blur.taps // 2).float() ** 2)
        self.layers = nn.ModuleList(Layer() for _ in range(depth))
        self.mix = nn.Parameter(torch.zeros(depth))

    @property
    def kernel(self):
        return self.logits.softmax(0)

    def forward(self, y, x=None, tol=1e-3):
        x = torch.zeros_like(y) if x is None else x
        kernel, momentum, norms = self.kernel, torch.zeros_like(y), []
        for layer, weight in zip(self.layers, self.mix.sigmoid()):
            new, r = layer(x + weight * momentum, y, kernel, self.blur)
            momentum, x = new - x, new
            norms.append(r.pow(2).mean().sqrt())
            if norms[-1] < tol:
                break
        return x, norms


class Restarts:
    """The best few of all models there were, by residual."""

    def __init__(self, keep=3):
        self.keep, self.heap, self.count = keep, [], 0

    def offer(self, residual, model):
        self.count += 1
        heapq.heappush(self.heap, (-residual, self.count, copy.deepcopy(model.state_dict())))
        if len(self.heap) > self.keep:
            heapq.heappop(self.heap)

    def best(self):
        residual, number, state = max(self.heap)
        return -residual, number, state


def train_step(model, optimizer, x, y, weights):
    guess, norms = model(y)
    fit = F.mse_loss(model.blur.apply(guess, model.kernel), y)
    loss = weights["signal"] * F.smooth_l1_loss(guess, x) + weights["fit"] * fit
    for n, norm in enumerate(norms):
        loss = loss + weights["path"] * 0.5 ** (len(norms) - n) * norm
    if weights.get("sparse"):
        loss = loss + weights["sparse"] * guess.abs().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    largest = max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None)
    if largest > 5.0:
        nn.utils.clip_grad_value_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item(), [n.item() for n in norms], largest


@torch.no_grad()
def evaluate(model, x, y, truth):
    guess, norms = model(y)
    support = guess.abs() > 0.2
    wanted = x.abs() > 0.2
    hits, said, there = (support & wanted).sum(), support.sum(), wanted.sum()
    f1 = 2 * hits / (said + there).clamp(min=1)
    off = (model.kernel - truth).abs().sum()
    return {"f1": f1.item(), "kernel": off.item(), "residual": norms[-1].item()}


def epoch(number, model, optimizer, blur, truth, restarts, held):
    weights = {"signal": 1.0, "fit": 0.5, "path": 0.1}
    if number >= 2:
        weights["sparse"] = 0.02
    trace = []
    for _ in range(5):
        x, y = blur.sample(6, truth)
        trace.append(train_step(model, optimizer, x, y, weights))
    scores = evaluate(model, *held, truth)
    restarts.offer(scores["residual"], model)
    print(f"{number:3d} | " + " ".join(f"{k}={v:.3f}" for k, v in scores.items()) + f" | largest gradient {max(t[2] for t in trace):.3f}")
    return trace, scores


def main(epochs):
    torch.manual_seed(9)
    blur = Blur(24, 5)
    truth = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1])
    held = blur.sample(8, truth)
    model, restarts = Unrolled(blur), Restarts()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    out = [epoch(i, model, optimizer, blur, truth, restarts, held) for i in range(epochs)]
    residual, number, state = restarts.best()
    model.load_state_dict(state)
    return out, residual, number, model


MODEL, STEP, EPOCH = "Unrolled.forward", "train_step", "epoch"
