# SPDX-License-Identifier: Apache-2.0
"""The recursion as written in samples/treemodels.py: janus in its four modes, and PyTorch.

PyTorch runs the same text: there `janus` names its module.
"""
import sys

import serve

lib = None


def load(system):
    global lib
    if system == "pytorch":
        import torch
        sys.modules["janus"] = torch
        sys.modules["janus.nn"] = torch.nn
        sys.modules["janus.nn.functional"] = torch.nn.functional
    import janus
    lib = janus
    lib.optim.Adagrad([lib.zeros(1)])  # loads more of PyTorch


def prepare(threads):
    lib.set_num_threads(threads)
    if serve.DEVICE != "cpu":
        lib.cuda.is_available()  # finds its libraries
        lib.set_default_device(serve.DEVICE)


def device_bytes():
    return lib.cuda.max_memory_allocated()


def version():
    return f"{lib.__name__} {lib.__version__}"


def builder(inputs):
    words = [lib.tensor([number]) for number in range(inputs["words"])]
    labels = [lib.tensor([number]) for number in range(inputs["classes"])]
    return serve.tree_builder(inputs, words.__getitem__, labels.__getitem__)


def stats(step):
    return step.stats() if step.stats else None


def tensor_of(data):
    if hasattr(lib, "frombuffer"):
        return lib.frombuffer(bytearray(data), dtype=lib.float32)
    return lib.tensor(memoryview(data).cast("f"))


def recorded(function):
    """The plain function in a block whose ops are recorded and run in groups."""
    def run(batch):
        with lib.deferred():
            return function(batch)
    return run


def make_step(system, inputs):
    import treemodels
    model = getattr(treemodels, inputs["class"])(inputs["words"], inputs["hidden"], inputs["classes"])
    with lib.no_grad():
        for name, param in model.named_parameters():
            shape, data = inputs["weights"][name]
            assert tuple(param.shape) == tuple(shape), name
            param.copy_(tensor_of(data).reshape(shape))
    optimizer = lib.optim.Adagrad(model.parameters(), lr=inputs["lr"])

    def train(batch):
        optimizer.zero_grad()
        loss = lib.zeros(())
        for root in batch:
            loss = loss + model.loss(root)
        loss = loss / len(batch)
        loss.backward()
        optimizer.step()
        return loss.detach(), 0

    def infer(batch):
        loss = lib.zeros(())
        for root in batch:
            loss = loss + model.loss(root)
        return loss / len(batch), 0

    def train_growing(batch):
        optimizer.zero_grad()
        loss, grown = lib.zeros(()), 0
        for root in batch:
            own, nodes = model.loss(root)
            loss, grown = loss + own, grown + nodes
        loss = loss / len(batch)
        loss.backward()
        optimizer.step()
        return loss.detach(), grown

    def infer_growing(batch):
        loss, grown = lib.zeros(()), 0
        for root in batch:
            own, nodes = model.loss(root)
            loss, grown = loss + own, grown + nodes
        return loss / len(batch), grown

    training = inputs["mode"] == "train"
    if inputs["grows"]:
        function = train_growing if training else infer_growing
    else:
        function = train if training else infer

    def classes(batch):
        return [model.output(model(root)[0]).argmax(1) for root in batch]

    if system == "janus":
        function, classes = lib.function(function), lib.function(classes)
    elif system == "janus-exact":
        function, classes = (lib.function(numerics="exact")(plain) for plain in (function, classes))

    elif system == "janus-coexecution":
        function, classes = recorded(function), recorded(classes)

    def step(batch):
        with lib.set_grad_enabled(training):
            loss, nodes = function(batch)
            return loss.item(), nodes

    def predict(batch):
        with lib.no_grad():
            return [found.item() for found in classes(batch)]

    step.predict = predict
    step.stats = getattr(function, "stats", None)
    step.function = function
    return step
