# SPDX-License-Identifier: Apache-2.0
"""A restricted Boltzmann machine: contrastive divergence without autograd, momentum and weight decay by hand."""
import janus as torch


class RBM:
    def __init__(self, num_visible, num_hidden, k, learning_rate=0.05, momentum=0.5, weight_decay=1e-4):
        self.num_visible = num_visible
        self.num_hidden = num_hidden
        self.k = k
        self.learning_rate = learning_rate
        self.momentum_coefficient = momentum
        self.weight_decay = weight_decay
        self.weights = torch.randn(num_visible, num_hidden) * 0.1
        self.visible_bias = torch.ones(num_visible) * 0.5
        self.hidden_bias = torch.zeros(num_hidden)
        self.weights_momentum = torch.zeros(num_visible, num_hidden)
        self.visible_bias_momentum = torch.zeros(num_visible)
        self.hidden_bias_momentum = torch.zeros(num_hidden)

    def sample_hidden(self, visible):
        return torch.sigmoid(torch.matmul(visible, self.weights) + self.hidden_bias)

    def sample_visible(self, hidden):
        return torch.sigmoid(torch.matmul(hidden, self.weights.t()) + self.visible_bias)

    def contrastive_divergence(self, data):
        positive = self.sample_hidden(data)
        positive_activations = (positive >= self._random(self.num_hidden)).float()
        positive_associations = torch.matmul(data.t(), positive)

        hidden = positive_activations
        for _ in range(self.k):
            visible = self.sample_visible(hidden)
            hidden_probabilities = self.sample_hidden(visible)
            hidden = (hidden_probabilities >= self._random(self.num_hidden)).float()
        negative_associations = torch.matmul(visible.t(), hidden_probabilities)

        self.weights_momentum *= self.momentum_coefficient
        self.weights_momentum += (positive_associations - negative_associations)
        self.visible_bias_momentum *= self.momentum_coefficient
        self.visible_bias_momentum += torch.sum(data - visible, dim=0)
        self.hidden_bias_momentum *= self.momentum_coefficient
        self.hidden_bias_momentum += torch.sum(positive - hidden_probabilities, dim=0)

        batch_size = data.size(0)
        self.weights += self.weights_momentum * self.learning_rate / batch_size
        self.visible_bias += self.visible_bias_momentum * self.learning_rate / batch_size
        self.hidden_bias += self.hidden_bias_momentum * self.learning_rate / batch_size
        self.weights -= self.weights * self.weight_decay
        return torch.sum((data - visible) ** 2)

    def free_energy(self, v):
        return -v.mv(self.visible_bias) - torch.log1p(torch.exp(v @ self.weights + self.hidden_bias)).sum(1)

    def _random(self, num):
        return torch.rand(num)


def epoch(rbm, batches, number):
    epoch_error = 0.0
    for batch in batches:
        batch = batch.view(len(batch), rbm.num_visible)
        batch_error = rbm.contrastive_divergence(batch)
        epoch_error += batch_error
    print("Epoch Error (epoch=%d): %.4f" % (number, epoch_error))
    gap = rbm.free_energy(batches[0].view(-1, rbm.num_visible)).mean()
    return epoch_error, gap


def main(epochs):
    data = (torch.rand(4, 6, 3, 3) > 0.7).float()
    rbm = RBM(9, 5, k=2)
    out = [epoch(rbm, list(data), e) for e in range(epochs)]
    return out, vars(rbm)


MODEL, STEP, EPOCH = "RBM.sample_hidden", "RBM.contrastive_divergence", "epoch"
