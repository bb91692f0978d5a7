# SPDX-License-Identifier: Apache-2.0
"""What one small operation costs imperatively: janus, NumPy and PyTorch side by side."""
import harness

ABOUT = "cost of one small operation, in microseconds (float32, 1 x 32 unless the name says otherwise)"


def main(argv=None):
    options = harness.parser(ABOUT).parse_args(argv)
    columns = ["janus imperative", "NumPy", "PyTorch eager"]
    medians, errors = harness.measure("eager_ops", list(zip(("janus", "numpy", "torch"), columns)), options)
    cases, table = [], {}
    for name, seconds in medians.items():
        column, _, case = name.partition(": ")
        if case not in table:
            cases.append(case)
        table.setdefault(case, {})[column] = seconds * 1e6
    print(ABOUT)
    worst = None
    print(f"{'':24}" + "".join(f"{column:>18}" for column in columns) + f"{'PyTorch/janus':>16}")
    for case in cases:
        row = table[case]
        shown = "".join(f"{row[column]:18.3f}" if column in row else f"{'-':>18}" for column in columns)
        ours, theirs = row.get(columns[0]), row.get(columns[2])
        if ours and theirs and (worst is None or theirs / ours < worst[0]):
            worst = theirs / ours, case
        print(f"{case:24}{shown}" + (f"{theirs / ours:16.1f}" if ours and theirs else f"{'-':>16}"))
    if worst:
        print(f"smallest ratio: {worst[0]:.1f} ({worst[1]}); the aim is 8")
    for name, error in errors.items():
        print(f"{name}: {error}")
    harness.finish(options.json, {"microseconds": table, "errors": errors, "threads": options.threads})


if __name__ == "__main__":
    main()
