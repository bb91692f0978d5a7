# SPDX-License-Identifier: Apache-2.0
"""A U-Net with padding where sizes are odd, dice loss beside cross entropy, and a scheduler on a plateau."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.n_classes = n_classes
        self.inc = DoubleConv(n_channels, 4)
        self.down1, self.down2 = Down(4, 8), Down(8, 16)
        self.up1, self.up2 = Up(16, 8), Up(8, 4)
        self.outc = nn.Conv2d(4, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_loss(probabilities, target, epsilon=1e-6):
    inter = 2 * (probabilities * target).sum(dim=(-1, -2))
    sets = probabilities.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    return 1 - ((inter + epsilon) / (sets + epsilon)).mean()


def train_step(model, optimizer, images, masks):
    assert images.shape[1] == 2, f"{images.shape[1]} channels"
    pred = model(images)
    loss = F.cross_entropy(pred, masks)
    loss = loss + dice_loss(F.softmax(pred, dim=1), F.one_hot(masks, model.n_classes).permute(0, 3, 1, 2).float())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def train_epoch(model, optimizer, scheduler, batches, epoch):
    model.train()
    epoch_loss = 0
    for images, masks in batches:
        epoch_loss += train_step(model, optimizer, images, masks)
    scheduler.step(epoch_loss)
    print(f"Epoch {epoch}: {epoch_loss / len(batches):.4f}, learning rate {optimizer.param_groups[0]['lr']}")
    return epoch_loss


def main(epochs):
    batches = [(torch.rand(1, 2, 9, 11), torch.randint(0, 3, (1, 9, 11))) for _ in range(3)]
    model = UNet(2, 3)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=1)
    return [train_epoch(model, optimizer, scheduler, batches, e) for e in range(epochs)], model


MODEL, STEP, EPOCH = "UNet.forward", "train_step", "train_epoch"
