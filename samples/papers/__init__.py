# SPDX-License-Identifier: Apache-2.0
"""The programs of the JANUS and Terra papers, as ordinary imperative programs: `papers.make("tree_lstm", small=True)`.

What the papers call hard in them is left in: branches on training mode, states kept in attributes, recursion,
environments in Python, random choices of paths, library calls between tensor ops, lists that grow.  They use names that
janus and PyTorch share; `bench/papers.py` runs the same files with either.
"""
import importlib

# name: (paper, what is hard in it)
PROGRAMS = {
    "lenet": ("JANUS", "small kernels; a metric object counts what was right"),
    "resnet50": ("JANUS", "training and evaluation mode in turn: statistics of batches or running ones"),
    "inception_v3": ("JANUS", "two results in training, one in evaluation"),
    "lstm_ptb": ("JANUS", "a Python loop over time, states kept in an attribute from batch to batch"),
    "lm_1b": ("JANUS", "states in an attribute, texts of several lengths, sampled words of the output"),
    "tree_rnn": ("JANUS", "recursion over trees of any shape, a loss at every node"),
    "tree_lstm": ("JANUS", "recursion over trees, objects as leaves, states as tuples"),
    "a3c": ("JANUS", "an environment in Python asked at each step, episodes of any length"),
    "ppo": ("JANUS", "shuffled minibatches, several epochs over one rollout, an early stop on a number"),
    "an": ("JANUS", "two networks and two optimizers in one step"),
    "pix2pix": ("JANUS", "skip connections kept in a list, two optimizers, requires_grad switched on and off"),
    "resnet50_terra": ("Terra", "learning rate set by the step, a history that grows"),
    "bert_qa": ("Terra", "texts of several lengths, padding found in the data"),
    "bert_cls": ("Terra", "a tensor read into Python lists for a metric, and a decision on it"),
    "gpt2": ("Terra", "training, and sampling with a context that grows"),
    "dcgan": ("Terra", "two networks, labels that are filled in place"),
    "faster_rcnn": ("Terra", "boxes sorted out by a library in Python, their number differs from image to image"),
    "yolov3": ("Terra", "targets written into a grid item by item"),
    "dropblock": ("Terra", "a schedule kept on the module changes the probability at each step"),
    "sdpoint": ("Terra", "the place and factor of a down-sampling are drawn at each step"),
    "music_transformer": ("Terra", "masks and attention weights kept on the modules, made anew when lengths change"),
}


def undecorated(function):
    return function


def make(name, small=False, decorate=undecorated):
    """`(modules, step, batches)`: `step(batch)` trains the modules by a batch and returns its loss.

    `small`: sizes for tests.  `decorate` is given what the program's author would decorate.
    """
    return importlib.import_module(f"{__name__}.{name}").make(small, decorate)
