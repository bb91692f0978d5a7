/* Finding a row by its name: a sorted index over jn_ops, made once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/op.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 1024 };
static uint16_t by_name[MAX_OPS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare_rows(const void *a, const void *b) {
    return strcmp(jn_ops[*(const uint16_t *)a].name, jn_ops[*(const uint16_t *)b].name);
}

static void make_index(void) {
    for (unsigned i = 0; i < jn_n_ops && i < MAX_OPS; i++)
        by_name[i] = (uint16_t)i;
    qsort(by_name, jn_n_ops < MAX_OPS ? jn_n_ops : MAX_OPS, sizeof by_name[0], compare_rows);
}

const jn_op *jn_op_find(const char *name, size_t n) {
    pthread_once(&once, make_index);
    unsigned low = 0, high = jn_n_ops < MAX_OPS ? jn_n_ops : MAX_OPS;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        const jn_op *op = &jn_ops[by_name[middle]];
        int order = strncmp(name, op->name, n);
        if (order == 0 && op->name[n])
            order = -1;
        if (order == 0)
            return op;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
