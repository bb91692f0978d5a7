# SPDX-License-Identifier: Apache-2.0
"""Inception-v3 (Szegedy et al. 2015): in training the second classifier counts, too."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from zoo.inception import Conv, InceptionV3


class Second(nn.Module):
    """The second classifier, for images of any size."""

    def __init__(self, n, classes):
        super().__init__()
        self.conv0, self.conv1 = Conv(n, 128, 1), Conv(128, 768, 3, padding=1)
        self.fc = nn.Linear(768, classes)

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, 3, stride=2, padding=1)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def loss_of(result, labels):
    """The result is a tensor in evaluation and two in training."""
    if isinstance(result, tuple):
        scores, second = result
        return F.cross_entropy(scores, labels) + 0.4 * F.cross_entropy(second, labels)
    return F.cross_entropy(result, labels)


def make(small, decorate):
    rows, size, classes = (3, 75, 10) if small else (4, 107, 100)
    model = InceptionV3(classes)
    model.second = Second(768, classes)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9, eps=1.0)

    @decorate
    def step(batch):
        images, labels, training = batch
        model.train(training)
        if not training:
            with torch.no_grad():
                return loss_of(model(images), labels).item()
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        return loss.item()

    batches = [(torch.randn(rows, 3, size, size), torch.randint(0, classes, (rows,)), i != 3) for i in range(4)]
    return [model], step, batches
