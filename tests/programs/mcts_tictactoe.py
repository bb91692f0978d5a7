# SPDX-License-Identifier: Apache-2.0
"""Self-play of a small game: a tree search that grows nodes in dicts, guided by a network of policy and value."""
import math
import random

import janus as torch
import janus.nn as nn
import janus.nn.functional as F

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] and board[a] == board[b] == board[c]:
            return board[a]
    return 0 if all(board) else None


class PolicyValue(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Linear(18, width)
        self.policy = nn.Linear(width, 9)
        self.value = nn.Linear(width, 1)

    def forward(self, x):
        h = F.relu(self.body(x))
        return F.log_softmax(self.policy(h), dim=-1), torch.tanh(self.value(h)).squeeze(-1)


def encode(board, player):
    mine = [float(v == player) for v in board]
    theirs = [float(v == -player) for v in board]
    return torch.tensor(mine + theirs)


class Node:
    def __init__(self, prior):
        self.visits, self.total, self.prior, self.children = 0, 0.0, prior, {}

    def expanded(self):
        return len(self.children) > 0

    def value(self):
        return self.total / self.visits if self.visits else 0.0


def ucb(parent, child):
    return child.prior * math.sqrt(parent.visits) / (child.visits + 1) - child.value()


def evaluate(net, board, player):
    with torch.no_grad():
        logp, v = net(encode(board, player))
    return logp.exp().tolist(), v.item()


def search(net, board, player, simulations):
    root = Node(0)
    for _ in range(simulations):
        node, b, p = root, list(board), player
        path = [node]
        while node.expanded():
            action, node = max(node.children.items(), key=lambda kv: ucb(path[-1], kv[1]))
            b[action] = p
            p = -p
            path.append(node)
        w = winner(b)
        if w is None:
            probs, v = evaluate(net, b, p)
            for i in range(9):
                if b[i] == 0:
                    node.children[i] = Node(probs[i])
        else:
            v = 0.0 if w == 0 else (1.0 if w == p else -1.0)
        for n in reversed(path):
            n.visits += 1
            n.total += v
            v = -v
    return root


def play(net, simulations):
    board, player, history = [0] * 9, 1, []
    while winner(board) is None:
        root = search(net, board, player, simulations)
        counts = [root.children[i].visits if i in root.children else 0 for i in range(9)]
        total = sum(counts)
        history.append((encode(board, player), torch.tensor([c / total for c in counts]), player))
        action = random.choices(range(9), weights=counts)[0]
        board[action] = player
        player = -player
    w = winner(board)
    return [(s, pi, float(w * p)) for s, pi, p in history]


def step(net, optimizer, batch):
    states, targets, values = zip(*batch)
    logp, v = net(torch.stack(states))
    policy_loss = -(torch.stack(targets) * logp).sum(1).mean()
    value_loss = F.mse_loss(v, torch.tensor(values))
    loss = policy_loss + value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return policy_loss.item(), value_loss.item()


def epoch(net, optimizer, memory):
    memory.extend(play(net, 6))
    random.shuffle(memory)
    for i in range(0, len(memory) - 3, 4):
        losses = step(net, optimizer, memory[i:i + 4])
    del memory[:-16]
    print("policy %.3f value %.3f; %d positions" % (*losses, len(memory)))
    return losses


def main(epochs):
    net = PolicyValue()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    memory = []
    return [epoch(net, optimizer, memory) for _ in range(epochs)], len(memory), net


MODEL, STEP, EPOCH = "PolicyValue.forward", "step", "epoch"
