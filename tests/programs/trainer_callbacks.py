# SPDX-License-Identifier: Apache-2.0
"""A small trainer with callbacks, a module that logs, metrics with state, gradient hooks and a learning-rate finder; regression on a made surface."""
import contextlib
import json
import math
import sys
from abc import ABC, abstractmethod
from typing import Any, Callable, Dict, Iterable, Optional

import janus as torch
from janus import nn


class Metric(ABC):
    def __init__(self):
        self._state: Dict[str, Any] = {}
        self.reset()

    def add_state(self, name, default):
        self._state[name] = default
        setattr(self, name, default.clone())

    def reset(self):
        for name, default in self._state.items():
            setattr(self, name, default.clone())

    @abstractmethod
    def update(self, pred, target): ...

    @abstractmethod
    def compute(self): ...


class R2Score(Metric):
    def __init__(self):
        super().__init__()
        for name in ("sum_squared", "sum_target", "sum_error", "total"):
            self.add_state(name, torch.tensor(0.0))

    def update(self, pred, target):
        self.sum_squared += (target ** 2).sum()
        self.sum_target += target.sum()
        self.sum_error += ((pred - target) ** 2).sum()
        self.total += target.numel()

    def compute(self):
        mean = self.sum_target / self.total
        return 1 - self.sum_error / (self.sum_squared - self.total * mean ** 2)


class Callback:
    order = 0

    def on_fit_start(self, trainer): pass
    def on_epoch_start(self, trainer): pass
    def on_batch_end(self, trainer, loss): pass
    def on_epoch_end(self, trainer): pass


class CancelEpoch(Exception):
    pass


class History(Callback):
    def __init__(self):
        self.records = []

    def on_batch_end(self, trainer, loss):
        self.records.append({"step": trainer.global_step, "loss": round(loss, 4)})


class NanGuard(Callback):
    order = -1

    def on_batch_end(self, trainer, loss):
        if math.isnan(loss):
            raise CancelEpoch("loss is nan")


class GradientNorms(Callback):
    order = 5

    def __init__(self):
        self.norms: Dict[str, float] = {}
        self.handles = []

    def on_fit_start(self, trainer):
        for name, p in trainer.module.named_parameters():
            if p.dim() > 1:
                self.handles.append(p.register_hook(self._keep(name)))

    def _keep(self, name) -> Callable[[torch.Tensor], None]:
        def hook(grad):
            self.norms[name] = grad.norm().item()
        return hook


class LitRegression(nn.Module):
    def __init__(self, **hparams):
        super().__init__()
        self.hparams = dict(width=16, lr=1e-2, **hparams)
        w = self.hparams["width"]
        self.net = nn.Sequential(nn.Linear(2, w), nn.SiLU(), nn.LayerNorm(w), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, 1))
        self.logged: Dict[str, list] = {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        loss = nn.functional.mse_loss(pred, y)
        penalty = sum(p.pow(2).sum() for n, p in self.named_parameters() if n.endswith("weight"))
        self.log("train/mse", loss)
        return loss + 1e-4 * penalty

    def validation_step(self, batch, metric):
        x, y = batch
        metric.update(self(x), y)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams["lr"])
        return opt, torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)


class Trainer:
    def __init__(self, callbacks: Iterable[Callback] = (), stream: Optional[Any] = None):
        self.callbacks = sorted(callbacks, key=lambda c: c.order)
        self.stream, self.global_step, self.epoch = stream, 0, 0

    def emit(self, hook, *args):
        for c in self.callbacks:
            getattr(c, hook)(self, *args)

    def setup(self, module):
        self.module = module
        self.optimizer, self.scheduler = module.configure_optimizers()
        self.emit("on_fit_start")

    @contextlib.contextmanager
    def evaluating(self):
        was = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                yield self.module
        finally:
            self.module.train(was)

    def fit_batch(self, batch, i):
        self.optimizer.zero_grad()
        loss = self.module.training_step(batch, i)
        loss.backward()
        self.optimizer.step()
        self.global_step += 1
        return loss.item()

    def fit_epoch(self, train, val):
        self.emit("on_epoch_start")
        try:
            for i, batch in enumerate(train):
                self.emit("on_batch_end", self.fit_batch(batch, i))
        except CancelEpoch as e:
            print("cancelled:", e, file=self.stream or sys.stdout)
        metric = R2Score()
        with self.evaluating() as module:
            for batch in val:
                module.validation_step(batch, metric)
        score = metric.compute().item()
        self.scheduler.step(1 - score)
        self.emit("on_epoch_end")
        self.epoch += 1
        report = {"epoch": self.epoch, "mse": round(sum(self.module.logged["train/mse"][-len(train):]) / len(train), 4), "r2": round(score, 3),
                  "lr": self.optimizer.param_groups[0]["lr"]}
        print(json.dumps(report), file=self.stream or sys.stdout)
        return score


def main(epochs):
    torch.manual_seed(21)
    x = torch.rand(96, 2) * 4 - 2
    y = torch.sin(x[:, 0] * 2) + x[:, 1] ** 2 / 2
    batches = list(zip(x.split(16), y.split(16)))
    history, norms = History(), GradientNorms()
    trainer = Trainer([history, norms, NanGuard()])
    trainer.setup(LitRegression(tag="demo"))
    scores = [trainer.fit_epoch(batches[:5], batches[5:]) for _ in range(epochs)]
    return scores, history.records[-1], sorted(norms.norms)


MODEL, STEP, EPOCH = "LitRegression.forward", "Trainer.fit_batch", "Trainer.fit_epoch"
