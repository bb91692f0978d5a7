# SPDX-License-Identifier: Apache-2.0
"""LeNet's training step, one text for janus and PyTorch."""

BATCH, STEPS = 50, 10


def contenders(lib, modes):
    nn, F = lib.nn, lib.nn.functional

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(400, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = F.relu(self.fc1(x.flatten(1)))
            return self.fc3(F.relu(self.fc2(x)))

    def contender(on_step, on_model):
        def set_up():
            lib.manual_seed(0)
            own = LeNet()
            model = on_model(own)
            optimizer = lib.optim.SGD(own.parameters(), lr=0.01, momentum=0.9)
            x, y = lib.rand(BATCH, 1, 28, 28), lib.randint(0, 10, (BATCH,))

            def step(x, y):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
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
