# SPDX-License-Identifier: Apache-2.0
"""A deep equilibrium model: Anderson's acceleration finds the fixed point, a hook of its tensor solves for the gradient."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader, TensorDataset


def anderson(f, x0, m=4, lam=1e-4, max_iter=15, tol=1e-2, beta=1.0):
    bsz, d, h, w = x0.shape
    X = torch.zeros(bsz, m, d * h * w, dtype=x0.dtype, device=x0.device)
    Fx = torch.zeros(bsz, m, d * h * w, dtype=x0.dtype, device=x0.device)
    X[:, 0], Fx[:, 0] = x0.view(bsz, -1), f(x0).view(bsz, -1)
    X[:, 1], Fx[:, 1] = Fx[:, 0], f(Fx[:, 0].view_as(x0)).view(bsz, -1)
    H = torch.zeros(bsz, m + 1, m + 1, dtype=x0.dtype, device=x0.device)
    H[:, 0, 1:] = H[:, 1:, 0] = 1
    y = torch.zeros(bsz, m + 1, 1, dtype=x0.dtype, device=x0.device)
    y[:, 0] = 1
    res = []
    for k in range(2, max_iter):
        n = min(k, m)
        G = Fx[:, :n] - X[:, :n]
        H[:, 1:n + 1, 1:n + 1] = torch.bmm(G, G.transpose(1, 2)) + lam * torch.eye(n, dtype=x0.dtype, device=x0.device)[None]
        alpha = torch.linalg.solve(H[:, :n + 1, :n + 1], y[:, :n + 1])[:, 1:n + 1, 0]
        X[:, k % m] = beta * (alpha[:, None] @ Fx[:, :n])[:, 0] + (1 - beta) * (alpha[:, None] @ X[:, :n])[:, 0]
        Fx[:, k % m] = f(X[:, k % m].view_as(x0)).view(bsz, -1)
        res.append((Fx[:, k % m] - X[:, k % m]).norm().item() / (1e-5 + Fx[:, k % m].norm().item()))
        if res[-1] < tol:
            break
    return X[:, k % m].view_as(x0), res


def forward_iteration(f, x0, max_iter=15, tol=1e-2):
    f0, res = f(x0), []
    for _ in range(max_iter):
        x = f0
        f0 = f(x)
        res.append((f0 - x).norm().item() / (1e-5 + f0.norm().item()))
        if res[-1] < tol:
            break
    return f0, res


class ResNetLayer(nn.Module):
    def __init__(self, n_channels, n_inner, kernel_size=3, num_groups=2):
        super().__init__()
        self.conv1 = nn.Conv2d(n_channels, n_inner, kernel_size, padding=kernel_size // 2, bias=False)
        self.conv2 = nn.Conv2d(n_inner, n_channels, kernel_size, padding=kernel_size // 2, bias=False)
        self.norm1, self.norm2, self.norm3 = nn.GroupNorm(num_groups, n_inner), nn.GroupNorm(num_groups, n_channels), nn.GroupNorm(num_groups, n_channels)
        self.conv1.weight.data.normal_(0, 0.01)
        self.conv2.weight.data.normal_(0, 0.01)

    def forward(self, z, x):
        y = self.norm1(F.relu(self.conv1(z)))
        return self.norm3(F.relu(z + self.norm2(x + self.conv2(y))))


class DEQFixedPoint(nn.Module):
    def __init__(self, f, solver, **kwargs):
        super().__init__()
        self.f, self.solver, self.kwargs = f, solver, kwargs
        self.forward_res, self.backward_res = [], []

    def forward(self, x):
        with torch.no_grad():
            z, self.forward_res = self.solver(lambda z: self.f(z, x), torch.zeros_like(x), **self.kwargs)
        z = self.f(z, x)
        if not self.training:
            return z
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g, self.backward_res = self.solver(lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad, **self.kwargs)
            return g

        z.register_hook(backward_hook)
        return z


class Classifier(nn.Module):
    def __init__(self, channels=4, classes=3, solver=anderson):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels))
        self.deq = DEQFixedPoint(ResNetLayer(channels, 8), solver, tol=1e-2, max_iter=10)
        self.head = nn.Sequential(nn.BatchNorm2d(channels), nn.AvgPool2d(3, 3), nn.Flatten(), nn.Linear(channels * 4, classes))

    def forward(self, x):
        return self.head(self.deq(self.stem(x)))


def train_step(model, opt, X, y):
    yp = model(X)
    loss = nn.CrossEntropyLoss()(yp, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return (yp.max(dim=1)[1] != y).sum().item(), loss.item() * X.shape[0]


def epoch(loader, model, opt=None, lr_scheduler=None):
    total_loss, total_err, steps = 0.0, 0.0, []
    model.eval() if opt is None else model.train()
    for X, y in loader:
        if opt is None:
            with torch.no_grad():
                yp = model(X)
                err, loss = (yp.max(dim=1)[1] != y).sum().item(), F.cross_entropy(yp, y).item() * X.shape[0]
        else:
            err, loss = train_step(model, opt, X, y)
            lr_scheduler.step()
        total_err, total_loss = total_err + err, total_loss + loss
        steps.append((len(model.deq.forward_res), len(model.deq.backward_res)))
    return total_err / len(loader.dataset), total_loss / len(loader.dataset), steps


def run_epoch(number, model, train, test, opt, scheduler):
    start = time.time()
    err, loss, steps = epoch(train, model, opt, scheduler)
    with torch.no_grad():
        test_err, test_loss, _ = epoch(test, model)
    print(f"{number}: train {err:.4f} {loss:.4f} test {test_err:.4f} {test_loss:.4f}, lr {scheduler.get_last_lr()[0]:.5f}, {time.time() - start:.2f}s")
    return err, loss, test_loss


def main(epochs):
    torch.manual_seed(1)
    x = torch.rand(20, 1, 6, 6)
    y = (x.mean(dim=(1, 2, 3)) * 30).long() % 3
    train = DataLoader(TensorDataset(x[:12], y[:12]), batch_size=6, shuffle=True)
    test = DataLoader(TensorDataset(x[12:], y[12:]), batch_size=4)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * len(train), eta_min=1e-6)
    results = [run_epoch(e, model, train, test, opt, scheduler) for e in range(epochs)]
    return results, forward_iteration(lambda z: torch.cos(z), torch.ones(2))[0]


MODEL, STEP, EPOCH = "DEQFixedPoint.forward", "train_step", "run_epoch"
