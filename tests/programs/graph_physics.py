# SPDX-License-Identifier: Apache-2.0
"""A learned simulator: particles joined by springs and by a radius, messages over edges found anew, running normalisers, rollouts."""
import copy
import random
import time
from collections import namedtuple

import janus as torch
import janus.nn as nn

Graph = namedtuple("Graph", "nodes edges senders receivers")


class Normalizer(nn.Module):
    """Running mean and deviation of what it has been shown, at most `limit` times."""

    def __init__(self, size, limit=20, eps=1e-4):
        super().__init__()
        self.limit, self.eps, self.calls = limit, eps, 0
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("total", torch.zeros(size))
        self.register_buffer("squares", torch.zeros(size))

    def forward(self, x):
        if self.training and self.calls < self.limit:
            with torch.no_grad():
                self.count += x.shape[0]
                self.total += x.sum(0)
                self.squares += (x ** 2).sum(0)
            self.calls += 1
        return (x - self.mean) / self.std

    def inverse(self, x):
        return x * self.std + self.mean

    @property
    def mean(self):
        return self.total / self.count.clamp(min=1)

    @property
    def std(self):
        return torch.sqrt((self.squares / self.count.clamp(min=1) - self.mean ** 2).clamp(min=0)) + self.eps


def mlp(*sizes, norm=True):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    if norm:
        layers.append(nn.LayerNorm(sizes[-1]))
    return nn.Sequential(*layers)


class Processor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.edge_fn = mlp(3 * width, width, width)
        self.node_fn = mlp(2 * width, width, width)

    def forward(self, graph):
        messages = self.edge_fn(torch.cat([graph.edges, graph.nodes[graph.senders], graph.nodes[graph.receivers]], dim=-1))
        gathered = torch.zeros_like(graph.nodes).index_add(0, graph.receivers, messages)
        update = self.node_fn(torch.cat([graph.nodes, gathered], dim=-1))
        return graph._replace(nodes=graph.nodes + update, edges=graph.edges + messages)


class Simulator(nn.Module):
    def __init__(self, width=12, rounds=2, radius=0.6, dt=0.05):
        super().__init__()
        self.radius, self.dt = radius, dt
        self.node_in, self.edge_in = mlp(3, width, width), mlp(4, width, width)
        self.rounds = nn.ModuleList([Processor(width) for _ in range(rounds)])
        self.decode = mlp(width, width, 2, norm=False)
        self.node_norm, self.out_norm = Normalizer(2), Normalizer(2)

    def connect(self, position, springs):
        distance = torch.cdist(position, position)
        near = (distance < self.radius) & ~torch.eye(position.size(0), dtype=torch.bool)
        for i, j in springs:
            near[i, j] = near[j, i] = True
        senders, receivers = near.nonzero(as_tuple=True)
        return senders, receivers

    def build(self, position, velocity, mass, springs):
        senders, receivers = self.connect(position, springs)
        is_spring = torch.zeros(len(senders), 1)
        pairs = {(i, j) for a, b in springs for i, j in ((a, b), (b, a))}
        for k, pair in enumerate(zip(senders.tolist(), receivers.tolist())):
            if pair in pairs:
                is_spring[k] = 1.0
        offset = (position[senders] - position[receivers]) / self.radius
        edges = torch.cat([offset, offset.norm(dim=-1, keepdim=True), is_spring], dim=-1)
        nodes = torch.cat([self.node_norm(velocity), mass.unsqueeze(-1)], dim=-1)
        return Graph(self.node_in(nodes), self.edge_in(edges), senders, receivers)

    def forward(self, position, velocity, mass, springs):
        graph = self.build(position, velocity, mass, springs)
        for layer in self.rounds:
            graph = layer(graph)
        return self.decode(graph.nodes)

    def integrate(self, position, velocity, mass, springs):
        acceleration = self.out_norm.inverse(self(position, velocity, mass, springs))
        velocity = velocity + self.dt * acceleration
        return position + self.dt * velocity, velocity


class Scene:
    """The real thing: springs of rest length 0.5 and some friction, integrated in small steps."""

    def __init__(self, rng, n):
        self.mass = torch.tensor([rng.choice([1.0, 2.0]) for _ in range(n)])
        self.springs = [(i, i + 1) for i in range(n - 1)]
        if rng.random() < 0.5:
            self.springs.append((0, n - 1))
        self.start = (torch.rand(n, 2) * 1.5, torch.randn(n, 2) * 0.2)

    def acceleration(self, p, v):
        force = [-0.1 * v[i] for i in range(len(p))]
        for i, j in self.springs:
            d = p[j] - p[i]
            length = d.norm() + 1e-6
            pull = 3.0 * (length - 0.5) * d / length
            force[i], force[j] = force[i] + pull, force[j] - pull
        return torch.stack(force) / self.mass[:, None]

    def simulate(self, steps, dt=0.05):
        p, v = self.start
        frames = []
        for _ in range(steps):
            a = self.acceleration(p, v)
            frames.append((p, v, a))
            v = v + dt * a
            p = p + dt * v
        return frames


def train_step(model, optimizer, scene, frame, noise):
    position, velocity, target = frame
    position = position + torch.randn_like(position) * noise
    optimizer.zero_grad()
    predicted = model(position, velocity, scene.mass, scene.springs)
    loss = ((predicted - model.out_norm(target)) ** 2).mean()
    loss.backward()
    total = sum((p.grad ** 2).sum() for p in model.parameters() if p.grad is not None)
    if not torch.isfinite(total):
        print("gradient is not finite, skipped")
        return None
    optimizer.step()
    return loss.item()


@torch.no_grad()
def rollout_error(model, scene, frames):
    model.eval()
    p, v, _ = frames[0]
    errors = []
    for real, _, _ in frames[1:]:
        p, v = model.integrate(p, v, scene.mass, scene.springs)
        errors.append(((p - real) ** 2).mean().item())
    model.train()
    return errors


def train_epoch(epoch, model, optimizer, data, rng, best, noise=0.003):
    tic, losses = time.perf_counter(), []
    items = [(s, f) for s, frames in data[:-1] for f in rng.sample(frames, 3)]
    rng.shuffle(items)
    for scene, frame in items:
        loss = train_step(model, optimizer, scene, frame, noise)
        if loss is not None:
            losses.append(loss)
    errors = rollout_error(model, *data[-1])
    score = sum(errors) / len(errors)
    if score < best.get("score", float("inf")):
        best.update(score=score, epoch=epoch, weights=copy.deepcopy(model.state_dict()))
    print(f"epoch {epoch} | loss {sum(losses) / len(losses):.4f} | rollout {score:.5f} | last {errors[-1]:.5f} "
          f"| best {best['epoch']} | {(time.perf_counter() - tic) * 1000:.0f} ms")
    return losses, errors


def main(epochs):
    torch.manual_seed(7)
    rng = random.Random(7)
    data = []
    for n in (4, 5, 3, 6, 4):
        scene = Scene(rng, n)
        data.append((scene, scene.simulate(6)))
    model, best = Simulator(), {}
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = [train_epoch(e, model, optimizer, data, rng, best) for e in range(epochs)]
    if best:
        model.load_state_dict(best["weights"])
    return history, best, model.state_dict()


MODEL, STEP, EPOCH = "Simulator.forward", "train_step", "train_epoch"
