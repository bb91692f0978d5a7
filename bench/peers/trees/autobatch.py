# SPDX-License-Identifier: Apache-2.0
"""DyNet with its automatic batching: an expression graph for each tree, batched when it is run.

Gates are one product each; the sum of the losses of all nodes of a batch is one expression.
Its memory is taken before the first step, so how much a step needs cannot be seen from outside.
"""
import importlib.metadata

import dynet_config

import serve

MEASURES_MEMORY = False
dy = None


def prepare(_system, _threads):
    global dy
    # Forward, backward, parameters, scratch in MB: with autobatching the pools do not grow.
    dynet_config.set(mem="512,512,1024,256", autobatch=1, random_seed=1)
    import dynet
    dy = dynet


def version():
    return f"dynet38 {importlib.metadata.version('dynet38')}, CPU, autobatch"


def stats(_step):
    return None


def builder(inputs):
    return serve.tree_builder(inputs, int, int)


class TreeRNN:
    def __init__(self, embedding, weights, _size):
        self.embedding, self.weights = embedding, weights

    def state(self, node, score):
        if node.left is None:
            h = dy.lookup(self.embedding, node.word)
        else:
            left, right = self.state(node.left, score), self.state(node.right, score)
            h = self.combine(dy.concatenate([left, right]))
        score(h, node.label)
        return h

    def combine(self, x):
        return dy.tanh(dy.affine_transform([self.weights["inner.bias"], self.weights["inner.weight"], x]))


class BinaryTreeLSTM:
    def __init__(self, embedding, weights, size):
        self.embedding, self.weights, self.size = embedding, weights, size

    def part(self, x, number, count=1):
        return dy.pick_range(x, number * self.size, (number + count) * self.size)

    def state(self, node, score):
        weights, part = self.weights, self.part
        if node.left is None:
            x = dy.lookup(self.embedding, node.word)
            gates = dy.affine_transform([weights["leaf.bias"], weights["leaf.weight"], x])
            sigmoids = dy.logistic(part(gates, 0, 2))
            c = dy.cmult(part(sigmoids, 0), dy.tanh(part(gates, 2)))
        else:
            left_h, left_c = self.state(node.left, score)
            right_h, right_c = self.state(node.right, score)
            x = dy.concatenate([left_h, right_h])
            gates = dy.affine_transform([weights["inner.bias"], weights["inner.weight"], x])
            sigmoids = dy.logistic(part(gates, 0, 4))
            c = dy.cmult(part(sigmoids, 0), dy.tanh(part(gates, 4))) \
                + dy.cmult(part(sigmoids, 2), left_c) + dy.cmult(part(sigmoids, 3), right_c)
        h = dy.cmult(part(sigmoids, 1), dy.tanh(c))
        score(h, node.label)
        return h, c


MODELS = {"treernn": TreeRNN, "treelstm": BinaryTreeLSTM}


def make_step(_system, inputs):
    import numpy
    params = dy.ParameterCollection()
    weights = {}
    for name, (shape, data) in inputs["weights"].items():
        values = numpy.frombuffer(data, dtype=numpy.float32).reshape(shape)
        if name == "embedding.weight":
            embedding = params.lookup_parameters_from_numpy(values)
        else:
            weights[name] = params.parameters_from_numpy(values)
    trainer = dy.AdagradTrainer(params, learning_rate=inputs["lr"])
    trainer.set_clip_threshold(0)
    model = MODELS[inputs["model"]](embedding, weights, inputs["hidden"])
    training = inputs["mode"] == "train"

    def step(batch):
        dy.renew_cg()
        losses = []

        def score(h, label):
            scores = dy.affine_transform([weights["output.bias"], weights["output.weight"], h])
            losses.append(dy.pickneglogsoftmax(scores, label))

        for root in batch:
            model.state(root, score)
        loss = dy.esum(losses) / len(batch)
        value = loss.value()
        if training:
            loss.backward()
            trainer.update()
        return value

    step.owner = params  # weights live as long as this does
    return step
