# SPDX-License-Identifier: Apache-2.0
"""Programs that train a table large enough for its gradient to be kept as rows."""

import janus
import janus.nn as nn
import janus.optim as optim

from .harness import case, t

ROWS, SIZE = 320, 64


class Word:
    def __init__(self, *words, left=None, right=None):
        self.word = janus.tensor(list(words))
        self.left, self.right = left, right


def sentence(k):
    leaves = [Word((7 * k + 3 * i) % ROWS) for i in range(6)]
    a = Word(0, left=leaves[0], right=leaves[1])
    b = Word(0, left=leaves[2], right=leaves[3])
    c = Word(0, left=b, right=Word(0, left=leaves[4], right=leaves[5]))
    return Word(0, left=a, right=c)


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.embedding = nn.Embedding(ROWS, SIZE, **options)
        self.embedding.weight.data = t(ROWS, SIZE)
        self.mix = nn.Linear(SIZE, SIZE)
        self.mix.weight.data, self.mix.bias.data = t(SIZE, SIZE, seed=1) * 0.1, t(SIZE, seed=2)

    def forward(self, node):
        if node.left is None:
            return self.embedding(node.word)
        return janus.tanh(self.mix(self.forward(node.left) + self.forward(node.right)))


def shown(model, optimizer):
    """What a user can look at, a few elements of it."""
    weight = model.embedding.weight
    seen = [weight[::37, ::29], weight.abs().sum(), model.mix.weight[::31, ::29]]
    if weight.grad is not None:
        seen += [weight.grad[::7, ::29], weight.grad.abs().sum(), weight.grad.shape]
    for state in optimizer.state.values():
        seen += [v[::7, ::29] for v in state.values() if isinstance(v, janus.Tensor) and v.dim() == 2]
    return seen


def training(function, log, make_optimizer, look_at, zero=True, **options):
    model = Encoder(**options)
    optimizer = make_optimizer(model.parameters())
    kept = []

    def step(batch):
        if zero:
            optimizer.zero_grad()
        loss = janus.zeros(())
        for root in batch:
            loss = loss + (model(root) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = function(step)
    for k in range(8):
        log(f([sentence(k), sentence(k + 3)]))
        if k in look_at:
            kept.append(model.embedding.weight.grad)
            log(*shown(model, optimizer))
    log(*[g[::7, ::29] for g in kept], *shown(model, optimizer))


@case
def rows_sgd(function, log):
    training(function, log, lambda p: optim.SGD(p, lr=0.1), (1, 2, 5, 7))


@case
def rows_adagrad(function, log):
    training(function, log, lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1), (0, 4))


@case
def rows_adagrad_gradients_never_looked_at(function, log):
    training(function, log, lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1, lr_decay=0.1), ())


@case
def rows_momentum(function, log):
    training(function, log, lambda p: optim.SGD(p, lr=0.1, momentum=0.9), (3,))


@case
def rows_adam(function, log):
    training(function, log, lambda p: optim.Adam(p, lr=0.01), (3,))


@case
def rows_weight_decay(function, log):
    training(function, log, lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1, weight_decay=0.01), (3,))


@case
def rows_added_to_old_gradients(function, log):
    training(function, log, lambda p: optim.SGD(p, lr=0.01), (2, 6), zero=False)


@case
def rows_padding(function, log):
    training(function, log, lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1), (5,), padding_idx=7)


@case
def rows_many_touched(function, log):
    """So many that a dense sum is cheaper, then few again."""
    w = t(ROWS, SIZE).requires_grad_()
    optimizer = optim.SGD([w], lr=0.5)

    def step(index):
        optimizer.zero_grad()
        loss = (nn.functional.embedding(index, w) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = function(step)
    for n in (4, 4, ROWS, ROWS, 4, 100):
        log(f(janus.arange(n)), w[::37, ::29], w.grad.abs().sum(), w.grad[::37, ::29])


@case
def rows_of_a_tied_table(function, log):
    """The table is used in a product too: its sum is dense."""
    model = Encoder()
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)

    def step(root):
        optimizer.zero_grad()
        loss = (model(root) @ model.embedding.weight.T).logsumexp(1).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = function(step)
    for k in range(4):
        log(f(sentence(k)))
    log(*shown(model, optimizer))


@case
def rows_through_a_view(function, log):
    """The parameter is a view of a larger tensor; a step is seen through the other view."""
    whole = t(2 * ROWS, SIZE)
    w = whole[ROWS:].requires_grad_()
    optimizer = optim.SGD([w], lr=0.5)

    def step(index):
        optimizer.zero_grad()
        loss = (nn.functional.embedding(index, w) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach(), w.detach()[3, 3]

    f = function(step)
    for k in range(4):
        log(*f(janus.tensor([3, k, k, 3])), whole[ROWS + 3, 3], whole.abs().sum(), w.grad[3, :4])


@case
def rows_two_steps_in_one_call(function, log):
    model = Encoder()
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)

    def steps(roots):
        losses = []
        for root in roots:
            optimizer.zero_grad()
            loss = (model(root) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    f = function(steps)
    for k in range(3):
        log(*f([sentence(k), sentence(k + 1)]))
    log(*shown(model, optimizer))


@case
def rows_backward_outside(function, log):
    model = Encoder()
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)
    f = function(lambda root: (model(root) ** 2).mean())
    for k in range(4):
        optimizer.zero_grad()
        loss = f(sentence(k))
        loss.backward()
        optimizer.step()
        log(loss, *shown(model, optimizer))


class Linked:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


def length(n):
    return 1 if n.rest is None else 1 + length(n.rest)


@case
def one_index_for_all_rows(function, log):
    """The rows of a batch add to one row of the table: it gets all of them."""
    emb = janus.nn.Embedding(4, 3)

    def ev(n):
        h = emb(janus.tensor(n.value)) * length(n)
        return h if n.rest is None else h + ev(n.rest)

    @function
    def f(n):
        return ev(n).sum()

    for values in ([0, 0], [0, 0], [0, 1], [2, 2, 2], [1, 1, 1, 1], [3], [0, 1, 1, 0]):
        n = None
        for v in values:
            n = Linked(v, n)
        f(n).backward()
        log(emb.weight.grad)
