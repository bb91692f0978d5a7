# SPDX-License-Identifier: Apache-2.0
"""One training step of LeNet on 28 x 28 images."""
import harness

if __name__ == "__main__":
    harness.steps("LeNet training step, batch 50, SGD with momentum", "lenet", "step")
