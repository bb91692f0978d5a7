# SPDX-License-Identifier: Apache-2.0
"""DyNet with its automatic batching: an expression graph for each tree, batched when it is run.

Gates are one product each; the sum of the losses of all nodes of a batch is one expression.
Its memory is taken before the first step, so how much a step needs cannot be seen from outside.
"""
import importlib.metadata

import dynet_config

import serve

LEVELS = 6  # of TopDownTreeLSTM
MEASURES_MEMORY = False
dy = None


def load(_system):
    global dy
    # Forward, backward, parameters, scratch in MB: with autobatching the pools do not grow.
    dynet_config.set(mem="512,512,1024,256", autobatch=1, random_seed=1)
    import dynet
    dy = dynet


def prepare(_threads):
    pass


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


class RNTN(TreeRNN):
    def __init__(self, embedding, weights, size):
        super().__init__(embedding, weights, size)
        self.size = size

    def combine(self, x):
        forms = dy.reshape(self.weights["tensor"] * x, (2 * self.size, self.size))
        z = dy.affine_transform([self.weights["inner.bias"], self.weights["inner.weight"], x])
        return dy.tanh(z + dy.transpose(forms) * x)


class ChildSum:
    def __init__(self, embedding, weights, size):
        self.embedding, self.size = embedding, size
        self.weights = {name[len("tree."):]: weight for name, weight in weights.items()}

    def part(self, x, number, count=1):
        return dy.pick_range(x, number * self.size, (number + count) * self.size)

    def state(self, node):
        w = self.weights
        x = dy.lookup(self.embedding, node.token)
        gates = dy.affine_transform([w["gates_x.bias"], w["gates_x.weight"], x])
        kept = None
        if node.children:
            forget = dy.affine_transform([w["forget_x.bias"], w["forget_x.weight"], x])
            states = [self.state(child) for child in node.children]
            gates = gates + w["gates_h.weight"] * dy.esum([h for h, _ in states])
            kept = dy.esum([dy.cmult(dy.logistic(forget + w["forget_h.weight"] * h), c) for h, c in states])
        sigmoids = dy.logistic(self.part(gates, 0, 2))
        c = dy.cmult(self.part(sigmoids, 0), dy.tanh(self.part(gates, 2)))
        if kept is not None:
            c = c + kept
        return dy.cmult(self.part(sigmoids, 1), dy.tanh(c)), c


class TopDown:
    """Asks for the decisions of all nodes of a level at once."""

    def __init__(self, embedding, weights, size):
        self.embedding, self.weights, self.size = embedding, weights, size

    def part(self, x, number, count=1):
        return dy.pick_range(x, number * self.size, (number + count) * self.size)

    def grow(self, batch, score):
        w, part, count = self.weights, self.part, 0
        states = [(dy.lookup(self.embedding, root.word), root.label) for root in batch]
        states = [(dy.tanh(c), c, label) for c, label in states]
        for level in range(LEVELS + 1):
            count += len(states)
            for h, _, label in states:
                score(h, label)
            if level == LEVELS or not states:
                break
            wish = [dy.affine_transform([w["grow.bias"], w["grow.weight"], h]) for h, _, _ in states]
            wish = dy.concatenate(wish).npvalue().reshape(-1)
            parents, states = [state for state, grows in zip(states, wish) if grows >= 0], []
            for h, c, label in parents:
                gates = dy.affine_transform([w["below.bias"], w["below.weight"], h])
                sigmoids = dy.logistic(part(gates, 0, 6))
                for side in (0, 3):
                    own = dy.cmult(part(sigmoids, side), dy.tanh(part(gates, 6 + side // 3))) \
                        + dy.cmult(part(sigmoids, side + 2), c)
                    states.append((dy.cmult(part(sigmoids, side + 1), dy.tanh(own)), own, label))
        return count


MODELS = {"treernn": TreeRNN, "rntn": RNTN, "treelstm": BinaryTreeLSTM, "childsum": ChildSum,
          "topdown": TopDown}


def by_rows(tensor):
    """[2n, n * 2n] as a matrix that is multiplied from the left; its rows become columns of a form."""
    return tensor.T.copy()


def make_step(_system, inputs):
    import numpy
    params = dy.ParameterCollection()
    weights = {}
    for name, (shape, data) in inputs["weights"].items():
        values = numpy.frombuffer(data, dtype=numpy.float32).reshape(shape)
        if name.endswith("embedding.weight"):
            embedding = params.lookup_parameters_from_numpy(values)
        else:
            weights[name] = params.parameters_from_numpy(values if name != "tensor" else by_rows(values))
    trainer = dy.AdagradTrainer(params, learning_rate=inputs["lr"])
    trainer.set_clip_threshold(0)
    model = MODELS[inputs["model"]](embedding, weights, inputs["hidden"])
    training, kind = inputs["mode"] == "train", inputs["model"]

    def step(batch):
        dy.renew_cg()
        losses = []

        def score(h, label):
            scores = dy.affine_transform([weights["output.bias"], weights["output.weight"], h])
            losses.append(dy.pickneglogsoftmax(scores, label))

        nodes = 0
        if kind == "topdown":
            nodes = model.grow(batch, score)
        for root in batch if kind != "topdown" else ():
            if kind == "childsum":
                score(model.state(root)[0], root.label)
            else:
                model.state(root, score)
        loss = dy.esum(losses) / len(batch)
        value = loss.value()
        if training:
            loss.backward()
            trainer.update()
        return value, nodes

    step.owner = params  # weights live as long as this does
    return step
