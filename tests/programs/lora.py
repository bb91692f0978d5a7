# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning with low-rank adapters put into a frozen model by replacing its layers; only adapters are saved."""
import math
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x, mask=None):
        B, T, C = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(B, T, self.heads, C // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)
        if mask is not None:
            a = a.masked_fill(mask[:T, :T] == 0, float("-inf"))
        x = x + self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self, n, d, layers):
        super().__init__()
        self.embed, self.pos = nn.Embedding(n, d), nn.Parameter(torch.randn(16, d) * 0.02)
        self.blocks = nn.ModuleList([Block(d, 2) for _ in range(layers)])
        self.head = nn.Linear(d, n, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)), persistent=False)

    def forward(self, ids, targets=None):
        x = self.embed(ids) + self.pos[:ids.size(1)]
        for b in self.blocks:
            x = b(x, mask=self.mask)
        logits = self.head(x)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-100)


class LoRA(nn.Module):
    def __init__(self, base, r, alpha):
        super().__init__()
        self.base, self.scale = base, alpha / r
        self.a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + (x @ self.a.T @ self.b.T) * self.scale


def adapt(model, names=("q", "v"), r=2):
    for p in model.parameters():
        p.requires_grad_(False)
    for name, module in list(model.named_modules()):
        for child, layer in list(module.named_children()):
            if child in names and isinstance(layer, nn.Linear):
                setattr(module, child, LoRA(layer, r, 4))
    return [p for p in model.parameters() if p.requires_grad]


def train_step(model, opt, ids, clip):
    targets = ids[:, 1:].clone()
    targets[targets == 0] = -100
    _, loss = model(ids[:, :-1], targets)
    loss.backward()
    norm = nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], clip)
    opt.step()
    opt.zero_grad(set_to_none=True)
    return loss.item(), float(norm)


def train_epoch(model, opt, batches, number, total):
    for i, ids in enumerate(batches):
        step = number * len(batches) + i
        for g in opt.param_groups:
            g["lr"] = 1e-2 * min(1, (step + 1) / 4) * 0.5 * (1 + math.cos(math.pi * min(step, total) / total))
        loss, norm = train_step(model, opt, ids, 1.0)
        if step % 3 == 0:
            print(f"step {step} loss {loss:.4f} norm {norm:.3f} lr {opt.param_groups[0]['lr']:.5f}")
    return loss


def main(epochs):
    torch.manual_seed(0)
    model = LM(12, 16, 2)
    params = adapt(model)
    opt = torch.optim.AdamW(params, lr=1e-2, weight_decay=0.01)
    batches = [torch.randint(0, 12, (2, n)) for n in (8, 6, 8, 9)]
    out = [train_epoch(model, opt, batches, e, 4 * epochs) for e in range(epochs)]
    saved = {k: v.tolist() for k, v in model.state_dict().items() if k.endswith((".a", ".b"))}
    return out, saved


MODEL, STEP, EPOCH = "LM.forward", "train_step", "train_epoch"
