# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 as Terra trains it: the learning rate warms up and decays by the step, a history grows beside it."""
import janus as torch
import janus.nn.functional as F
from zoo.resnet import ResNet50


class Trainer:
    def __init__(self, model, warmup, rate):
        self.model, self.warmup, self.rate, self.steps = model, warmup, rate, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=True)
        self.history = {"loss": [], "right": []}

    def set_rate(self):
        self.steps += 1
        rate = self.rate * min(1.0, self.steps / self.warmup) * 0.99 ** max(0, self.steps - self.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def train(self, batch):
        images, labels = batch
        self.set_rate()
        self.optimizer.zero_grad()
        scores = self.model(images)
        loss = F.cross_entropy(scores, labels, label_smoothing=0.1)
        loss.backward()
        self.optimizer.step()
        self.history["loss"].append(loss.item())
        self.history["right"].append((scores.argmax(1) == labels).float().mean().item())
        return self.history["loss"][-1]


def make(small, decorate):
    rows, size, classes = (3, 48, 10) if small else (8, 64, 100)
    trainer = Trainer(ResNet50(classes), 4, 2e-3)
    batches = [(torch.randn(rows, 3, size, size), torch.randint(0, classes, (rows,))) for _ in range(4)]
    return [trainer.model], decorate(trainer.train), batches
