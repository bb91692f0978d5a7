# SPDX-License-Identifier: Apache-2.0
"""A graph convolutional network with a dense adjacency matrix: full batch, masks of indices, accuracy printed."""
import math
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F
import janus.optim as optim
from janus.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.mm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass, bias=False)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def normalize(adj):
    adj = adj + torch.eye(adj.size(0))
    d = adj.sum(1).pow(-0.5)
    return d.unsqueeze(1) * adj * d.unsqueeze(0)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


def train_step(model, optimizer, features, adj, labels, idx):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[idx], labels[idx])
    acc = accuracy(output[idx], labels[idx])
    loss.backward()
    optimizer.step()
    return loss, acc


def train(epoch, model, optimizer, features, adj, labels, idx_train, idx_val):
    t = time.time()
    loss_train, acc_train = train_step(model, optimizer, features, adj, labels, idx_train)
    model.eval()
    output = model(features, adj)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    acc_val = accuracy(output[idx_val], labels[idx_val])
    print("Epoch: {:04d}".format(epoch + 1), "loss_train: {:.4f}".format(loss_train.item()),
          "acc_train: {:.4f}".format(acc_train.item()), "loss_val: {:.4f}".format(loss_val.item()),
          "acc_val: {:.4f}".format(acc_val.item()), "time: {:.4f}s".format(time.time() - t))
    return loss_val.item()


def main(epochs):
    adj = (torch.rand(10, 10) > 0.7).float()
    adj = normalize(((adj + adj.t()) > 0).float())
    features, labels = torch.randn(10, 6), torch.randint(0, 3, (10,))
    model = GCN(6, 8, 3, 0.5)
    print(model.gc1)
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    idx_train, idx_val = torch.arange(6), torch.arange(6, 10)
    return [train(e, model, optimizer, features, adj, labels, idx_train, idx_val) for e in range(2 * epochs)], model


MODEL, STEP, EPOCH = "GCN.forward", "train_step", "train"
