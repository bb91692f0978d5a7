# SPDX-License-Identifier: Apache-2.0
"""A state-space language model: a selective scan over time by a loop, depthwise causal convolution, gated residuals; trained on nested brackets."""
import math
import os
import sys
import tempfile
import janus as torch
from janus import nn, Tensor
import janus.nn.functional as F


class SelectiveScan(nn.Module):
    def __init__(self, d, n=4, kernel=3):
        super().__init__()
        self.d, self.n, self.kernel = d, n, kernel
        self.in_proj = nn.Linear(d, 2 * d)
        self.conv = nn.Conv1d(d, d, kernel, padding=kernel - 1, groups=d)
        self.to_dt, self.to_b, self.to_c = nn.Linear(d, d), nn.Linear(d, n, bias=False), nn.Linear(d, n, bias=False)
        self.log_a = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(d, 1))
        self.skip = nn.Parameter(torch.ones(d))
        self.out_proj = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        u, gate = self.in_proj(x).split(D, dim=-1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :T].transpose(1, 2))
        dt, b, c = F.softplus(self.to_dt(u)), self.to_b(u), self.to_c(u)
        a = -torch.exp(self.log_a)
        decay = torch.exp(dt.unsqueeze(-1) * a)
        inputs = dt.unsqueeze(-1) * b.unsqueeze(2) * u.unsqueeze(-1)
        h = x.new_zeros(B, D, self.n)
        ys = []
        for t in range(T):
            h = decay[:, t] * h + inputs[:, t]
            ys.append((h * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(ys, dim=1) + u * self.skip
        return self.out_proj(y * F.silu(gate))


class LM(nn.Module):
    def __init__(self, vocab, d=12, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.mixers = nn.ModuleList(SelectiveScan(d) for _ in range(layers))
        self.final = nn.LayerNorm(d)
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers):
            x = x + self.drop(mixer(norm(x)))
        return F.linear(self.final(x), self.embed.weight)


def brackets(depth, rng):
    text, open_ = [], []
    while len(text) < 20:
        if open_ and (len(open_) >= depth or torch.rand((), generator=rng) < 0.45):
            text.append(open_.pop() + 3)
        else:
            k = int(torch.randint(0, 3, (), generator=rng))
            open_.append(k)
            text.append(k)
    return text


class Bracketed(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = torch.Generator()
        rng.manual_seed(seed)
        self.rows = [brackets(4, rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i][:-1]), torch.tensor(self.rows[i][1:])


def train_step(model, opt, x, y, scale):
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    (loss / scale).backward()
    return loss.item()


def run_epoch(model, opt, loader, epoch, best):
    model.train()
    losses = []
    for i, (x, y) in enumerate(loader):
        losses.append(train_step(model, opt, x, y, 2))
        if (i + 1) % 2 == 0:
            opt.step()
            opt.zero_grad()
    mean = sum(losses) / len(losses)
    ppl = math.exp(mean)
    if mean < best["loss"]:
        best.update(loss=mean, epoch=epoch)
        torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, best["path"])
    sys.stdout.write(f"epoch {epoch}: loss {mean:.4f} ppl {ppl:.2f} best {best['epoch']}\n")
    return mean


def main(epochs):
    torch.manual_seed(2)
    model = LM(6)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = torch.utils.data.DataLoader(Bracketed(16, 3), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(1))
    with tempfile.TemporaryDirectory() as folder:
        best = {"loss": float("inf"), "epoch": -1, "path": os.path.join(folder, "best.pt")}
        losses = [run_epoch(model, opt, loader, e, best) for e in range(epochs)]
        model.load_state_dict(torch.load(best["path"])["model"])
    return losses, model.state_dict()


MODEL, STEP, EPOCH = "LM.forward", "train_step", "run_epoch"
