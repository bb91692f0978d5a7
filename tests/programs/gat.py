# SPDX-License-Identifier: Apache-2.0
"""A graph attention network: heads made in a loop and registered by name, early stopping on a count."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout, self.out_features, self.concat = dropout, out_features, concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[:self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features:, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout, alpha, nheads):
        super().__init__()
        self.dropout = dropout
        self.attentions = [GraphAttentionLayer(nfeat, nhid, dropout, alpha, concat=True) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module("attention_{}".format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, dropout, alpha, concat=False)

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        x = F.dropout(x, self.dropout, training=self.training)
        x = F.elu(self.out_att(x, adj))
        return F.log_softmax(x, dim=1)


def train_step(model, optimizer, features, adj, labels, idx):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[idx], labels[idx])
    loss.backward()
    optimizer.step()
    return loss.data.item()


def epoch(number, model, optimizer, features, adj, labels, idx_train, idx_val):
    t = time.time()
    loss = train_step(model, optimizer, features, adj, labels, idx_train)
    model.eval()
    output = model(features, adj)
    val = F.nll_loss(output[idx_val], labels[idx_val]).data.item()
    print("Epoch: %04d loss %.4f val %.4f time %.4fs" % (number + 1, loss, val, time.time() - t))
    return val


def main(epochs):
    adj = ((torch.rand(9, 9) > 0.6).float() + torch.eye(9) > 0).float()
    features, labels = torch.rand(9, 5), torch.randint(0, 3, (9,))
    model = GAT(5, 4, 3, 0.3, 0.2, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    losses, best, bad_counter = [], 1e9, 0
    for number in range(2 * epochs):
        losses.append(epoch(number, model, optimizer, features, adj, labels, slice(0, 5), slice(5, 9)))
        if losses[-1] < best:
            best, bad_counter = losses[-1], 0
        else:
            bad_counter += 1
        if bad_counter == 40:
            break
    return losses, model


MODEL, STEP, EPOCH = "GAT.forward", "train_step", "epoch"
