# SPDX-License-Identifier: Apache-2.0
"""What the samples show while they work: a bar on a terminal, and tables.

The bar goes to standard error and only when that is a terminal, so logs and pipes stay clean.
"""
import json
import sys
import time

WIDTH = 28
EVERY = 0.1  # seconds between two pictures


class Progress:
    """`with Progress("epoch 1", n) as bar: ... bar.step()`: how far, how fast, how much longer."""

    def __init__(self, title, total, stream=None):
        self.title = title
        self.total = total
        self.done = 0
        self.note = ""
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream.isatty()
        self.start = self.last = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def step(self, count=1, note=""):
        """Counts `count` more; `note` is shown behind the bar."""
        self.done += count
        self.note = note
        now = time.monotonic()
        if self.shown and (now - self.last >= EVERY or self.done == self.total):
            self.last = now
            self.draw(now)

    def draw(self, now):
        """One picture of the bar."""
        part = min(self.done / self.total, 1.0) if self.total else 1.0
        bar = ("#" * int(part * WIDTH)).ljust(WIDTH, ".")
        left = (now - self.start) / part * (1 - part) if part else 0.0
        self.stream.write(f"\r\x1b[K{self.title} [{bar}] {100 * part:3.0f}% {left:4.0f} s left {self.note}")
        self.stream.flush()


def table(rows, stream=None):
    """Prints `(name, value)` pairs as two columns; floats get six significant digits."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        if isinstance(value, float):
            value = f"{value:.6g}"
        print(f"{name:<{width}}  {'-' if value is None else value}", file=stream or sys.stdout)


def write_json(path, values):
    """Writes a dict to a file, or does nothing without a path."""
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(values, stream, indent=2)
            stream.write("\n")
