# SPDX-License-Identifier: Apache-2.0
"""How long patients live, by Cox's partial likelihood: a table read as CSV with columns that miss, categories embedded, concordance of the ranks."""
import csv
import io
import math
import random
import time
from typing import Dict, List, NamedTuple, Optional

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

STAGES = ("I", "II", "III", "IV")


class Patient(NamedTuple):
    numbers: List[Optional[float]]
    categories: Dict[str, str]
    months: float
    died: bool


def table(n):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["age", "marker", "stage", "smoker", "months", "event"])
    for _ in range(n):
        age, stage, smoker = random.gauss(60, 9), random.randrange(4), random.random() < 0.4
        risk = math.exp(0.04 * (age - 60) + 0.6 * stage + 0.5 * smoker - 1)
        months, censored = random.expovariate(0.1 * risk), random.uniform(3, 25)
        marker = "" if random.random() < 0.2 else f"{stage + random.gauss(0, 0.5):.3f}"
        writer.writerow([f"{age:.1f}", marker, STAGES[stage], "yes" if smoker else "no", f"{min(months, censored):.3f}", int(months < censored)])
    return out.getvalue()


def read(text):
    for row in csv.DictReader(io.StringIO(text)):
        numbers = [float(row[c]) if row[c] else None for c in ("age", "marker")]
        yield Patient(numbers, {c: row[c] for c in ("stage", "smoker")}, float(row["months"]), row["event"] == "1")


class Encoder:
    """Means and deviations of numbers, indices of categories; what misses is the mean and says so."""

    def fit(self, patients):
        self.stats = []
        for column in zip(*(p.numbers for p in patients)):
            known = [v for v in column if v is not None]
            mean = sum(known) / len(known)
            self.stats.append((mean, math.sqrt(sum((v - mean) ** 2 for v in known) / len(known)) or 1.0))
        self.levels = {c: {v: i + 1 for i, v in enumerate(sorted({p.categories[c] for p in patients}))} for c in patients[0].categories}
        return self

    def __call__(self, patients):
        numbers = []
        for p in patients:
            row = []
            for value, (mean, std) in zip(p.numbers, self.stats):
                row += [0.0 if value is None else (value - mean) / std, float(value is None)]
            numbers.append(row)
        categories = {c: torch.tensor([levels.get(p.categories[c], 0) for p in patients]) for c, levels in self.levels.items()}
        return torch.tensor(numbers), categories


class DeepSurv(nn.Module):
    def __init__(self, numbers, levels, dim=3, hidden=(12, 6), dropout=0.1):
        super().__init__()
        self.embeddings = nn.ModuleDict({c: nn.Embedding(len(v) + 1, dim) for c, v in levels.items()})
        width, layers = 2 * numbers + dim * len(levels), []
        for h in hidden:
            layers += [nn.Linear(width, h), nn.BatchNorm1d(h), nn.SELU(), nn.AlphaDropout(dropout)]
            width = h
        self.body = nn.Sequential(*layers)
        self.risk = nn.Linear(width, 1, bias=False)

    def forward(self, numbers, categories):
        parts = [numbers] + [self.embeddings[c](index) for c, index in categories.items()]
        return self.risk(self.body(torch.cat(parts, dim=1))).squeeze(-1)


def cox_loss(risk, months, died):
    order = torch.argsort(months, descending=True)
    risk, died = risk[order], died[order]
    log_cumsum = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_cumsum) * died).sum() / died.sum().clamp(min=1)


def concordance(risk, months, died):
    pairs = right = 0.0
    risk, months, died = risk.tolist(), months.tolist(), died.tolist()
    for i in range(len(risk)):
        if not died[i]:
            continue
        for j in range(len(risk)):
            if months[j] > months[i]:
                pairs += 1
                if risk[i] > risk[j]:
                    right += 1
                elif risk[i] == risk[j]:
                    right += 0.5
    return right / pairs if pairs else float("nan")


def baseline_hazard(risk, months, died):
    hazard, total = {}, 0.0
    weights = risk.exp()
    for m in sorted(set(months[died.bool()].tolist())):
        at_risk = weights[months >= m].sum()
        total += ((months == m).float() * died).sum().item() / at_risk.item()
        hazard[round(m, 3)] = total
    return hazard


def train_step(model, optimizer, batch, l2=1e-3):
    (numbers, categories), months, died = batch
    risk = model(numbers, categories)
    loss = cox_loss(risk, months, died)
    penalty = sum(p.square().sum() for name, p in model.named_parameters() if name.endswith("weight"))
    optimizer.zero_grad(set_to_none=True)
    (loss + l2 * penalty).backward()
    optimizer.step()
    return loss.item()


def batches(patients, encoder, size):
    order = sorted(patients, key=lambda p: random.random())
    for i in range(0, len(order) - size + 1, size):
        part = order[i:i + size]
        yield encoder(part), torch.tensor([p.months for p in part]), torch.tensor([float(p.died) for p in part])


def train_epoch(epoch, model, optimizer, scheduler, train, test, encoder, size=8):
    t0 = time.monotonic()
    model.train()
    losses = [train_step(model, optimizer, b) for b in batches(train, encoder, size)]
    model.eval()
    with torch.inference_mode():
        months, died = torch.tensor([p.months for p in test]), torch.tensor([float(p.died) for p in test])
        risk = model(*encoder(test))
        valid, c_index = cox_loss(risk, months, died).item(), concordance(risk, months, died)
        hazard = baseline_hazard(risk, months, died)
    scheduler.step(valid)
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch:>3} train {sum(losses) / len(losses):.4f} valid {valid:.4f} c-index {c_index:.3f} lr {lr:.1e}"
          f" hazard {max(hazard.values()):.3f} [{time.monotonic() - t0:.2f}s]")
    return valid, c_index, hazard


def main(epochs):
    torch.manual_seed(7)
    random.seed(7)
    patients = list(read(table(44)))
    train, test = patients[:32], patients[32:]
    encoder = Encoder().fit(train)
    model = DeepSurv(2, encoder.levels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    return [train_epoch(e, model, optimizer, scheduler, train, test, encoder) for e in range(epochs)], model


MODEL, STEP, EPOCH = "DeepSurv.forward", "train_step", "train_epoch"
