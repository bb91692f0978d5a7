# SPDX-License-Identifier: Apache-2.0
"""Part-of-speech tags by an LSTM, sentence by sentence, tested before and after."""
import janus as torch
import janus.nn as nn
import janus.nn.functional as F

DATA = [("The dog ate the apple".split(), "DET NN V DET NN".split()),
        ("Everybody read that book".split(), "NN V DET NN".split()),
        ("She saw the old man near the river".split(), "NN V DET ADJ NN P DET NN".split())]
word_to_ix = {}
for sent, tags in DATA:
    for word in sent:
        if word not in word_to_ix:
            word_to_ix[word] = len(word_to_ix)
tag_to_ix = {"DET": 0, "NN": 1, "V": 2, "ADJ": 3, "P": 4}


def prepare_sequence(seq, to_ix):
    idxs = [to_ix[w] for w in seq]
    return torch.tensor(idxs, dtype=torch.long)


class Tagger(nn.Module):
    def __init__(self, d, h, n, tags):
        super().__init__()
        self.hidden_dim = h
        self.word_embeddings, self.lstm, self.hidden2tag = nn.Embedding(n, d), nn.LSTM(d, h), nn.Linear(h, tags)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        return F.log_softmax(self.hidden2tag(lstm_out.view(len(sentence), -1)), dim=1)


def step(model, loss_function, optimizer, sentence, tags):
    model.zero_grad()
    sentence_in, targets = prepare_sequence(sentence, word_to_ix), prepare_sequence(tags, tag_to_ix)
    loss = loss_function(model(sentence_in), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def epoch(model, loss_function, optimizer, number):
    total = 0.0
    for sentence, tags in DATA:
        total += step(model, loss_function, optimizer, sentence, tags)
    with torch.no_grad():
        scores = model(prepare_sequence(DATA[0][0], word_to_ix))
    print("epoch", number, "loss %.3f" % (total / len(DATA)), scores.argmax(1).tolist())
    return total


def main(epochs):
    torch.manual_seed(1)
    model = Tagger(6, 6, len(word_to_ix), len(tag_to_ix))
    return [epoch(model, nn.NLLLoss(), torch.optim.SGD(model.parameters(), lr=0.1), e) for e in range(epochs)]


MODEL, STEP, EPOCH = "Tagger.forward", "step", "epoch"
