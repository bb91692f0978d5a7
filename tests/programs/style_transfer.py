# SPDX-License-Identifier: Apache-2.0
"""Neural style transfer: the image is what is optimised, its losses are kept on layers inside the network."""
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


def build(cnn, style_img, content_img, content_layers, style_layers):
    content_losses, style_losses = [], []
    model, i = nn.Sequential(), 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = "conv_{}".format(i)
        elif isinstance(layer, nn.ReLU):
            name, layer = "relu_{}".format(i), nn.ReLU(inplace=False)
        else:
            name = "pool_{}".format(i)
        model.add_module(name, layer)
        if name in content_layers:
            content_losses.append(ContentLoss(model(content_img)))
            model.add_module("content_loss_{}".format(i), content_losses[-1])
        if name in style_layers:
            style_losses.append(StyleLoss(model(style_img)))
            model.add_module("style_loss_{}".format(i), style_losses[-1])
    return model, style_losses, content_losses


def closure(model, image, optimizer, style_losses, content_losses):
    with torch.no_grad():
        image.clamp_(0, 1)
    optimizer.zero_grad()
    model(image)
    style_score, content_score = 0, 0
    for sl in style_losses:
        style_score += sl.loss
    for cl in content_losses:
        content_score += cl.loss
    loss = 1000.0 * style_score + content_score
    loss.backward()
    optimizer.step()
    return style_score.item(), content_score.item()


def optimise(model, image, optimizer, style_losses, content_losses, run):
    start = time.time()
    for _ in range(3):
        scores = closure(model, image, optimizer, style_losses, content_losses)
    print("run {}: style {:4f} content {:4f} in {:.2f}s".format(run, *scores, time.time() - start))
    return scores


def main(epochs):
    cnn = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1), nn.ReLU()).eval()
    style, content = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
    model, style_losses, content_losses = build(cnn, style, content, ["conv_2"], ["conv_1", "conv_3"])
    image = content.clone().requires_grad_(True)
    for p in model.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD([image], lr=0.1, momentum=0.5)
    return [optimise(model, image, optimizer, style_losses, content_losses, e) for e in range(epochs)], image


MODEL, STEP, EPOCH = "StyleLoss.forward", "closure", "optimise"
