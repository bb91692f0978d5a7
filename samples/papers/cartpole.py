# SPDX-License-Identifier: Apache-2.0
"""A pole on a cart (Barto, Sutton and Anderson 1983), in plain Python."""
import math
import random


class CartPole:
    FORCE, TAU, LENGTH, POLE, TOTAL = 10.0, 0.02, 0.5, 0.1, 1.1

    def __init__(self, seed, longest=200):
        self.random = random.Random(seed)
        self.longest = longest

    def reset(self):
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        self.time = 0
        return list(self.state)

    def step(self, action):
        x, v, angle, turn = self.state
        force = self.FORCE if action == 1 else -self.FORCE
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + self.POLE * self.LENGTH * turn ** 2 * sin) / self.TOTAL
        spin = (9.8 * sin - cos * push) / (self.LENGTH * (4.0 / 3.0 - self.POLE * cos ** 2 / self.TOTAL))
        move = push - self.POLE * self.LENGTH * spin * cos / self.TOTAL
        self.state = [x + self.TAU * v, v + self.TAU * move, angle + self.TAU * turn, turn + self.TAU * spin]
        self.time += 1
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095 or self.time >= self.longest
        return list(self.state), 1.0, done
