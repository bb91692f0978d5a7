# SPDX-License-Identifier: Apache-2.0
"""A Siamese network with a contrastive loss, pairs drawn at random in a dataset's __getitem__."""
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from janus.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.by_label = {k: [i for i, y in enumerate(labels) if y == k] for k in set(labels)}

    def __getitem__(self, index):
        same = random.random() < 0.5
        label = self.labels[index]
        other = label if same else random.choice([k for k in sorted(self.by_label) if k != label])
        return self.images[index], self.images[random.choice(self.by_label[other])], float(not same)

    def __len__(self):
        return len(self.labels)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 3, kernel_size=3), nn.ReLU(inplace=True),
                                 nn.BatchNorm2d(3), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(3 * 3 * 3, 8), nn.ReLU(inplace=True), nn.Linear(8, 4))

    def forward_once(self, x):
        output = self.cnn(x)
        return self.fc(output.view(output.size()[0], -1))

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        distance = F.pairwise_distance(output1, output2, keepdim=False)
        return torch.mean((1 - label) * torch.pow(distance, 2)
                          + label * torch.pow(torch.clamp(self.margin - distance, min=0.0), 2))


def train_step(net, criterion, optimizer, img0, img1, label):
    optimizer.zero_grad()
    output1, output2 = net(img0, img1)
    loss = criterion(output1, output2, label.float())
    loss.backward()
    optimizer.step()
    return loss


def train_epoch(net, criterion, optimizer, loader, epoch, history):
    start = time.time()
    for i, data in enumerate(loader):
        loss = train_step(net, criterion, optimizer, *data)
        if i % 2 == 0:
            history.append(loss.item())
            print("Epoch number {}\n Current loss {:.4f} ({:.3f}s)".format(epoch, loss.item(), time.time() - start))
    return history[-1]


def main(epochs):
    labels = [i % 3 for i in range(12)]
    images = torch.stack([torch.randn(1, 6, 6) * 0.3 + y for y in labels])
    loader = DataLoader(Pairs(images, labels), batch_size=4, shuffle=True)
    net, history = SiameseNetwork(), []
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
    for epoch in range(epochs):
        train_epoch(net, ContrastiveLoss(), optimizer, loader, epoch, history)
    return history, net


MODEL, STEP, EPOCH = "SiameseNetwork.forward", "train_step", "train_epoch"
