# SPDX-License-Identifier: Apache-2.0
"""Two LSTM cells that continue a wave: outputs fed back for the future steps, states as separate names."""
import janus as torch
import janus.nn as nn
import janus.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 7)
        self.lstm2 = nn.LSTMCell(7, 7)
        self.linear = nn.Linear(7, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 7)
        c_t = torch.zeros(input.size(0), 7)
        h_t2 = torch.zeros(input.size(0), 7)
        c_t2 = torch.zeros(input.size(0), 7)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def step(seq, criterion, optimizer, input, target):
    optimizer.zero_grad()
    out = seq(input)
    loss = criterion(out, target)
    loss.backward()
    optimizer.step()
    return loss


def run(seq, criterion, optimizer, wave, i):
    print("STEP: ", i)
    loss = step(seq, criterion, optimizer, wave[2:, :-1], wave[2:, 1:])
    print("loss: %.5f" % loss.item())
    with torch.no_grad():
        future = 4
        pred = seq(wave[:2, :-1], future=future)
        loss = criterion(pred[:, :-future], wave[:2, 1:])
        print("test loss: %.5f" % loss.item())
    return pred.detach()


def main(epochs):
    torch.manual_seed(0)
    starts = torch.rand(5, 1) * 4
    wave = torch.sin((torch.arange(10).float().unsqueeze(0) + starts) / 2.0)
    seq, criterion = Sequence(), nn.MSELoss()
    optimizer = optim.SGD(seq.parameters(), lr=0.2)
    return [run(seq, criterion, optimizer, wave, i) for i in range(epochs)], seq


MODEL, STEP, EPOCH = "Sequence.forward", "step", "run"
