# SPDX-License-Identifier: Apache-2.0
"""Evolution strategies: weights perturbed through state_dict and load_state_dict, fitness without gradients."""
import random
import time

import janus as torch
import janus.nn as nn


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 6), nn.Linear(6, 2)

    def forward(self, x):
        return torch.tanh(self.b(torch.tanh(self.a(x))))


def flatten(state):
    return torch.cat([v.reshape(-1) for v in state.values()])


def unflatten(vector, like):
    out, at = {}, 0
    for name, value in like.items():
        n = value.numel()
        out[name] = vector[at:at + n].view(value.shape)
        at += n
    return out


def fitness(model, xs, ys):
    with torch.no_grad():
        return -((model(xs) - ys) ** 2).mean().item()


def generation(model, center, xs, ys, sigma, lr, population):
    like = model.state_dict()
    noises, scores = [], []
    for _ in range(population):
        noise = torch.randn_like(center)
        for sign in (1, -1):
            model.load_state_dict(unflatten(center + sign * sigma * noise, like))
            noises.append(sign * noise)
            scores.append(fitness(model, xs, ys))
    ranks = sorted(range(len(scores)), key=scores.__getitem__)
    weights = torch.zeros(len(scores))
    for position, i in enumerate(ranks):
        weights[i] = position / (len(scores) - 1) - 0.5
    center = center + lr / (len(scores) * sigma) * (weights.unsqueeze(1) * torch.stack(noises)).sum(0)
    model.load_state_dict(unflatten(center, like))
    return center, max(scores)


def evolve(model, center, xs, ys, number):
    start = time.time()
    for _ in range(2):
        center, best = generation(model, center, xs, ys, 0.1, 0.5, 3)
    print("generation %d best %.5f now %.5f (%.2f s)" % (number, best, fitness(model, xs, ys), time.time() - start))
    return center


def main(epochs):
    random.seed(5)
    xs = torch.randn(6, 3)
    ys = torch.stack([xs[:, 0].tanh(), (xs[:, 1] * xs[:, 2]).tanh()], 1)
    model = Controller()
    center = flatten(model.state_dict())
    for number in range(epochs):
        center = evolve(model, center, xs, ys, number)
    return center, model


MODEL, STEP, EPOCH = "Controller.forward", "generation", "evolve"
