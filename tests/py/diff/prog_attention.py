# SPDX-License-Identifier: Apache-2.0
"""Attention: masks, causal, heads, recursion over it; blocks of GPT and BERT."""

import math

import janus
import janus.nn as nn
import janus.nn.functional as F

from .harness import MUST, case, t


def heads(x, n):
    return x.reshape(x.shape[0], x.shape[1], n, x.shape[2] // n).transpose(1, 2)


class Block(nn.Module):
    """A block of GPT-2."""

    def __init__(self, size=8, n_heads=2):
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        q, k, v = [heads(part, self.n_heads) for part in self.qkv(self.norm1(x)).chunk(3, -1)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


@case(graph=MUST)
def causal_block(function, log):
    m = Block()
    opt = janus.optim.SGD(m.parameters(), lr=0.1)

    @function
    def step(x):
        opt.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    for n in (3, 3, 5, 70, 5):
        log(step(t(2, n, 8, seed=n)), m)


@case(graph=MUST)
def masks(function, log):
    q, k, v = t(2, 3, 4, grad=True), t(2, 5, 4, seed=1, grad=True), t(2, 5, 2, seed=2, grad=True)
    bias = t(3, 5, seed=3, grad=True)
    allowed = t(2, 1, 5, seed=4) > 0.2

    @function
    def f(scale):
        for x in (q, k, v, bias):
            x.grad = None
        y = F.scaled_dot_product_attention(q, k, v, bias, scale=scale)
        z = F.scaled_dot_product_attention(q, k, v, allowed)
        (y * z).sum().backward()
        return y, z

    for scale in (None, 0.5, 0.5, None):
        log(f(scale), q.grad, k.grad, v.grad, bias.grad)


@case(graph=MUST)
def nothing_allowed(function, log):
    q = t(3, 4, grad=True)
    refused = janus.zeros(3, 3, dtype=janus.bool)

    @function
    def f(mask):
        y = F.scaled_dot_product_attention(q, q, q, mask)
        return y, janus.autograd.grad(y.sum(), q)[0]

    for i in range(3):
        refused[i] = True
        log(f(refused))


@case
def second_gradients(function, log):
    q, k, v = t(3, 4, grad=True), t(5, 4, seed=1, grad=True), t(5, 2, seed=2, grad=True)
    f = function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    for i in range(3):
        y = f(q, k, v)
        first = janus.autograd.grad(y.square().sum(), (q, k, v), create_graph=True)
        log(first, janus.autograd.grad(sum(x.square().sum() for x in first), (q, k, v)))


@case
def dropout(function, log):
    q = t(2, 5, 4, grad=True)
    f = function(lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5))
    for i in range(3):
        y = f(q)
        log(y, janus.autograd.grad(y.sum(), q)[0])


@case
def mask_with_causal(function, log):
    f = function(lambda q, m: F.scaled_dot_product_attention(q, q, q, m, is_causal=True))
    for i in range(3):
        try:
            log(f(t(3, 4), t(3, 3)))
        except RuntimeError as e:
            log(str(e))


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, children


def tree(n):
    return Node(n, [tree(n // 2), tree(n - 1 - n // 2)] if n > 1 else [])


@case(graph=MUST)
def over_trees(function, log):
    """Each node attends to its children: rows of many frames at once."""
    w = t(4, 4, grad=True)
    memory = t(3, 4, seed=1, grad=True)

    def visit(node):
        if not node.children:
            return janus.tanh(memory[0] * node.value)
        below = janus.stack([visit(c) for c in node.children])
        q = (w @ below.sum(0)).unsqueeze(0)
        y = F.scaled_dot_product_attention(q, below, below, scale=0.5)
        return janus.tanh(F.scaled_dot_product_attention(y, memory, memory).squeeze(0))

    @function
    def f(node):
        w.grad = memory.grad = None
        loss = visit(node).sum()
        loss.backward()
        return loss

    for n in (1, 3, 6, 9, 7):
        log(f(tree(n)), w.grad, memory.grad)


@case
def encoder_layer(function, log):
    m = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    padding = janus.zeros(2, 4, dtype=janus.bool)
    padding[1, 3:] = True
    f = function(lambda x: m(x, src_key_padding_mask=padding))
    for i in range(3):
        y = f(t(2, 4, 8, seed=i))
        y.square().sum().backward()
        log(y, m)


@case
def same_as_composed(function, log):
    """What the op computes is what products and softmax do."""
    for seed in range(3):
        q, k, v = [t(2, 6, 4, seed=3 * seed + i, grad=True) for i in range(3)]
        y = function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v))(q, k, v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        z = F.softmax(scores, -1) @ v
        assert (y - z).abs().max().item() < 1e-5
        got, want = janus.autograd.grad(y.square().sum(), (q, k, v)), janus.autograd.grad(z.square().sum(), (q, k, v))
        assert all((a - b).abs().max().item() < 1e-4 for a, b in zip(got, want))
        log(y)
