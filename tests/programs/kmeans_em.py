# SPDX-License-Identifier: Apache-2.0
"""A mixture of Gaussians by expectation maximisation, and k-means that stops when no point moves."""
import math
import time

import janus as torch


class Mixture:
    def __init__(self, k, dim):
        self.k = k
        self.mean = torch.randn(k, dim)
        self.log_var = torch.zeros(k, dim)
        self.log_weight = torch.full((k,), -math.log(k))
        self.history = []

    def log_joint(self, x):
        diff = x.unsqueeze(1) - self.mean.unsqueeze(0)
        log_p = -0.5 * (diff ** 2 / self.log_var.exp() + self.log_var + math.log(2 * math.pi)).sum(2)
        return log_p + self.log_weight

    def em_step(self, x):
        joint = self.log_joint(x)
        total = torch.logsumexp(joint, dim=1, keepdim=True)
        resp = (joint - total).exp()
        n = resp.sum(0) + 1e-6
        self.mean = resp.t() @ x / n.unsqueeze(1)
        second = resp.t() @ (x * x) / n.unsqueeze(1)
        self.log_var = torch.log(second - self.mean ** 2 + 1e-3)
        self.log_weight = torch.log(n / n.sum())
        self.history.append(total.mean().item())
        return self.history[-1]


def kmeans(x, centers, rounds):
    assigned = None
    for i in range(rounds):
        distance = ((x.unsqueeze(1) - centers.unsqueeze(0)) ** 2).sum(-1)
        nearest = distance.argmin(1)
        if assigned is not None and torch.equal(nearest, assigned):
            return centers, nearest, i
        assigned = nearest
        for c in range(centers.size(0)):
            members = x[assigned == c]
            if len(members) > 0:
                centers[c] = members.mean(0)
    return centers, assigned, rounds


def em_epoch(mixture, data, number):
    start = time.time()
    for x in data:
        score = mixture.em_step(x)
    print(f"round {number}: log likelihood {score:.4f}, {time.time() - start:.3f} s")
    if len(mixture.history) > 4 and abs(mixture.history[-1] - mixture.history[-4]) < 1e-7:
        print("converged")
    return score


def main(epochs):
    data = [torch.cat([torch.randn(5, 2) * 0.4 + 2, torch.randn(5, 2) * 0.4 - 2]) for _ in range(2)]
    mixture = Mixture(2, 2)
    mixture.mean, assigned, rounds = kmeans(data[0], data[0][:2].clone(), 10)
    scores = [em_epoch(mixture, data, e) for e in range(epochs)]
    return scores, mixture.mean, mixture.log_weight, assigned, rounds


MODEL, STEP, EPOCH = "Mixture.log_joint", "Mixture.em_step", "em_epoch"
