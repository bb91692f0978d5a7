# SPDX-License-Identifier: Apache-2.0
"""Networks for images, as ordinary programs: `zoo.make("resnet50")`.

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


def make(name):
    file, cls, _, _ = NETS[name]
    return getattr(importlib.import_module(f"{__name__}.{file}"), cls)()
