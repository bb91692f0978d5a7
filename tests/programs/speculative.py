# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding: a small model drafts tokens, the large one accepts a prefix of them."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed, self.mix, self.out = nn.Embedding(vocab, dim), nn.Linear(2 * dim, dim), nn.Linear(dim, vocab)

    def forward(self, tokens):
        e = self.embed(tokens)
        steps = torch.arange(1, e.size(0) + 1).unsqueeze(1)
        context = torch.cumsum(e, 0) / steps
        return self.out(torch.tanh(self.mix(torch.cat([e, context], dim=1))))


def draft(model, tokens, k):
    for _ in range(k):
        logits = model(tokens)[-1]
        tokens = torch.cat([tokens, logits.argmax().view(1)])
    return tokens


def speculate(large, small, tokens, k):
    """Tokens with those of the draft that the large model agrees with, and one of its own."""
    n = tokens.size(0)
    drafted = draft(small, tokens, k)
    wanted = large(drafted).argmax(dim=1)
    accepted = 0
    while accepted < k and drafted[n + accepted] == wanted[n + accepted - 1]:
        accepted += 1
    kept = drafted[:n + accepted]
    return torch.cat([kept, wanted[n + accepted - 1].view(1)]), accepted


def distill_step(large, small, optimizer, tokens):
    with torch.no_grad():
        teacher = F.softmax(large(tokens), dim=1)
    loss = F.kl_div(F.log_softmax(small(tokens), dim=1), teacher, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def run(large, small, optimizer, prompts, number):
    start, produced, accepted = time.time(), 0, 0
    losses = [distill_step(large, small, optimizer, p) for p in prompts]
    texts = []
    with torch.no_grad():
        for prompt in prompts:
            tokens = prompt
            while tokens.size(0) < 10:
                tokens, n = speculate(large, small, tokens, 3)
                produced, accepted = produced + n + 1, accepted + n
            texts.append(" ".join(str(t) for t in tokens.tolist()))
    print(f"{number}: {accepted} of {produced} drafted, {sum(losses):.4f}, {time.time() - start:.3f} s")
    print("\n".join(texts))
    return accepted, produced


def main(epochs):
    large, small = LM(11, 12), LM(11, 4)
    optimizer = torch.optim.Adam(small.parameters(), lr=0.02)
    prompts = [torch.randint(0, 11, (n,)) for n in (3, 4)]
    return [run(large, small, optimizer, prompts, e) for e in range(epochs)], small


MODEL, STEP, EPOCH = "LM.forward", "distill_step", "run"
