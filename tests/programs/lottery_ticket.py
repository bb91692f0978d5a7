# SPDX-License-Identifier: Apache-2.0
"""The lottery ticket: train, prune the smallest weights by layer or globally, rewind the rest, and again; sparsity is reported."""
import argparse
import copy
import time

import janus as torch
from janus import nn
from janus.nn import functional as F
from janus.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                      nn.Conv2d(6, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                                      nn.AdaptiveAvgPool2d((2, 2)))
        self.classifier = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, num_classes))

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


class Pruner:
    def __init__(self, model, scope="global", skip=("classifier.3",)):
        self.model, self.scope = model, scope
        self.masks = {name: torch.ones_like(p) for name, p in model.named_parameters()
                      if p.dim() > 1 and not any(name.startswith(s) for s in skip)}
        self.initial = copy.deepcopy(model.state_dict())

    def prune(self, fraction):
        scores = {n: p.detach().abs() for n, p in self.model.named_parameters() if n in self.masks}
        if self.scope == "global":
            alive = torch.cat([s[self.masks[n] > 0].flatten() for n, s in scores.items()])
            k = max(int(fraction * alive.numel()), 1)
            threshold = torch.kthvalue(alive, k).values
            thresholds = dict.fromkeys(scores, threshold)
        else:
            thresholds = {n: torch.quantile(s[self.masks[n] > 0], fraction) for n, s in scores.items()}
        for n, s in scores.items():
            self.masks[n] = torch.where(s <= thresholds[n], torch.zeros_like(s), self.masks[n])

    def rewind(self):
        self.model.load_state_dict(self.initial)
        self.apply()

    @torch.no_grad()
    def apply(self):
        for name, param in self.model.named_parameters():
            if name in self.masks:
                param.mul_(self.masks[name])

    def mask_gradients(self):
        for name, param in self.model.named_parameters():
            if name in self.masks and param.grad is not None:
                param.grad.data.mul_(self.masks[name])

    def sparsity(self):
        zeros = sum(int((m == 0).sum()) for m in self.masks.values())
        return zeros / sum(m.numel() for m in self.masks.values())

    def report(self):
        rows = []
        for name, mask in self.masks.items():
            left = mask.sum().item() / mask.numel()
            rows.append(f"{name:<22}{tuple(mask.shape)!s:<16}{100 * left:6.1f}%")
        return "\n".join(rows)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1))
        return [correct[:k].reshape(-1).float().sum(0).mul_(100.0 / target.size(0)).item() for k in topk]


def train_step(model, optimizer, pruner, images, labels, weight_l1):
    model.train()
    output = model(images)
    loss = F.cross_entropy(output, labels, label_smoothing=0.05)
    if weight_l1 > 0:
        loss = loss + weight_l1 * sum(p.abs().sum() for n, p in model.named_parameters() if n in pruner.masks)
    optimizer.zero_grad()
    loss.backward()
    pruner.mask_gradients()
    optimizer.step()
    pruner.apply()
    top1, top2 = accuracy(output, labels, topk=(1, 2))
    return loss.item(), top1, top2


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = total = 0
    for images, labels in loader:
        predicted = model(images).argmax(dim=1)
        correct += (predicted == labels).sum().item()
        total += labels.size(0)
    return 100.0 * correct / total


def train_epoch(round_, model, optimizer, pruner, loader, test_loader, args):
    end, sums, n = time.time(), [0.0, 0.0, 0.0], 0
    for i, (images, labels) in enumerate(loader):
        for j, value in enumerate(train_step(model, optimizer, pruner, images, labels, args.l1)):
            sums[j] += value * images.size(0)
        n += images.size(0)
        if i % args.log_interval == 0:
            print(f"  [{i * args.batch_size:>3}/{len(loader.dataset)}] loss {sums[0] / n:.4f}")
    acc = evaluate(model, test_loader)
    print("round {} loss {:.4f} top1 {:.1f} top2 {:.1f} test {:.1f} sparsity {:.3f} ({:.3f} s)".format(
        round_, *(s / n for s in sums), acc, pruner.sparsity(), time.time() - end))
    return sums[0] / n, acc


def get_args(argv=()):
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--prune", type=float, default=0.3)
    p.add_argument("--every", type=int, default=2)
    p.add_argument("--l1", type=float, default=1e-4)
    p.add_argument("--log-interval", type=int, default=2)
    return p.parse_args(argv)


def make_images(n):
    labels = torch.randint(0, 3, (n,))
    images = torch.randn(n, 1, 8, 8) * 0.5
    for i in range(n):
        k = labels[i].item()
        images[i, 0, 2 * k:2 * k + 2] += 1.0
    return TensorDataset(images, labels)


def main(epochs):
    args = get_args()
    torch.manual_seed(21)
    loader = DataLoader(make_images(120), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(make_images(40), batch_size=10)
    model = ConvNet()
    pruner, history = Pruner(model, scope="global"), []
    for epoch in range(epochs):
        if epoch % args.every == 0:
            if epoch:
                pruner.scope = "global" if epoch % 4 else "layer"
                pruner.prune(args.prune)
                pruner.rewind()
                print(pruner.report())
            optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
        history.append(train_epoch(epoch, model, optimizer, pruner, loader, test_loader, args))
    return history, model.state_dict(), pruner.masks


MODEL, STEP, EPOCH = "ConvNet.forward", "train_step", "train_epoch"
