# SPDX-License-Identifier: Apache-2.0
"""Ratings predicted from embeddings of users and items, with bias terms and early stopping on validation."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class MF(nn.Module):
    def __init__(self, users, items, k, c_vector=1e-3):
        super().__init__()
        self.user, self.item = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bias_user, self.bias_item = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.bias = nn.Parameter(torch.ones(1))
        self.c_vector = c_vector

    def forward(self, user_id, item_id):
        interaction = torch.sum(self.user(user_id) * self.item(item_id), dim=1)
        return interaction + self.bias_user(user_id).squeeze() + self.bias_item(item_id).squeeze() + self.bias

    def prior_loss(self):
        def l2(x):
            return torch.mean(x.weight ** 2)
        return self.c_vector * (l2(self.user) + l2(self.item))


def train_step(model, optimizer, users, items, ratings):
    optimizer.zero_grad()
    error = F.mse_loss(model(users, items), ratings)
    (error + model.prior_loss()).backward()
    optimizer.step()
    return error.item()


def epoch(model, optimizer, train, valid, number):
    start = time.time()
    perm = torch.randperm(train[0].size(0))
    errors = []
    for idx in perm.split(6):
        errors.append(train_step(model, optimizer, *[column[idx] for column in train]))
    model.eval()
    with torch.no_grad():
        held_out = F.mse_loss(model(valid[0], valid[1]), valid[2]).sqrt().item()
    model.train()
    print("Epoch %d | train %.3f | valid %.3f | %.2f s" % (number, sum(errors) / len(errors), held_out,
                                                           time.time() - start))
    return held_out


def main(epochs):
    users, items = torch.randint(0, 6, (30,)), torch.randint(0, 8, (30,))
    ratings = ((users + items) % 5).float()
    train, valid = (users[:24], items[:24], ratings[:24]), (users[24:], items[24:], ratings[24:])
    model = MF(6, 8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    best, waited, seen = float("inf"), 0, []
    for number in range(epochs):
        seen.append(epoch(model, optimizer, train, valid, number))
        best, waited = (seen[-1], 0) if seen[-1] < best else (best, waited + 1)
        if waited > 10:
            break
    return seen, best, model


MODEL, STEP, EPOCH = "MF.forward", "train_step", "epoch"
