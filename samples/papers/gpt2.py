# SPDX-License-Identifier: Apache-2.0
"""GPT-2 (Radford et al. 2019): a training step, then a text is sampled word by word to look at."""
import janus as torch
import janus.nn.functional as F
from zoo.gpt2 import GPT2


def sample(model, words, count, top):
    """`words` [1, n] and `count` more, each drawn from the `top` most probable ones."""
    model.eval()
    with torch.no_grad():
        for _ in range(count):
            scores = model(words)[:, -1]
            best, at = scores.topk(top, dim=-1)
            drawn = torch.multinomial(F.softmax(best, dim=-1), 1)
            words = torch.cat([words, at.gather(1, drawn)], dim=1)
    model.train()
    return words


def make(small, decorate):
    sizes = {"words": 50, "size": 16, "layers": 2, "heads": 2, "positions": 32} if small else \
        {"words": 5000, "size": 192, "layers": 4, "heads": 4, "positions": 128}
    rows, length, count = (2, 12, 4) if small else (4, 96, 8)
    model = GPT2(**sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    samples = []

    @decorate
    def step(text):
        optimizer.zero_grad()
        scores = model(text[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        samples.append(sample(model, text[:1, :4], count, 5)[0].tolist())
        return loss.item()

    return [model], step, [torch.randint(0, sizes["words"], (rows, length + 1)) for _ in range(4)]
