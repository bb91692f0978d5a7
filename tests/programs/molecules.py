# SPDX-License-Identifier: Apache-2.0
"""Message passing over molecules given as lists of atoms and bonds; features by dicts; readout by gates."""
import random
import janus as torch
import janus.nn as nn

ATOMS = {"C": 0, "N": 1, "O": 2, "H": 3}
BONDS = {"-": 0, "=": 1, "#": 2}


class Molecule:
    def __init__(self, atoms, bonds, y):
        self.atoms, self.bonds, self.y = atoms, bonds, y

    @property
    def neighbours(self):
        near = {i: [] for i in range(len(self.atoms))}
        for a, b, kind in self.bonds:
            near[a].append((b, kind))
            near[b].append((a, kind))
        return near


class MPNN(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.embed = nn.Embedding(len(ATOMS), d)
        self.edge = nn.ModuleDict({"single": nn.Linear(d, d), "double": nn.Linear(d, d), "triple": nn.Linear(d, d)})
        self.names = {"-": "single", "=": "double", "#": "triple"}
        self.gru = nn.GRUCell(d, d)
        self.gate, self.value = nn.Linear(2 * d, 1), nn.Linear(d, 1)

    def forward(self, mol, rounds=2):
        h = h0 = self.embed(torch.tensor([ATOMS[a] for a in mol.atoms]))
        near = mol.neighbours
        for _ in range(rounds):
            messages = []
            for i in range(len(mol.atoms)):
                m = torch.zeros(self.d)
                for j, kind in near[i]:
                    m = m + self.edge[self.names[kind]](h[j])
                messages.append(m)
            h = self.gru(torch.stack(messages), h)
        return (torch.sigmoid(self.gate(torch.cat([h, h0], 1))) * self.value(h)).sum()


def train_one(model, opt, mol):
    opt.zero_grad()
    loss = (model(mol) - mol.y) ** 2
    loss.backward()
    opt.step()
    return loss.item()


def train_all(model, opt, mols, number):
    total = 0.0
    for mol in sorted(mols, key=lambda m: len(m.atoms)):
        total += train_one(model, opt, mol)
    print(f"{number:3d} rmse {(total / len(mols)) ** 0.5:.4f}")
    return total


def main(epochs):
    torch.manual_seed(0)
    rng = random.Random(7)
    mols = []
    for _ in range(8):
        n = rng.randint(3, 6)
        atoms = [rng.choice("CCNOH") for _ in range(n)]
        bonds = [(i, rng.randint(0, i - 1), rng.choice("--=#")) for i in range(1, n)]
        mols.append(Molecule(atoms, bonds, float(sum(a != "C" for a in atoms))))
    model = MPNN(6)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    return [train_all(model, opt, mols, e) for e in range(epochs)]


MODEL, STEP, EPOCH = "MPNN.forward", "train_one", "train_all"
