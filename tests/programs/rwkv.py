# SPDX-License-Identifier: Apache-2.0
"""Linear attention as a recurrence: time mixing with decays, trained over whole texts and sampled one character at a time with a carried state."""
import math
import textwrap
from typing import List, Tuple

import janus as torch
import janus.nn as nn
from janus.nn import functional as F

TEXT = "the cat sat on the mat. the dog sat on the log. a cat and a dog sat in the fog. "


class TimeMix(nn.Module):
    def __init__(self, dim, layer, layers):
        super().__init__()
        ratio = layer / max(layers - 1, 1)
        self.decay = nn.Parameter(torch.tensor([-5 + 8 * (i / (dim - 1)) ** (0.7 + 1.3 * ratio) for i in range(dim)]))
        self.first = nn.Parameter(torch.ones(dim) * math.log(0.3))
        self.mix_k, self.mix_v, self.mix_r = (nn.Parameter(torch.linspace(0, 1, dim)) for _ in range(3))
        self.key, self.value, self.receptance, self.output = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, state):
        last, num, den, top = state
        xk = x * self.mix_k + last * (1 - self.mix_k)
        xv = x * self.mix_v + last * (1 - self.mix_v)
        xr = x * self.mix_r + last * (1 - self.mix_r)
        k, v, r = self.key(xk), self.value(xv), torch.sigmoid(self.receptance(xr))
        q = torch.maximum(top, self.first + k)
        a, b = torch.exp(top - q), torch.exp(self.first + k - q)
        wkv = (a * num + b * v) / (a * den + b)
        w = -torch.exp(self.decay)
        q = torch.maximum(top + w, k)
        a, b = torch.exp(top + w - q), torch.exp(k - q)
        return self.output(r * wkv), (x, a * num + b * v, a * den + b, q)


class ChannelMix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Parameter(torch.full((dim,), 0.5))
        self.key, self.value = nn.Linear(dim, 2 * dim, bias=False), nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x, last):
        mixed = torch.lerp(last, x, self.mix)
        return self.value(F.relu(self.key(mixed)).square()), x


class RWKV(nn.Module):
    def __init__(self, vocab, dim=12, layers=2):
        super().__init__()
        self.dim = dim
        self.embed, self.norm, self.head = nn.Embedding(vocab, dim), nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.blocks = nn.ModuleList(nn.ModuleDict({"ln1": nn.LayerNorm(dim), "ln2": nn.LayerNorm(dim), "att": TimeMix(dim, i, layers),
                                                   "ffn": ChannelMix(dim)}) for i in range(layers))

    def initial(self, batch) -> List[Tuple]:
        zeros = torch.zeros(batch, self.dim)
        return [((zeros, zeros, zeros, zeros - 1e30), zeros) for _ in self.blocks]

    def forward(self, token, state):
        x, new = self.embed(token), []
        for block, (att, ffn) in zip(self.blocks, state):
            y, att = block["att"](block["ln1"](x), att)
            x = x + y
            y, ffn = block["ffn"](block["ln2"](x), ffn)
            x = x + y
            new.append((att, ffn))
        return self.head(self.norm(x)), new


def train_step(model, opt, tokens):
    state, loss = model.initial(tokens.size(0)), 0.0
    for t in range(tokens.size(1) - 1):
        logits, state = model(tokens[:, t], state)
        loss = loss + F.cross_entropy(logits, tokens[:, t + 1])
    loss = loss / (tokens.size(1) - 1)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    return loss.item()


@torch.inference_mode()
def generate(model, stoi, itos, prompt, n, top_p=0.8):
    state = model.initial(1)
    for ch in prompt:
        logits, state = model(torch.tensor([stoi[ch]]), state)
    out = []
    for _ in range(n):
        probs = F.softmax(logits[0], dim=-1)
        ordered, index = torch.sort(probs, descending=True)
        keep = torch.cumsum(ordered, 0) - ordered < top_p
        ordered = ordered * keep
        pick = index[torch.multinomial(ordered / ordered.sum(), 1)]
        out.append(itos[pick.item()])
        logits, state = model(pick, state)
    return prompt + "".join(out)


def run_epoch(epoch, model, opt, data, stoi, itos):
    total = 0.0
    for _ in range(2):
        at = torch.randint(len(data) - 13, (4,))
        total += train_step(model, opt, torch.stack([data[i:i + 12] for i in at]))
    text = generate(model, stoi, itos, "the ", 12)
    print(f"--- {epoch} loss {total / 2:.4f} ppl {math.exp(total / 2):.2f}")
    print(textwrap.indent(textwrap.fill(text, 40), "    "))
    return total


def main(epochs):
    torch.manual_seed(14)
    chars = sorted(set(TEXT))
    stoi, itos = {c: i for i, c in enumerate(chars)}, dict(enumerate(chars))
    data = torch.tensor([stoi[c] for c in TEXT * 2])
    model = RWKV(len(chars))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
    return [run_epoch(e, model, opt, data, stoi, itos) for e in range(epochs)]


MODEL, STEP, EPOCH = "RWKV.forward", "train_step", "run_epoch"
