# SPDX-License-Identifier: Apache-2.0
"""A polynomial fitted until the loss is small enough, with features made by hand and gradients zeroed by hand."""
from itertools import count

import janus as torch
import janus.nn.functional as F

POLY_DEGREE = 3
W_target = [[0.5], [-1.0], [0.25]]


def make_features(x):
    """Builds features i.e. a matrix with columns [x, x^2, x^3]."""
    x = x.unsqueeze(1)
    return torch.cat([x ** i for i in range(1, POLY_DEGREE + 1)], 1)


def f(x):
    return x.mm(torch.tensor(W_target)) + 0.3


def poly_desc(W, b):
    result = "y = "
    for i, w in enumerate(W):
        result += "{:+.2f} x^{} ".format(w, i + 1)
    result += "{:+.2f}".format(b[0])
    return result


def get_batch(batch_size=8):
    x = make_features(torch.rand(batch_size) * 2 - 1)
    return x, f(x)


def train_batch(fc, batch_x, batch_y, lr):
    fc.zero_grad()
    output = F.smooth_l1_loss(fc(batch_x), batch_y)
    loss = output.item()
    output.backward()
    for param in fc.parameters():
        param.data.add_(-lr * param.grad)
    return loss


def train(fc, limit, lr=0.1):
    for batch_idx in count(1):
        batch_x, batch_y = get_batch()
        loss = train_batch(fc, batch_x, batch_y, lr)
        if loss < 1e-3 or batch_idx >= limit:
            break
    print("Loss: {:.6f} after {} batches".format(loss, batch_idx))
    print("==> Learned function:\t" + poly_desc(fc.weight.view(-1).tolist(), fc.bias.tolist()))
    return loss, batch_idx


def main(epochs):
    fc = torch.nn.Linear(POLY_DEGREE, 1)
    out = [train(fc, 6) for _ in range(epochs)]
    print("==> Actual function:\t" + poly_desc([w[0] for w in W_target], [0.3]))
    return out, fc


MODEL, STEP, EPOCH = "make_features", "train_batch", "train"
