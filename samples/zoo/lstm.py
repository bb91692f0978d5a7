# SPDX-License-Identifier: Apache-2.0
"""A word-level LSTM language model (Zaremba et al. 2014); their medium one by default."""
import janus.nn as nn


class LSTMLM(nn.Module):
    """Scores of the next word at every place of words [steps, rows], and the state to go on with."""

    def __init__(self, words=10000, size=650, layers=2, dropout=0.0):
        super().__init__()
        self.words, self.dropout = nn.Embedding(words, size), nn.Dropout(dropout)
        self.lstm = nn.LSTM(size, size, layers, dropout=dropout)
        self.output = nn.Linear(size, words)

    def forward(self, words, state=None):
        y, state = self.lstm(self.dropout(self.words(words)), state)
        return self.output(self.dropout(y)), state
