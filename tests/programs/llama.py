# SPDX-License-Identifier: Apache-2.0
"""A small decoder with rotary positions, RMS norm and gated layers; trained on arithmetic, then sampled with a cache of keys and values and top-p."""
import math
import time
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

VOCAB = "0123456789+= "


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotary(x, start):
    B, H, T, D = x.shape
    freqs = 1.0 / (10000 ** (torch.arange(0, D, 2).float() / D))
    angles = torch.outer(torch.arange(start, start + T).float(), freqs)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, d, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, d // heads
        self.wq = nn.Linear(d, d, bias=False)
        self.wk = nn.Linear(d, kv_heads * self.dim, bias=False)
        self.wv = nn.Linear(d, kv_heads * self.dim, bias=False)
        self.wo = nn.Linear(d, d, bias=False)

    def forward(self, x, cache=None):
        B, T, C = x.shape
        start = 0 if not cache else cache["k"].size(2)
        q = rotary(self.wq(x).view(B, T, self.heads, self.dim).transpose(1, 2), start)
        k = rotary(self.wk(x).view(B, T, self.kv_heads, self.dim).transpose(1, 2), start)
        v = self.wv(x).view(B, T, self.kv_heads, self.dim).transpose(1, 2)
        if cache is not None:
            if cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        groups = self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dim)
        if T > 1:
            scores = scores + torch.full((T, T), float("-inf")).triu(1)
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, d, heads, kv_heads):
        super().__init__()
        self.attention_norm, self.ffn_norm = RMSNorm(d), RMSNorm(d)
        self.attention = Attention(d, heads, kv_heads)
        self.w1, self.w2, self.w3 = nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False), nn.Linear(d, 2 * d, bias=False)

    def forward(self, x, cache=None):
        h = x + self.attention(self.attention_norm(x), cache)
        y = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(y)) * self.w3(y))


class Llama(nn.Module):
    def __init__(self, d=16, heads=4, kv_heads=2, layers=2):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB), d)
        self.layers = nn.ModuleList(Block(d, heads, kv_heads) for _ in range(layers))
        self.norm, self.output = RMSNorm(d), nn.Linear(d, len(VOCAB), bias=False)

    def forward(self, ids, caches=None):
        h = self.embed(ids)
        for i, layer in enumerate(self.layers):
            h = layer(h, caches[i] if caches is not None else None)
        return self.output(self.norm(h))


def encode(text):
    return [VOCAB.index(ch) for ch in text]


def make_batch(gen, n):
    rows = []
    for _ in range(n):
        a, b = (int(v) for v in torch.randint(0, 50, (2,), generator=gen))
        rows.append(encode(f"{a}+{b}={a + b}".ljust(9)))
    return torch.tensor(rows)


def train_step(model, opt, sched, ids):
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, len(VOCAB)), ids[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    return loss.item(), norm


def sample_top_p(probs, p, gen):
    sorted_probs, index = torch.sort(probs, dim=-1, descending=True)
    before = sorted_probs.cumsum(-1) - sorted_probs
    sorted_probs[before > p] = 0.0
    sorted_probs.div_(sorted_probs.sum(-1, keepdim=True))
    return torch.gather(index, -1, torch.multinomial(sorted_probs, 1, generator=gen))


@torch.no_grad()
def complete(model, prompt, gen, steps=4):
    model.eval()
    caches = [{} for _ in model.layers]
    ids = torch.tensor([encode(prompt)])
    out = []
    for _ in range(steps):
        logits = model(ids, caches)[:, -1]
        ids = sample_top_p((logits / 0.8).softmax(-1), 0.9, gen)
        out.append(VOCAB[ids.item()])
    model.train()
    return "".join(out)


def run_epoch(model, opt, sched, gen, epoch):
    start, total = time.time(), 0.0
    for i in range(6):
        loss, norm = train_step(model, opt, sched, make_batch(gen, 8))
        total += loss
    print(f"epoch {epoch} loss {total / 6:.4f} norm {norm:.3f} lr {sched.get_last_lr()[0]:.5f} in {time.time() - start:.2f}s")
    print("12+7=" + complete(model, "12+7=", gen))
    return total / 6


def main(epochs):
    torch.manual_seed(3)
    gen = torch.Generator().manual_seed(11)
    model = Llama()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 10))
    losses = [run_epoch(model, opt, sched, gen, e) for e in range(epochs)]
    return losses, [p.detach() for p in model.parameters()]


MODEL, STEP, EPOCH = "Llama.forward", "train_step", "run_epoch"
