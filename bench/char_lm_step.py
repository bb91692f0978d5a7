# SPDX-License-Identifier: Apache-2.0
"""One training step of a character LSTM."""
import harness

if __name__ == "__main__":
    harness.steps("character LSTM training step, 20 rows x 25 steps, hidden 64, Adam", "char_lm", "step")
