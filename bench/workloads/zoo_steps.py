# SPDX-License-Identifier: Apache-2.0
"""Networks of samples/zoo, training and inference, one text for janus and PyTorch, on one device.

Settings: `device`, `small` (sizes that a processor does in a fraction of a second), `tf32`, `f64` (all of it),
`seconds` of a round.  Both libraries get the same weights and numbers, whatever their generators give.  A round has an
attribute `check`, what the first steps gave: losses, or means of the results.  Of training on images it is the
first loss, unless in f64: statistics of a few numbers, where the image has become one point, amplify rounding 1e4
times a step.
"""
import functools
import math
import pathlib
import random
import sys
import time
import types

ZOO = pathlib.Path(__file__).resolve().parents[2] / "samples" / "zoo"
BLOCK = 99991  # numbers that are not repeated: a prime, so no rows are alike
CHECKED = 3  # steps


def prepare(lib, settings):
    """Once, before anything is made."""
    if lib.__name__ == "torch":
        lib.set_default_device(settings["device"])
    lib.backends.cudnn.benchmark = True
    if settings["device"] == "cuda":
        lib.backends.cuda.matmul.allow_tf32 = lib.backends.cudnn.allow_tf32 = settings["tf32"]


def captured(step):
    """A step of PyTorch as one CUDA graph: its operands stay where they are."""
    import torch
    kept = {}

    def replay(*operands):
        if not kept:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(CHECKED):
                    step(*operands)
            torch.cuda.current_stream().wait_stream(side)
            graph = kept["graph"] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kept["result"] = step(*operands)
        kept["graph"].replay()
        return kept["result"]
    replay.warmed = CHECKED  # steps of the first call that nobody sees
    return replay


def modes(name, lib, settings):
    """`(suffix of the contender, how it treats a step, how it treats a forward pass)`."""
    def same(thing):
        return thing
    if name == "janus":
        graph = functools.partial(lib.function, measure=False)
        return [("janus imperative", same, same), ("janus graph", graph, same),
                ("janus graph, one stream", graph, same)]
    faster = functools.partial(lib.compile, mode="reduce-overhead") if settings["device"] == "cuda" else lib.compile
    return [("PyTorch eager", same, same), ("PyTorch CUDA graph", captured, same), ("torch.compile", same, faster)]


def network(lib, name, **sizes):
    """A network of samples/zoo without dropout, whose draws no two libraries share."""
    if lib.__name__ == "janus":
        sys.path.insert(0, str(ZOO.parent))
        import zoo
        model = zoo.make(name, **sizes)
    else:
        names = {"__name__": "zoo"}
        exec((ZOO / "__init__.py").read_text(), names)
        file, cls = (names["NETS"].get(name) or names["TEXT_NETS"][name])[:2]
        path = ZOO / f"{file}.py"
        module = sys.modules[file] = types.ModuleType(file)
        exec(compile(path.read_text().replace("janus", lib.__name__), str(path), "exec"), module.__dict__)
        model = getattr(module, cls)(**sizes)
    for module in model.modules():
        if isinstance(module, lib.nn.Dropout):
            module.p = 0.0
    fill(lib, model)
    return model


@functools.lru_cache(maxsize=None)
def block(lib):
    source = random.Random(1)
    return lib.tensor([source.uniform(-1.0, 1.0) for _ in range(BLOCK)])


