/* Line differences by the longest common subsequence; equal heads and tails are cut off first,
 * which leaves little to compare in practice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/line_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 64 << 20 };

typedef struct lines {
    const char **start;
    size_t n;
} lines;

static size_t length(const char *line) { return strcspn(line, "\n"); }

static lines split(const char *text) {
    lines l = {0};
    size_t n = 0;
    for (const char *p = text; *p; p += length(p) + 1)
        n++;
    l.start = malloc((n + 1) * sizeof *l.start);
    for (const char *p = text; l.start && *p; p += length(p) + 1)
        l.start[l.n++] = p;
    return l;
}

static int same(const char *a, const char *b) {
    size_t n = length(a);
    return n == length(b) && !memcmp(a, b, n);
}

static void show(FILE *out, char mark, const char *line) {
    fprintf(out, "%c%.*s\n", mark, (int)length(line), line);
}

static void show_all(FILE *out, char mark, const lines *l, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        show(out, mark, l->start[i]);
}

/* Longest common subsequence of the middle parts: cell [i][j] is its length from there on. */
static void compare(FILE *out, const lines *a, size_t a0, size_t a1, const lines *b, size_t b0,
                    size_t b1) {
    size_t n = a1 - a0, m = b1 - b0, w = m + 1;
    uint32_t *cell = n && m && n < MAX_CELLS / w ? calloc((n + 1) * w, sizeof *cell) : NULL;
    size_t i = 0, j = 0;
    if (cell) {
        for (size_t x = n; x-- > 0;) {
            for (size_t y = m; y-- > 0;) {
                uint32_t down = cell[(x + 1) * w + y], right = cell[x * w + y + 1];
                cell[x * w + y] = same(a->start[a0 + x], b->start[b0 + y])
                                      ? cell[(x + 1) * w + y + 1] + 1
                                      : (down > right ? down : right);
            }
        }
        while (i < n && j < m) {
            if (same(a->start[a0 + i], b->start[b0 + j])) {
                show(out, ' ', a->start[a0 + i]);
                i++, j++;
            } else if (cell[(i + 1) * w + j] >= cell[i * w + j + 1]) {
                show(out, '-', a->start[a0 + i++]);
            } else {
                show(out, '+', b->start[b0 + j++]);
            }
        }
        free(cell);
    }
    show_all(out, '-', a, a0 + i, a1);
    show_all(out, '+', b, b0 + j, b1);
}

void line_diff(const char *a, const char *b, FILE *out) {
    lines x = split(a), y = split(b);
    size_t head = 0, tail = 0;
    while (head < x.n && head < y.n && same(x.start[head], y.start[head]))
        head++;
    while (tail < x.n - head && tail < y.n - head &&
           same(x.start[x.n - 1 - tail], y.start[y.n - 1 - tail]))
        tail++;
    show_all(out, ' ', &x, 0, head);
    compare(out, &x, head, x.n - tail, &y, head, y.n - tail);
    show_all(out, ' ', &x, x.n - tail, x.n);
    free(x.start);
    free(y.start);
}
