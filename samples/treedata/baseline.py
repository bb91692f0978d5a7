# SPDX-License-Identifier: Apache-2.0
"""What a classifier of trees has to beat: the majority class, and bags of node types.

The second is a multinomial logistic regression on the logarithms of how often each node type
occurs, trained to convergence on the whole training set by L-BFGS, in double precision.
"""
import janus
import janus.nn.functional as F

PENALTY = 1e-4
MEMORY = 10
TOLERANCE = 1e-4  # of the largest element of the gradient
MOST_STEPS = 1000


def majority(train, test):
    """Test accuracy of the class that is most frequent in training."""
    counts = {}
    for example in train:
        counts[example.label] = counts.get(example.label, 0) + 1
    best = min(counts, key=lambda label: (-counts[label], label))
    return sum(example.label == best for example in test) / len(test)


def bags(kinds, n_kinds):
    """One row of counts for each list of numbers below `n_kinds`; others are not counted."""
    rows = []
    for listed in kinds:
        row = [0.0] * n_kinds
        for kind in listed:
            if kind < n_kinds:
                row[kind] += 1.0
        rows.append(row)
    return janus.tensor(rows, dtype=janus.float64)


def standardise(train, test):
    """Log counts with mean 0 and variance 1 in training, and a column of ones for the bias."""
    train, test = (1.0 + train).log(), (1.0 + test).log()
    mean = train.mean(0)
    deviation = ((train - mean) * (train - mean)).mean(0).sqrt() + 1e-6
    return [janus.cat([(side - mean) / deviation, janus.ones(side.shape[0], 1, dtype=janus.float64)], 1)
            for side in (train, test)]


def dot(a, b):
    """The inner product of two tensors as a number."""
    return (a * b).sum().item()


def direction(gradient, steps, changes):
    """L-BFGS: minus the gradient times an estimate of the inverse second derivative."""
    result, factors = -gradient, []
    for step, change in zip(reversed(steps), reversed(changes)):
        factor = dot(step, result) / dot(step, change)
        factors.append(factor)
        result = result - factor * change
    if steps:
        result = result * (dot(steps[-1], changes[-1]) / dot(changes[-1], changes[-1]))
    for step, change, factor in zip(steps, changes, reversed(factors)):
        result = result + (factor - dot(change, result) / dot(step, change)) * step
    return result


def minimise(function, weight):
    """The place of the smallest value; `function` gives value and gradient.  Stops at TOLERANCE."""
    steps, changes = [], []
    value, gradient = function(weight)
    for _ in range(MOST_STEPS):
        if gradient.abs().max().item() < TOLERANCE:
            break
        way = direction(gradient, steps, changes)
        slope, length = dot(way, gradient), 1.0
        while True:
            new_value, new_gradient = function(weight + length * way)
            if new_value <= value + 1e-4 * length * slope:
                break
            length /= 2
            if length < 1e-10:
                return weight
        step, change = length * way, new_gradient - gradient
        if dot(step, change) > 1e-12:
            steps.append(step)
            changes.append(change)
            del steps[:-MEMORY], changes[:-MEMORY]
        weight, value, gradient = weight + step, new_value, new_gradient
    return weight


def bag_of_types(dataset):
    """Test accuracy of the logistic regression, or None where a task has no node types."""
    if dataset.kinds is None:
        return None
    n_kinds = 1 + max(kind for kinds in dataset.kinds[0] for kind in kinds)
    x, x_test = standardise(*(bags(kinds, n_kinds) for kinds in dataset.kinds))
    y, y_test = (janus.tensor([example.label for example in side]) for side in (dataset.train, dataset.test))

    def loss(weight):
        weight = weight.detach().requires_grad_()
        value = F.cross_entropy(x @ weight.t(), y) + PENALTY * (weight * weight).sum()
        value.backward()
        return value.item(), weight.grad

    weight = minimise(loss, janus.zeros(len(dataset.classes), x.shape[1], dtype=janus.float64))
    return ((x_test @ weight.t()).argmax(1) == y_test).sum().item() / len(dataset.test)
