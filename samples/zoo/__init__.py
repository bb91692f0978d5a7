# SPDX-License-Identifier: Apache-2.0
"""Networks for images and text, as ordinary programs: `zoo.make("resnet50")`.

They use names that janus and PyTorch share; `bench/zoo.py` runs the same files with either.
"""
import importlib

NETS = {
    # name: (file, class, parameters, size of an image)
    "resnet50": ("resnet", "ResNet50", 25557032, 224),
    "mobilenet_v2": ("mobilenet", "MobileNetV2", 3504872, 224),
    "efficientnet_b0": ("efficientnet", "EfficientNetB0", 5288548, 224),
    "inception_v3": ("inception", "InceptionV3", 27161264, 299),
    "nasnet_mobile": ("nasnet", "NASNetMobile", 5289978, 224),
}
TEXT_NETS = {
    # name: (file, class, parameters)
    "bert_base": ("bert", "Bert", 109482240),
    "bert_classifier": ("bert", "Classifier", 109483778),
    "gpt2_block": ("gpt2", "Block", 7087872),
    "gpt2_small": ("gpt2", "GPT2", 124439808),
    "lstm_lm": ("lstm", "LSTMLM", 19780400),
}


def make(name, **sizes):
    """A network of its usual size, or of other sizes, by the names of its class's arguments."""
    file, cls = (NETS.get(name) or TEXT_NETS[name])[:2]
    return getattr(importlib.import_module(f"{__name__}.{file}"), cls)(**sizes)
