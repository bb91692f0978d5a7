# SPDX-License-Identifier: Apache-2.0
"""Particle filters with learnt motion and sensors: robots among landmarks, soft resampling when few particles count, belief kept in objects."""
import itertools
import math
import random
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

LANDMARKS = {"tower": (0.0, 3.0), "tree": (2.5, -1.0), "well": (-2.0, -1.5)}


class Belief:
    """Particles and the logarithms of their weights; a new one at each step, so that gradients can flow through."""

    def __init__(self, particles, logw):
        self.particles, self.logw = particles, logw

    @classmethod
    def around(cls, pose, n, spread):
        noise = torch.randn(n, 3) * torch.tensor(spread)
        return cls(torch.tensor(pose) + noise, torch.full((n,), -math.log(n)))

    @property
    def n(self):
        return self.particles.size(0)

    def effective(self):
        return 1.0 / torch.exp(2 * self.logw).sum()

    def mean(self):
        w = self.logw.exp().unsqueeze(1)
        xy = (w * self.particles[:, :2]).sum(0)
        s, c = (w[:, 0] * self.particles[:, 2].sin()).sum(), (w[:, 0] * self.particles[:, 2].cos()).sum()
        return torch.cat([xy, torch.atan2(s, c).view(1)])

    def moved(self, particles):
        return Belief(particles, self.logw)

    def weighed(self, loglik):
        logw = self.logw + loglik
        return Belief(self.particles, logw - torch.logsumexp(logw, 0))

    def resampled(self, alpha):
        w = self.logw.exp()
        proposal = alpha * w + (1 - alpha) / self.n
        index = torch.multinomial(proposal.detach(), self.n, replacement=True)
        logw = torch.log(w[index] / proposal[index])
        return Belief(self.particles[index], logw - torch.logsumexp(logw, 0))

    def __repr__(self):
        x, y, _ = self.mean().tolist()
        return f"Belief({x:.2f}, {y:.2f}; {self.effective().item():.1f} of {self.n})"


class Motion(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 + 2, 16), nn.ReLU(), nn.Linear(16, 3))
        self.log_std = nn.Parameter(torch.tensor([-2.0, -2.0, -2.5]))

    def forward(self, particles, control):
        speed, turn = control
        theta = particles[:, 2]
        step = torch.stack([speed * torch.cos(theta), speed * torch.sin(theta), torch.full_like(theta, turn)], dim=1)
        seen = torch.cat([theta.sin()[:, None], theta.cos()[:, None], torch.ones(len(particles), 1),
                          torch.tensor([[speed, turn]]).expand(len(particles), -1)], dim=1)
        return particles + step + 0.1 * self.net(seen) + torch.randn_like(particles) * self.log_std.exp()


class Sensor(nn.Module):
    """Distances to the landmarks that were seen; one noise for each kind, outliers mixed in."""

    def __init__(self, names):
        super().__init__()
        self.scale = nn.ParameterDict({n: nn.Parameter(torch.tensor(0.0)) for n in names})
        self.outlier = nn.Parameter(torch.tensor(-2.0))

    def forward(self, particles, observation):
        total = torch.zeros(len(particles))
        for name, distance in observation.items():
            if distance is None:
                continue
            there = torch.tensor(LANDMARKS[name])
            expected = (particles[:, :2] - there).pow(2).sum(1).add(1e-6).sqrt()
            sigma = F.softplus(self.scale[name]) + 0.05
            good = -0.5 * ((distance - expected) / sigma) ** 2 - torch.log(sigma)
            mix = torch.sigmoid(self.outlier)
            total = total + torch.logaddexp(good + torch.log(1 - mix), torch.log(mix) - 3.0)
        return total


class Filter(nn.Module):
    def __init__(self, n=40, alpha=0.7, threshold=0.5):
        super().__init__()
        self.n, self.alpha, self.threshold = n, alpha, threshold
        self.motion, self.sensor = Motion(), Sensor(LANDMARKS)
        self.resamplings = 0

    def step(self, belief, control, observation):
        if belief.effective() < self.threshold * belief.n:
            belief = belief.resampled(self.alpha)
            self.resamplings += 1
        belief = belief.moved(self.motion(belief.particles, control))
        if not observation:
            return belief
        return belief.weighed(self.sensor(belief.particles, observation))

    def forward(self, episode, teacher_every=None):
        belief, means = Belief.around(episode["poses"][0], self.n, (0.3, 0.3, 0.2)), []
        for control, observation in zip(episode["controls"], episode["observations"]):
            belief = self.step(belief, control, observation)
            means.append(belief.mean())
        return torch.stack(means), belief


def pose_error(means, poses):
    target = torch.tensor(poses)
    d = means - target
    angle = torch.atan2(torch.sin(d[:, 2]), torch.cos(d[:, 2]))
    return d[:, :2].pow(2).sum(1), angle ** 2


def train_step(model, optimizer, episode):
    optimizer.zero_grad()
    means, last = model(episode)
    place, angle = pose_error(means, episode["poses"][1:])
    loss = place.mean() + 0.3 * angle.mean()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if math.isnan(norm.item()):
        raise FloatingPointError("gradients are not numbers")
    optimizer.step()
    return loss.item(), place[-1].sqrt().item(), last


def train_epoch(epoch, model, optimizer, episodes, test):
    start, losses, finals, before = time.time(), [], [], model.resamplings
    for episode in episodes:
        loss, final, last = train_step(model, optimizer, episode)
        losses.append(loss)
        finals.append(final)
    with torch.no_grad():
        belief = Belief.around(test["poses"][0], model.n, (0.3, 0.3, 0.2))
        for i, (c, o) in enumerate(zip(test["controls"], test["observations"])):
            belief = model.step(belief, c, o)
            if i % 4 == 0:
                print(f"   t={i} {belief!r} at ({test['poses'][i + 1][0]:.2f}, {test['poses'][i + 1][1]:.2f})")
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} final {max(finals):.3f} "
          f"resampled {model.resamplings - before} last {last} [{time.time() - start:.2f}s]")
    return losses


def drive(rng, steps):
    pose = (rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-3, 3))
    episode = {"poses": [pose], "controls": [], "observations": []}
    for t in range(steps):
        speed, turn = rng.uniform(0.1, 0.4), rng.gauss(0, 0.2)
        x, y, th = pose
        pose = (x + 0.9 * speed * math.cos(th), y + 0.9 * speed * math.sin(th), th + turn + 0.02)
        seen = {}
        for name, (lx, ly) in LANDMARKS.items():
            if rng.random() < 0.7:
                seen[name] = math.hypot(pose[0] - lx, pose[1] - ly) + rng.gauss(0, 0.1) if rng.random() < 0.9 else None
        episode["poses"].append(pose)
        episode["controls"].append((speed, turn))
        episode["observations"].append(seen)
    return episode


def main(epochs):
    torch.manual_seed(4)
    rng = random.Random(4)
    lengths = itertools.cycle((6, 9, 7))
    episodes = [drive(rng, n) for n in itertools.islice(lengths, 6)]
    model = Filter()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    history = [train_epoch(e, model, optimizer, episodes, episodes[0]) for e in range(epochs)]
    return history, model.state_dict(), model.resamplings


MODEL, STEP, EPOCH = "Filter.forward", "train_step", "train_epoch"
