# SPDX-License-Identifier: Apache-2.0
"""A VAE with categorical latents: Gumbel-softmax, a temperature that cools, straight-through samples and codes that are counted."""
import math

import janus as torch
from janus import nn, optim
from janus.nn import functional as F


def sample_gumbel(shape, eps=1e-20):
    u = torch.rand(shape)
    return -torch.log(-torch.log(u + eps) + eps)


def gumbel_softmax(logits, temperature, hard=False):
    y = F.softmax((logits + sample_gumbel(logits.size())) / temperature, dim=-1)
    if not hard:
        return y
    shape = y.size()
    _, ind = y.max(dim=-1)
    y_hard = torch.zeros_like(y).view(-1, shape[-1])
    y_hard.scatter_(1, ind.view(-1, 1), 1)
    y_hard = y_hard.view(*shape)
    return (y_hard - y).detach() + y


class VAE(nn.Module):
    def __init__(self, d=20, n=4, k=5):
        super().__init__()
        self.n, self.k = n, k
        self.encoder = nn.Sequential(nn.Linear(d, 32), nn.ELU(), nn.Linear(32, n * k))
        self.decoder = nn.Sequential(nn.Linear(n * k, 32), nn.ELU(), nn.Linear(32, d), nn.Sigmoid())

    def forward(self, x, temperature, hard):
        q = self.encoder(x)
        q_y = q.view(q.size(0), self.n, self.k)
        z = gumbel_softmax(q_y, temperature, hard)
        z = z.view(-1, self.n * self.k)
        return self.decoder(z), F.softmax(q_y, dim=-1).reshape(*q.size())


def loss_function(recon, x, qy, k):
    bce = F.binary_cross_entropy(recon, x, reduction="sum") / x.shape[0]
    log_ratio = torch.log(qy * k + 1e-20)
    kld = torch.sum(qy * log_ratio, dim=-1).mean()
    return bce + kld, bce, kld


def train_step(model, optimizer, data, temp, hard):
    optimizer.zero_grad()
    recon, qy = model(data, temp, hard)
    loss, bce, kld = loss_function(recon, data, qy, model.k)
    loss.backward()
    optimizer.step()
    return loss.item(), {"bce": bce.item(), "kld": kld.item()}


def run_epoch(epoch, model, optimizer, batches, state):
    model.train()
    sums = {}
    for batch_idx, data in enumerate(batches):
        loss, parts = train_step(model, optimizer, data, state["temp"], epoch % 3 == 2)
        for key, value in parts.items():
            sums[key] = sums.get(key, 0.0) + value
        if batch_idx % 4 == 1:
            state["temp"] = max(state["temp"] * math.exp(-3e-3 * (batch_idx + 1)), 0.5)
        if batch_idx % 3 == 0:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.4f}".format(
                epoch, batch_idx * len(data), len(batches) * len(data), 100.0 * batch_idx / len(batches), loss))
    model.eval()
    with torch.no_grad():
        codes = model.encoder(batches[0]).view(-1, model.n, model.k).argmax(-1)
        used = len({tuple(c) for c in codes.tolist()})
        ind = torch.zeros(4, model.n, model.k)
        ind[torch.arange(4).unsqueeze(1), torch.arange(model.n), torch.randint(model.k, (4, model.n))] = 1.0
        sample = model.decoder(ind.view(4, -1))
    print("====> " + ", ".join(f"{k}: {v / len(batches):.3f}" for k, v in sums.items()) + f" codes {used} mean {sample.mean().item():.3f}")
    return sums["bce"]


def main(epochs):
    torch.manual_seed(1)
    proto = (torch.rand(6, 20) > 0.5).float()
    flip = lambda x: torch.where(torch.rand_like(x) < 0.05, 1 - x, x)
    batches = [flip(proto[torch.randint(6, (16,))]) for _ in range(6)]
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    state = {"temp": 1.0}
    return [run_epoch(e, model, optimizer, batches, state) for e in range(epochs)], state["temp"]


MODEL, STEP, EPOCH = "VAE.forward", "train_step", "run_epoch"
