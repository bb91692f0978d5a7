# SPDX-License-Identifier: Apache-2.0
"""Training that is aware of quantisation: observers, fake quantisation with straight-through gradients, folded batch norm, an integer check."""
import contextlib
import time

import janus as torch
import janus.nn as nn
import janus.nn.functional as F


class FakeQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zero, low, high):
        q = torch.round(x / scale) + zero
        ctx.save_for_backward((q >= low) & (q <= high))
        return (q.clamp(low, high) - zero) * scale

    @staticmethod
    def backward(ctx, grad):
        inside, = ctx.saved_tensors
        return grad * inside.to(grad.dtype), None, None, None, None


class Observer(nn.Module):
    """Keeps a range; subclasses decide how it follows what is seen."""

    def __init__(self, bits=8, symmetric=False):
        super().__init__()
        self.bits, self.symmetric = bits, symmetric
        self.register_buffer("low", torch.tensor(float("inf")))
        self.register_buffer("high", torch.tensor(float("-inf")))

    @property
    def limits(self):
        return (-2 ** (self.bits - 1), 2 ** (self.bits - 1) - 1) if self.symmetric else (0, 2 ** self.bits - 1)

    def observe(self, x):
        raise NotImplementedError

    def qparams(self):
        lo, hi = self.limits
        if self.symmetric:
            bound = torch.max(self.low.abs(), self.high.abs()).clamp(min=1e-5)
            return bound / hi, torch.zeros_like(bound)
        low, high = torch.clamp(self.low, max=0.0), torch.clamp(self.high, min=0.0)
        scale = ((high - low) / (hi - lo)).clamp(min=1e-5)
        return scale, (lo - torch.round(low / scale)).clamp(lo, hi)

    def forward(self, x):
        if QuantState.observing:
            self.observe(x.detach())
        if not QuantState.enabled:
            return x
        scale, zero = self.qparams()
        return FakeQuantize.apply(x, scale, zero, *self.limits)


class MinMax(Observer):
    def observe(self, x):
        self.low.copy_(torch.min(self.low, x.min()))
        self.high.copy_(torch.max(self.high, x.max()))


class MovingAverage(Observer):
    def __init__(self, momentum=0.1, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def observe(self, x):
        low, high = x.min(), x.max()
        if torch.isinf(self.low):
            self.low.copy_(low)
            self.high.copy_(high)
        else:
            self.low.add_(self.momentum * (low - self.low))
            self.high.add_(self.momentum * (high - self.high))


class QuantState:
    enabled = False
    observing = True

    @classmethod
    @contextlib.contextmanager
    def using(cls, **flags):
        before = {k: getattr(cls, k) for k in flags}
        for k, v in flags.items():
            setattr(cls, k, v)
        try:
            yield
        finally:
            for k, v in before.items():
                setattr(cls, k, v)


class QConvBN(nn.Module):
    """A convolution whose batch norm is folded into the weights that are quantised."""

    def __init__(self, cin, cout, k, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, k, stride=stride, padding=k // 2, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.weight_obs, self.act_obs = MinMax(symmetric=True), MovingAverage()

    def forward(self, x):
        if self.training:
            y = F.conv2d(x, self.conv.weight, stride=self.conv.stride, padding=self.conv.padding)
            dims = [0, 2, 3]
            mean, var = y.mean(dims), y.var(dims, unbiased=False)
            with torch.no_grad():
                m = self.bn.momentum
                self.bn.running_mean.mul_(1 - m).add_(mean, alpha=m)
                self.bn.running_var.mul_(1 - m).add_(var, alpha=m)
        else:
            mean, var = self.bn.running_mean, self.bn.running_var
        factor = self.bn.weight / torch.sqrt(var + self.bn.eps)
        weight = self.weight_obs(self.conv.weight * factor.reshape(-1, 1, 1, 1))
        bias = self.bn.bias - mean * factor
        y = F.conv2d(x, weight, bias, self.conv.stride, self.conv.padding)
        return self.act_obs(F.relu(y))


class QLinear(nn.Linear):
    def __init__(self, *args, bits=8, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight_obs = MinMax(bits=bits, symmetric=True)

    def forward(self, x):
        return F.linear(x, self.weight_obs(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.input_obs = MovingAverage()
        self.body = nn.Sequential(QConvBN(1, 4, 3), QConvBN(4, 8, 3, stride=2))
        self.head = QLinear(8, classes, bits=6)

    def forward(self, x):
        x = self.body(self.input_obs(x))
        return self.head(x.mean(dim=(2, 3)))


def train_step(model, optimizer, x, y):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.item(), (logits.argmax(1) == y).sum().item()


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    hits = [(model(x).argmax(1) == y).float().mean().item() for x, y in batches]
    return sum(hits) / len(hits)


@torch.no_grad()
def integer_error(layer, x):
    """What integer arithmetic would give, against fake quantisation."""
    scale, _ = layer.weight_obs.qparams()
    q = torch.round(layer.weight / scale).clamp(*layer.weight_obs.limits).to(torch.int32)
    assert q.abs().max().item() <= 2 ** (layer.weight_obs.bits - 1)
    with QuantState.using(enabled=True, observing=False):
        fake = layer(x)
    return ((x @ q.float().t() * scale + layer.bias) - fake).abs().max().item()


def train_epoch(epoch, model, optimizer, train, test, delay):
    began, loss_sum, right, seen = time.time(), 0.0, 0, 0
    with QuantState.using(enabled=epoch >= delay, observing=epoch < delay + 2):
        for x, y in train:
            loss, hits = train_step(model, optimizer, x, y)
            loss_sum, right, seen = loss_sum + loss, right + hits, seen + len(y)
    scores = {}
    for name, flags in {"float": dict(enabled=False, observing=False), "int8": dict(enabled=True, observing=False)}.items():
        with QuantState.using(**flags):
            scores[name] = evaluate(model, test)
    error = integer_error(model.head, torch.randn(3, 8))
    print(f"epoch {epoch} {'qat' if epoch >= delay else 'float'} loss {loss_sum / len(train):.4f} acc {right / seen:.3f} "
          f"{' '.join(f'{k} {v:.3f}' for k, v in scores.items())} err {error:.1e} {time.time() - began:.2f}s")
    return loss_sum, scores


def main(epochs):
    torch.manual_seed(11)
    make = lambda n: [(torch.randn(8, 1, 6, 6) + y.view(-1, 1, 1, 1) * 0.4, y) for y in (torch.randint(0, 4, (8,)) for _ in range(n))]
    train, test = make(16), make(6)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    history = [train_epoch(e, model, optimizer, train, test, delay=epochs // 3) for e in range(epochs)]
    return history, model.state_dict()


MODEL, STEP, EPOCH = "Net.forward", "train_step", "train_epoch"
