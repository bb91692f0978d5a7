# SPDX-License-Identifier: Apache-2.0
"""A vision transformer: patches by convolution, a class token, stochastic depth, mixed examples, label smoothing, a cosine schedule with warmup."""
import math
import random
import janus as torch
from janus import nn
from janus.nn import functional as F


def drop_path(x, p, training):
    if p == 0.0 or not training:
        return x
    keep = 1 - p
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    if keep > 0.0:
        mask.div_(keep)
    return x * mask


class PatchEmbed(nn.Module):
    def __init__(self, img=8, patch=4, chans=3, dim=16):
        super().__init__()
        self.num_patches = (img // patch) ** 2
        self.proj = nn.Conv2d(chans, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, dim, num_heads, drop):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
        self.attn_drop, self.proj_drop = nn.Dropout(drop), nn.Dropout(drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        attn = self.attn_drop(attn.softmax(dim=-1))
        return self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)))


class Block(nn.Module):
    def __init__(self, dim, heads, drop, path):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads, drop)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Dropout(drop), nn.Linear(dim * 2, dim), nn.Dropout(drop))
        self.path = path

    def forward(self, x):
        x = x + drop_path(self.attn(self.norm1(x)), self.path, self.training)
        return x + drop_path(self.mlp(self.norm2(x)), self.path, self.training)


class ViT(nn.Module):
    def __init__(self, dim=16, depth=3, heads=2, classes=4, drop=0.1, drop_path_rate=0.2):
        super().__init__()
        self.patch_embed = PatchEmbed(dim=dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches + 1, dim) * 0.02)
        rates = [x.item() for x in torch.linspace(0, drop_path_rate, depth)]
        self.blocks = nn.ModuleList([Block(dim, heads, drop, rates[i]) for i in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward_features(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x)[:, 0]

    def forward(self, x):
        return self.head(self.forward_features(x))


def mixup(x, y, classes, alpha, rng):
    lam = rng.betavariate(alpha, alpha)
    perm = torch.randperm(x.size(0))
    onehot = F.one_hot(y, classes).float()
    return lam * x + (1 - lam) * x[perm], lam * onehot + (1 - lam) * onehot[perm]


def adjust_lr(opt, step, warmup, total, base):
    lr = base * step / warmup if step < warmup else base * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    for g in opt.param_groups:
        g["lr"] = lr
    return lr


def train_step(model, opt, x, y, rng):
    x, t = mixup(x, y, 4, 0.4, rng)
    loss = F.cross_entropy(model(x), t, label_smoothing=0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    hits = seen = 0
    for x, y in batches:
        hits += (model(x).argmax(1) == y).sum().item()
        seen += y.numel()
    model.train()
    return hits / seen


def run_epoch(model, opt, batches, epoch, epochs, rng):
    running = 0.0
    for i, (x, y) in enumerate(batches):
        lr = adjust_lr(opt, epoch * len(batches) + i, 4, epochs * len(batches) + 1, 1e-2)
        loss = train_step(model, opt, x, y, rng)
        running += loss.item()
        if i % 2 == 0:
            print(f"[{epoch}:{i}] loss {loss.item():.4f} lr {lr:.5f}")
    acc = evaluate(model, batches)
    print(f"epoch {epoch}: {running / len(batches):.4f}, accuracy {acc:.2%}")
    return running, acc


def main(epochs):
    torch.manual_seed(0)
    rng = random.Random(5)
    model = ViT()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    centers = torch.randn(4, 3, 8, 8)
    batches = []
    for _ in range(4):
        y = torch.randint(0, 4, (8,))
        batches.append((centers[y] + 0.5 * torch.randn(8, 3, 8, 8), y))
    out = [run_epoch(model, opt, batches, e, epochs, rng) for e in range(epochs)]
    return out, model.state_dict()


MODEL, STEP, EPOCH = "ViT.forward", "train_step", "run_epoch"
