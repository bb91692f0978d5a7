# SPDX-License-Identifier: Apache-2.0
"""A convolutional GAN: both networks and both optimizers in one step."""
import janus as torch
import janus.nn as nn
import janus.optim as optim


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        torch.nn.init.normal_(m.weight, 1.0, 0.02)
        torch.nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz, ngf):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 2, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, ndf):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 2, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def train_step(netG, netD, optimizerG, optimizerD, criterion, real, noise):
    netD.zero_grad()
    batch_size = real.size(0)
    label = torch.full((batch_size,), 1.0)
    output = netD(real)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    fake = netG(noise)
    label.fill_(0.0)
    output = netD(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    D_G_z1 = output.mean().item()
    errD = errD_real + errD_fake
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1.0)
    output = netD(fake)
    errG = criterion(output, label)
    errG.backward()
    D_G_z2 = output.mean().item()
    optimizerG.step()
    return errD.item(), errG.item(), D_x, D_G_z1, D_G_z2


def train_epoch(netG, netD, optimizerG, optimizerD, batches, epoch):
    criterion = nn.BCELoss()
    for i, real in enumerate(batches):
        noise = torch.randn(real.size(0), 4, 1, 1)
        errs = train_step(netG, netD, optimizerG, optimizerD, criterion, real, noise)
        print("[%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f"
              % ((epoch, i, len(batches)) + errs))
    return errs


def main(epochs):
    batches = [torch.rand(n, 1, 8, 8) * 2 - 1 for n in (4, 4, 3)]
    netG, netD = Generator(4, 4), Discriminator(4)
    netG.apply(weights_init)
    netD.apply(weights_init)
    optimizerD = optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
    return [train_epoch(netG, netD, optimizerG, optimizerD, batches, e) for e in range(epochs)], netG, netD


MODEL, STEP, EPOCH = "Generator.forward", "train_step", "train_epoch"
