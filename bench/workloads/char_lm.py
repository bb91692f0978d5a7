# SPDX-License-Identifier: Apache-2.0
"""A character LSTM's training step, one text for janus and PyTorch."""

CHARACTERS, HIDDEN, ROWS, LENGTH, STEPS = 96, 64, 20, 25, 5


def contenders(lib, modes):
    nn, F = lib.nn, lib.nn.functional

    class CharLM(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(CHARACTERS, HIDDEN)
            self.lstm = nn.LSTM(HIDDEN, HIDDEN)
            self.output = nn.Linear(HIDDEN, CHARACTERS)

        def forward(self, characters, h, c):
            out, (h, c) = self.lstm(self.embedding(characters), (h, c))
            return self.output(out), h, c

    def contender(on_step, on_model):
        def set_up():
            lib.manual_seed(0)
            own = CharLM()
            model = on_model(own)
            optimizer = lib.optim.Adam(own.parameters(), lr=0.005)
            text = lib.randint(0, CHARACTERS, (LENGTH + 1, ROWS))
            x, y = text[:-1], text[1:].flatten()
            zeros = lib.zeros(1, ROWS, HIDDEN)

            def step(x, y):
                optimizer.zero_grad()
                scores, _, _ = model(x, zeros, zeros)
                loss = F.cross_entropy(scores.flatten(0, 1), y)
                loss.backward()
                optimizer.step()
                return loss.detach()

            step = on_step(step)

            def run():
                for _ in range(STEPS):
                    step(x, y).item()
                return STEPS
            run()
            return run
        return set_up

    return {name: contender(on_step, on_model) for name, on_step, on_model in modes}