def numbers(lib, *shape, at=0):
    """Numbers between -1 and 1, the same in every library."""
    size = math.prod(shape)
    return block(lib).repeat(2 + size // BLOCK)[at:at + size].reshape(shape).clone()


def words(lib, count, *shape):
    return ((numbers(lib, *shape, at=17) + 1) * (count / 2)).long().clamp(0, count - 1)


def fill(lib, model):
    """Weights about as large as those that layers begin with."""
    at = 0
    with lib.no_grad():
        for name, weight in model.named_parameters():
            scale = math.sqrt(3 * weight.shape[0] / weight.numel()) if weight.dim() > 1 else 0.1
            start = 1.0 if weight.dim() == 1 and name.endswith("weight") else 0.0
            weight.copy_(numbers(lib, *weight.shape, at=at) * scale + start)
            at = (at + weight.numel()) % BLOCK


# A case: function(lib, small) -> (model, operands, loss, optimizer); optimizer None: inference, and
# `loss` is the result.

def sgd(lib, weights, fused):
    return lib.optim.SGD(weights, lr=0.01, momentum=0.9, **fused)


def adamw(lib, weights, fused):
    if fused:
        fused = {**fused, "capturable": True}
    return lib.optim.AdamW(weights, lr=1e-4, **fused)


def images(name):
    """A training step on images as small as CIFAR's."""
    def case(lib, small):
        rows = 4 if small else 32
        x, y = numbers(lib, rows, 3, 32, 32), lib.arange(rows) % 10

        def loss(model, x, y):
            return lib.nn.functional.cross_entropy(model(x), y)
        return network(lib, name, classes=10), (x, y), loss, sgd
    return case


def lstm(lib, small):
    count, size, rows, steps = (1000, 64, 20, 10) if small else (10000, 650, 20, 35)
    text = words(lib, count, steps + 1, rows)

    def loss(model, x, y):
        return lib.nn.functional.cross_entropy(model(x)[0].flatten(0, 1), y)
    return network(lib, "lstm_lm", words=count, size=size), (text[:-1], text[1:].flatten()), loss, sgd


def bert_sizes(small):
    return {"words": 1000, "size": 64, "layers": 2, "heads": 4} if small else {}


def bert(half):
    def case(lib, small):
        model = network(lib, "bert_base", **bert_sizes(small))
        model = model.to(lib.bfloat16) if half else model

        def result(model, x):
            return model(x)[1]
        return model, (words(lib, model.words.num_embeddings, 1, 32 if small else 128),), result, None
    return case


def bert_training(lib, small):
    model = network(lib, "bert_classifier", **bert_sizes(small))
    rows, length = (4, 32) if small else (32, 128)
    x, y = words(lib, model.bert.words.num_embeddings, rows, length), lib.arange(rows) % 2
    lengths = length - lib.arange(rows) % 8
    mask = lib.arange(length)[None] < lengths[:, None]

    def loss(model, x, mask, y):
        return lib.nn.functional.cross_entropy(model(x, mask=mask), y)
    return model, (x, mask, y), loss, adamw


def gpt2(half, training):
    def case(lib, small):
        size, rows, length = (64, 1, 64) if small else (768, 4, 1024)
        model = network(lib, "gpt2_block", size=size, heads=size // 16 if small else 12)
        x = numbers(lib, rows if training else 1, length, size)
        if half:
            model, x = model.to(lib.bfloat16), x.to(lib.bfloat16)

        def loss(model, x):
            y = model(x)
            return y.float().square().mean() if training else y
        return model, (x,), loss, adamw if training else None
    return case


CASES = {
    "resnet50 train": images("resnet50"),
    "mobilenet_v2 train": images("mobilenet_v2"),
    "efficientnet_b0 train": images("efficientnet_b0"),
    "lstm_lm train": lstm,
    "bert_base": bert(False),
    "bert_base bf16": bert(True),
    "bert_base train": bert_training,
    "gpt2_block": gpt2(False, False),
    "gpt2_block bf16": gpt2(True, False),
    "gpt2_block train": gpt2(False, True),
    "gpt2_block train bf16": gpt2(True, True),
}


def contenders(lib, wanted, settings):
    device = settings["device"]
    torch_device = lib.__name__ == "torch" and device == "cuda"

    def wait(result):
        if device == "cuda":
            lib.cuda.synchronize()
        else:
            result.flatten()[0].item()

    def set_up(case, on_step, on_forward):
        model, operands, forward, make_optimizer = case(lib, settings["small"])
        if settings["f64"]:
            model = model.double()
            operands = [x.double() if x.is_floating_point() else x for x in operands]
        images = operands[0].dim() == 4
        if torch_device and images:
            model = model.to(memory_format=lib.channels_last)
            operands = (operands[0].to(memory_format=lib.channels_last), *operands[1:])

        def whole(*operands):
            return forward(model, *operands)

        whole = on_forward(whole)
        if make_optimizer:
            model.train()
            optimizer = make_optimizer(lib, list(model.parameters()), {"fused": True} if torch_device else {})

            def step(*operands):
                optimizer.zero_grad()
                loss = whole(*operands)
                loss.backward()
                optimizer.step()
                return loss.detach()
        else:
            model.eval()

            def step(*operands):
                with lib.no_grad():
                    return whole(*operands)

        step = on_step(step)
        check = [step(*operands).double().abs().mean().item() for _ in range(CHECKED)]
        start = time.perf_counter()
        wait(step(*operands))
        # results of inference are waited for one by one, a training step only by the next
        each, n = make_optimizer is None, max(1, int(settings["seconds"] / (time.perf_counter() - start)))

        def run():
            for _ in range(n):
                result = step(*operands)
                if each:
                    wait(result)
            wait(result)
            return n
        shown = 0 if getattr(step, "warmed", 0) and make_optimizer else 1 if images and not settings["f64"] else CHECKED
        run.check = check[:shown]
        return run

    return {f"{name}: {suffix}": functools.partial(set_up, case, on_step, on_forward)
            for name, case in CASES.items() for suffix, on_step, on_forward in wanted}
