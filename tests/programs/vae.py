# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder on random images, with a loader, a log line every few batches and a test at the end."""
import janus as torch
import janus.utils.data
from janus import nn, optim
from janus.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(36, 16)
        self.fc21 = nn.Linear(16, 4)
        self.fc22 = nn.Linear(16, 4)
        self.fc3 = nn.Linear(4, 16)
        self.fc4 = nn.Linear(16, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 36), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train_batch(model, optimizer, data):
    optimizer.zero_grad()
    recon_batch, mu, logvar = model(data)
    loss = loss_function(recon_batch, data, mu, logvar)
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, loader, epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(loader):
        loss = train_batch(model, optimizer, data)
        train_loss += loss
        if batch_idx % 2 == 0:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.4f}".format(
                epoch, batch_idx * len(data), len(loader.dataset), 100. * batch_idx / len(loader), loss / len(data)))
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(loader.dataset)))
    return train_loss


def test(model, loader):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data, _) in enumerate(loader):
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
    test_loss /= len(loader.dataset)
    print("====> Test set loss: {:.4f}".format(test_loss))
    return test_loss


def main(epochs):
    images = torch.utils.data.TensorDataset(torch.rand(18, 1, 6, 6), torch.randint(0, 10, (18,)))
    loader = torch.utils.data.DataLoader(images, batch_size=4, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    return [(train(model, optimizer, loader, e), test(model, loader)) for e in range(1, epochs + 1)], model


MODEL, STEP, EPOCH = "VAE.forward", "train_batch", "train"
