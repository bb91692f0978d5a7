# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 (He et al. 2015): three batches of training, one of evaluation, in one step function."""
import janus as torch
import janus.nn as nn
from zoo.resnet import ResNet50


def make(small, decorate):
    rows, size, classes = (3, 48, 10) if small else (8, 64, 100)
    model = ResNet50(classes)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)

    @decorate
    def step(batch):
        images, labels, training = batch
        model.train(training)
        if not training:
            with torch.no_grad():
                return criterion(model(images), labels).item()
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    batches = [(torch.randn(rows, 3, size, size), torch.randint(0, classes, (rows,)), i != 3) for i in range(4)]
    return [model], step, batches
