# SPDX-License-Identifier: Apache-2.0
"""Likelihood of aligned sequences on a phylogeny by pruning; branch lengths and the rate of transitions are learnt."""
import math
import time

import janus as torch
import janus.nn as nn

BASES = "ACGT"
NEWICKS = ["((human:0.1,chimp:0.12)hc:0.05,(gorilla:0.15,orang:0.3)go:0.1);", "(mouse:0.4,(rat:0.35,(rabbit:0.5,human:0.2):0.1):0.05);",
           "((a:0.1,b:0.2,c:0.3):0.1,d:0.5);"]


class Clade:
    def __init__(self, name, length, children):
        self.name, self.length, self.children = name, length, children

    @property
    def is_leaf(self):
        return not self.children


def parse(text):
    pos = 0

    def clade():
        nonlocal pos
        children = []
        if text[pos] == "(":
            while text[pos] in "(,":
                pos += 1
                children.append(clade())
            pos += 1
        start = pos
        while text[pos] not in ",():;":
            pos += 1
        name, length = text[start:pos], 0.0
        if text[pos] == ":":
            start = pos = pos + 1
            while text[pos] in "0123456789.":
                pos += 1
            length = float(text[start:pos])
        return Clade(name, length, children)

    return clade()


def nodes(clade):
    yield clade
    for child in clade.children:
        yield from nodes(child)


class Likelihood(nn.Module):
    """K80: transitions kappa times as likely as transversions."""

    def __init__(self, tree, alignment):
        super().__init__()
        self.tree, self.alignment = tree, alignment
        self.log_kappa = nn.Parameter(torch.tensor(math.log(2.0)))
        self.lengths = nn.ParameterList()
        for node in nodes(tree):
            node.index = len(self.lengths)
            self.lengths.append(nn.Parameter(torch.tensor(math.log(max(node.length, 0.05)))))

    def transition(self, t):
        kappa = self.log_kappa.exp()
        d = t.exp() / (kappa + 2.0)
        e1, e2 = torch.exp(-4.0 * d), torch.exp(-2.0 * d * (kappa + 1.0))
        same, ts, tv = 0.25 + 0.25 * e1 + 0.5 * e2, 0.25 + 0.25 * e1 - 0.5 * e2, 0.25 - 0.25 * e1
        row = [[same, tv, ts, tv], [tv, same, tv, ts], [ts, tv, same, tv], [tv, ts, tv, same]]
        return torch.stack([torch.stack(r) for r in row])

    def partial(self, node):
        if node.is_leaf:
            return self.alignment[node.name]
        out = None
        for child in node.children:
            p = self.partial(child) @ self.transition(self.lengths[child.index]).t()
            out = p if out is None else out * p
        return out

    def forward(self):
        site = self.partial(self.tree).mean(-1)
        return site.log().sum()


def one_hot(sequence):
    x = torch.zeros(len(sequence), 4)
    for i, base in enumerate(sequence):
        if base == "-":
            x[i] = 1.0
        else:
            x[i, BASES.index(base)] = 1.0
    return x


def fit(model, opt):
    opt.zero_grad()
    nll = -model()
    nll.backward()
    opt.step()
    return nll.item()


def sweep(models, opts):
    begin = time.time()
    total = 0.0
    for model, opt in zip(models, opts):
        total += fit(model, opt)
    kappas = ", ".join(f"{m.log_kappa.exp().item():.3f}" for m in models)
    print(f"log likelihood {-total:.3f} kappa [{kappas}] in {time.time() - begin:.2f} s")
    return total


def main(epochs):
    torch.manual_seed(8)
    models = []
    for text in NEWICKS:
        tree = parse(text)
        names = [n.name for n in nodes(tree) if n.is_leaf]
        letters = torch.randint(0, 5, (len(names), 20)).tolist()
        alignment = {name: one_hot("".join((BASES + "-")[k if k < 4 and i % 3 else letters[0][i] % 4] for i, k in enumerate(row)))
                     for name, row in zip(names, letters)}
        models.append(Likelihood(tree, alignment))
    opts = [torch.optim.Adam(m.parameters(), lr=0.05) for m in models]
    losses = [sweep(models, opts) for _ in range(epochs)]
    return losses, [[p.item() for p in m.parameters()] for m in models]


MODEL, STEP, EPOCH = "Likelihood.forward", "fit", "sweep"
