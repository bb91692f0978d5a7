# SPDX-License-Identifier: Apache-2.0
"""LeNet-5 on digits (LeCun et al. 1998)."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

    def num_flat_features(self, x):
        features = 1
        for s in x.size()[1:]:
            features *= s
        return features


class Accuracy:
    """How many predictions were right so far."""

    def __init__(self):
        self.right, self.seen = 0, 0

    def update(self, scores, labels):
        self.right += (scores.argmax(dim=1) == labels).sum().item()
        self.seen += labels.size(0)

    def value(self):
        return self.right / max(self.seen, 1)


def make(small, decorate):
    rows = 8 if small else 50
    net, accuracy = LeNet(), Accuracy()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    @decorate
    def step(batch):
        images, labels = batch
        optimizer.zero_grad()
        scores = net(images)
        loss = criterion(scores, labels)
        loss.backward()
        optimizer.step()
        accuracy.update(scores, labels)
        return loss.item()

    batches = [(torch.randn(rows, 1, 28, 28), torch.randint(0, 10, (rows,))) for _ in range(4)]
    return [net], step, batches
