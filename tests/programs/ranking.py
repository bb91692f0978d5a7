# SPDX-License-Identifier: Apache-2.0
"""LambdaRank-like learning to rank; queries as dicts, NDCG, early stopping with a deep copy of the best state."""
import copy
import math
import random
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def dcg(rels, k):
    return sum((2 ** r - 1) / math.log2(i + 2) for i, r in enumerate(rels[:k]))


def ndcg(scores, rels, k=5):
    order = sorted(range(len(rels)), key=lambda i: -scores[i])
    best = dcg(sorted(rels, reverse=True), k)
    return dcg([rels[i] for i in order], k) / best if best > 0 else 0.0


class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, q):
        return self.net(q["features"]).squeeze(-1)


def query_loss(scores, rels):
    r = torch.tensor(rels, dtype=torch.float32)
    diff = scores.unsqueeze(1) - scores.unsqueeze(0)
    better = (r.unsqueeze(1) > r.unsqueeze(0)).float()
    gain = (2 ** r).unsqueeze(1).sub((2 ** r).unsqueeze(0)).abs()
    pairs = better.sum()
    if pairs.item() == 0:
        return None
    return (F.softplus(-diff) * better * gain).sum() / pairs


def train_query(model, opt, q):
    model.train()
    loss = query_loss(model(q), q["rels"])
    if loss is None:
        return None
    opt.zero_grad()
    loss.backward()
    opt.step()
    return float(loss)


def run_epoch(model, opt, queries, state):
    losses = [l for q in queries if (l := train_query(model, opt, q)) is not None]
    model.eval()
    with torch.no_grad():
        scores = [ndcg(model(q).tolist(), q["rels"]) for q in queries]
    mean = sum(scores) / len(scores)
    if mean > state["best"]:
        state["best"], state["weights"], state["waited"] = mean, copy.deepcopy(model.state_dict()), 0
    else:
        state["waited"] += 1
    print(f"loss {sum(losses) / len(losses):.4f} ndcg {mean:.4f}" + (" *" if state["waited"] == 0 else ""))
    return mean


def main(epochs):
    torch.manual_seed(5)
    rng = random.Random(5)
    queries = [{"features": torch.randn(n, 4), "rels": [rng.randint(0, 2) for _ in range(n)]} for n in (5, 8, 6, 7)]
    queries[2]["rels"] = [1] * 6
    model = Scorer(4)
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    state = {"best": -1.0, "weights": None, "waited": 0}
    out = [run_epoch(model, opt, queries, state) for _ in range(epochs)]
    model.load_state_dict(state["weights"])
    return out, [p.tolist() for p in model.parameters()]


MODEL, STEP, EPOCH = "Scorer.forward", "train_query", "run_epoch"
