# SPDX-License-Identifier: Apache-2.0
"""LeNet on small grey images, trained imperatively and through janus.function.

    ./run python3 samples/lenet.py --data DIR     IDX files of MNIST or Fashion-MNIST, plain or .gz
    ./run python3 samples/lenet.py                Debian's dataset-fashion-mnist, or scikit-learn's digits
"""
import argparse

import janus
import janus.nn as nn
import janus.nn.functional as F
import janus.optim as optim
import imagedata
import sidebyside
from progress import table, write_json


class LeNet(nn.Module):
    """Two convolutions and three products; small images get no second pooling."""

    def __init__(self, side, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5 if side > 8 else 3)
        width = (side // 2 - 4) // 2 if side > 8 else 1
        self.fc1 = nn.Linear(16 * width * width, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", metavar="DIR", help="folder of IDX files, or a digits.csv.gz")
    parser.add_argument("--epochs", type=int, help="default: 2, or 12 of fewer than 3000 images")
    parser.add_argument("--limit", type=int, default=6000, help="training images used")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the final table there")
    options = parser.parse_args(argv)
    if min(options.epochs or 1, options.limit, options.batch) < 1:
        parser.error("--epochs, --limit and --batch are at least 1")
    return options


def main(argv=None):
    options = arguments(argv)
    images = imagedata.load(options.data, options.limit)
    (x_train, y_train), (x_test, y_test) = images.train, images.test
    epochs = options.epochs or (2 if x_train.shape[0] >= 3000 else 12)
    print(f"{images.name}: {x_train.shape[0]} images to learn from, {x_test.shape[0]} to test, "
          f"{x_train.shape[2]} x {x_train.shape[3]}")

    def make(decorate):
        model = LeNet(x_train.shape[2], int(y_train.max()) + 1)
        optimizer = optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        def accuracy():
            right = 0
            with janus.no_grad():
                for start in range(0, x_test.shape[0], 500):
                    found = model(x_test[start:start + 500]).argmax(1)
                    right += int((found == y_test[start:start + 500]).sum())
            return right / x_test.shape[0]

        return decorate(step), accuracy

    def batches_of(epoch):
        janus.manual_seed(options.seed + epoch)
        order = janus.randperm(x_train.shape[0])
        parts = [order[start:start + options.batch] for start in range(0, x_train.shape[0], options.batch)]
        return [(x_train[part], y_train[part]) for part in parts]

    def report(name, epoch, loss, accuracy):
        print(f"{name:>10}  epoch {epoch}  loss {loss:.6f}  accuracy {accuracy:.4f}")

    results = sidebyside.compare(make, options.seed, epochs, batches_of, report)
    results = {"accuracy": results.pop("measure"), **results}
    print()
    table(list(results.items()))
    write_json(options.json, results)


if __name__ == "__main__":
    main()
