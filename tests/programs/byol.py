# SPDX-License-Identifier: Apache-2.0
"""Bootstrapped representations: a target network that follows by a moving average, a symmetric loss, a wrapper of hooks."""
import copy
import logging

import janus as torch
import janus.nn.functional as F
from janus import nn

logger = logging.getLogger("byol")


def default(val, def_val):
    return def_val if val is None else val


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class EMA:
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        old_weight, up_weight = ma_params.data, current_params.data
        ma_params.data = ema_updater.update_average(old_weight, up_weight)


def set_requires_grad(model, val):
    for p in model.parameters():
        p.requires_grad = val


def MLP(dim, projection_size, hidden_size=12):
    return nn.Sequential(nn.Linear(dim, hidden_size, bias=False), nn.BatchNorm1d(hidden_size), nn.ReLU(inplace=True),
                         nn.Linear(hidden_size, projection_size))


class NetWrapper(nn.Module):
    def __init__(self, net, projection_size, layer=-2):
        super().__init__()
        self.net, self.layer, self.projector, self.projection_size = net, layer, None, projection_size
        self.hidden = {}
        self.hook_registered = False

    def _hook(self, _, __, output):
        self.hidden["output"] = output.reshape(output.shape[0], -1)

    def _register_hook(self):
        children = [*self.net.children()]
        children[self.layer].register_forward_hook(self._hook)
        self.hook_registered = True

    def get_representation(self, x):
        if self.layer == -1:
            return self.net(x)
        if not self.hook_registered:
            self._register_hook()
        self.hidden.clear()
        _ = self.net(x)
        hidden = self.hidden["output"]
        self.hidden.clear()
        assert hidden is not None, f"hidden layer {self.layer} never emitted an output"
        return hidden

    def forward(self, x):
        representation = self.get_representation(x)
        if self.projector is None:
            self.projector = MLP(representation.shape[1], self.projection_size)
        return self.projector(representation), representation


class BYOL(nn.Module):
    def __init__(self, net, projection_size=6, moving_average_decay=0.9):
        super().__init__()
        self.online_encoder = NetWrapper(net, projection_size)
        self.target_encoder = None
        self.target_ema_updater = EMA(moving_average_decay)
        self.online_predictor = MLP(projection_size, projection_size)
        self.forward(torch.randn(2, 4))

    def _get_target_encoder(self):
        if self.target_encoder is None:
            self.target_encoder = copy.deepcopy(self.online_encoder)
            self.target_encoder.hook_registered = False
            set_requires_grad(self.target_encoder, False)
        return self.target_encoder

    def update_moving_average(self):
        assert self.target_encoder is not None, "target encoder has not been created yet"
        update_moving_average(self.target_ema_updater, self.target_encoder, self.online_encoder)

    def forward(self, x, return_embedding=False):
        if return_embedding:
            return self.online_encoder(x)
        one, two = x + 0.1 * torch.randn_like(x), x * (1 + 0.1 * torch.randn_like(x))
        proj_one, _ = self.online_encoder(one)
        proj_two, _ = self.online_encoder(two)
        pred_one, pred_two = self.online_predictor(proj_one), self.online_predictor(proj_two)
        with torch.no_grad():
            target_encoder = self._get_target_encoder()
            target_one, _ = target_encoder(one)
            target_two, _ = target_encoder(two)
            target_one.detach_()
            target_two.detach_()
        return (loss_fn(pred_one, target_two) + loss_fn(pred_two, target_one)).mean()


def step(learner, opt, x):
    loss = learner(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    learner.update_moving_average()
    return loss


def epoch(learner, opt, data, scale=None):
    scale = default(scale, 1.0)
    losses = []
    for x in data:
        loss = step(learner, opt, x * scale)
        losses.append(float(loss))
        logger.debug("loss %.3f", losses[-1])
    print(" ".join(f"{v:.4f}" for v in losses))
    return losses


def main(epochs):
    net = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 3))
    learner = BYOL(net)
    opt = torch.optim.Adam(learner.parameters(), lr=3e-3, eps=1e-4)
    data = torch.randn(3, 6, 4)
    results = [epoch(learner, opt, data) for _ in range(epochs)]
    with torch.no_grad():
        _, embedding = learner(data[0], return_embedding=True)
    return results, embedding


MODEL, STEP, EPOCH = "BYOL.forward", "step", "epoch"
