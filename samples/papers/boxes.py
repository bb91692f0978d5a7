# SPDX-License-Identifier: Apache-2.0
"""What detection leaves to a library: boxes are Python's lists here, (x0, y0, x1, y1)."""


def area(box):
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def overlap(a, b):
    """Intersection over union."""
    both = area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    return both / (area(a) + area(b) - both + 1e-9)


def suppress(boxes, scores, threshold, most):
    """Indices of the best boxes, none of which overlaps a better one by more than the threshold."""
    kept = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[i], boxes[k]) <= threshold for k in kept):
            kept.append(i)
            if len(kept) == most:
                break
    return kept


def assign(boxes, objects):
    """For each box the class of the object that it overlaps most and that object; class 0: none."""
    found = []
    for box in boxes:
        best, label, of = 0.3, 0, box
        for other, kind in objects:
            how = overlap(box, other)
            if how > best:
                best, label, of = how, kind, other
        found.append((label, of))
    return found
