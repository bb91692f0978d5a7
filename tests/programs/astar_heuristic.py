# SPDX-License-Identifier: Apache-2.0
"""A* over random mazes with a heuristic that is learnt from the paths it finds: a heap, a table of costs, paths walked back from the goal."""
import heapq
import itertools
import random

import janus as torch
import janus.nn as nn

WIDTH = 6


class Maze:
    def __init__(self, rng):
        self.walls = {(rng.randrange(WIDTH), rng.randrange(WIDTH)) for _ in range(9)} - {(0, 0), (WIDTH - 1, WIDTH - 1)}
        self.goal = (WIDTH - 1, WIDTH - 1)

    def neighbours(self, at):
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            x, y = at[0] + dx, at[1] + dy
            if 0 <= x < WIDTH and 0 <= y < WIDTH and (x, y) not in self.walls:
                yield (x, y)

    def features(self, at):
        near = sum(1 for _ in self.neighbours(at))
        return [(self.goal[0] - at[0]) / WIDTH, (self.goal[1] - at[1]) / WIDTH, near / 4, len(self.walls) / 10]


class Heuristic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1), nn.Softplus())

    def forward(self, rows):
        return self.layers(rows).squeeze(-1) * WIDTH


def search(maze, net, start=(0, 0)):
    order = itertools.count()
    cost, came, closed = {start: 0}, {start: None}, set()
    heap = [(0.0, next(order), start)]
    while heap:
        _, _, at = heapq.heappop(heap)
        if at == maze.goal:
            break
        if at in closed:
            continue
        closed.add(at)
        fresh = [n for n in maze.neighbours(at) if n not in cost or cost[at] + 1 < cost[n]]
        if not fresh:
            continue
        with torch.no_grad():
            guesses = net(torch.tensor([maze.features(n) for n in fresh])).tolist()
        for n, guess in zip(fresh, guesses):
            cost[n], came[n] = cost[at] + 1, at
            heapq.heappush(heap, (cost[n] + guess, next(order), n))
    if maze.goal not in came:
        return None, len(closed)
    path, at = [], maze.goal
    while at is not None:
        path.append(at)
        at = came[at]
    return path[::-1], len(closed)


def fit(net, opt, maze, path):
    rows, left = [], []
    for i, at in enumerate(path):
        rows.append(maze.features(at))
        left.append(float(len(path) - 1 - i))
    x, y = torch.tensor(rows), torch.tensor(left)
    guess = net(x)
    over = torch.relu(guess - y)
    loss = ((guess - y) ** 2).mean() + 2.0 * over.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def run_epoch(epoch, net, opt, mazes):
    losses, opened, lost = [], 0, 0
    for maze in mazes:
        path, n = search(maze, net)
        opened += n
        if path is None:
            lost += 1
            continue
        losses.append(fit(net, opt, maze, path))
    print(f"epoch {epoch}: opened {opened}, without a path {lost}, loss {sum(losses) / max(len(losses), 1):.4f}")
    return opened, losses


def main(epochs):
    torch.manual_seed(2)
    rng = random.Random(2)
    mazes = [Maze(rng) for _ in range(8)]
    net = Heuristic()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.8)
    return [run_epoch(e, net, opt, mazes) for e in range(epochs)]


MODEL, STEP, EPOCH = "Heuristic.forward", "fit", "run_epoch"
