# SPDX-License-Identifier: Apache-2.0
"""BERT for answering questions (Devlin et al. 2018): where in a text of any length the answer begins and ends."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F
from zoo.bert import Bert

PADDING = 0


class QuestionAnswering(nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        self.bert = Bert(**sizes)
        self.spans = nn.Linear(self.bert.pooler.in_features, 2)

    def forward(self, words, segments, starts=None, ends=None):
        mask = words != PADDING
        vectors, _ = self.bert(words, segments, mask)
        start, end = self.spans(vectors).split(1, dim=-1)
        start = start.squeeze(-1).masked_fill(~mask, -1e4)
        end = end.squeeze(-1).masked_fill(~mask, -1e4)
        if starts is not None and ends is not None:
            outside = start.size(1)  # answers that were cut off are not counted
            starts, ends = starts.clamp(0, outside), ends.clamp(0, outside)
            lost = nn.CrossEntropyLoss(ignore_index=outside)
            return (lost(start, starts) + lost(end, ends)) / 2
        return start.argmax(1), end.argmax(1)


def make(small, decorate):
    sizes = {"words": 60, "size": 16, "layers": 2, "heads": 2, "positions": 24} if small else \
        {"words": 5000, "size": 256, "layers": 4, "heads": 4, "positions": 128}
    model = QuestionAnswering(dropout=0.1, **sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

    @decorate
    def step(batch):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    batches, rows = [], 2 if small else 8
    for length in (12, 16, 12, 20) if small else (96, 128, 96, 112):
        words = torch.randint(1, sizes["words"], (rows, length))
        words[0, length - 3:] = PADDING
        segments = (torch.arange(length) >= length // 3).long().expand(rows, length)
        starts, ends = torch.randint(2, length - 3, (rows,)), torch.randint(2, length - 3, (rows,))
        ends[1] = length + 2
        batches.append((words, segments, starts, ends))
    return [model], step, batches
