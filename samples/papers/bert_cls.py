# SPDX-License-Identifier: Apache-2.0
"""BERT for classes of texts: predictions become Python lists for an F1 score, which decides about the learning rate."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from zoo.bert import Classifier


class F1:
    """Of class 1, over all that it has seen."""

    def __init__(self):
        self.predicted, self.labels = [], []

    def update(self, predicted, labels):
        self.predicted.extend(predicted)
        self.labels.extend(labels)

    def value(self):
        pairs = list(zip(self.predicted, self.labels))
        hits = sum(1 for p, l in pairs if p == 1 and l == 1)
        wrong = sum(1 for p, l in pairs if p != l)
        return 2 * hits / (2 * hits + wrong) if hits else 0.0


def make(small, decorate):
    sizes = {"words": 60, "size": 16, "layers": 2, "heads": 2, "positions": 16} if small else \
        {"words": 5000, "size": 256, "layers": 4, "heads": 4, "positions": 128}
    model, best = Classifier(classes=2, dropout=0.1, **sizes), [0.0]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    @decorate
    def step(batch):
        words, labels = batch
        optimizer.zero_grad()
        scores = model(words)
        loss = F.cross_entropy(scores, labels)
        loss.backward()
        optimizer.step()
        score = F1()
        score.update(scores.argmax(dim=1).tolist(), labels.tolist())
        if score.value() > best[0]:
            best[0] = score.value()
        return loss.item()

    rows, length = (4, 10) if small else (16, 64)
    batches = [(torch.randint(1, sizes["words"], (rows, length)), torch.randint(0, 2, (rows,))) for _ in range(4)]
    return [model], step, batches
