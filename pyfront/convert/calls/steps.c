/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of optimizers where some gradients may be None. */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"

typedef struct stepping {
    PyObject *callable;
    const jcv_args *args;
    jcv_av **row;
    unsigned n;
} stepping;

static jcv_out step_row(jcv *c, void *user, int arm) {
    const stepping *x = user;
    if (arm)
        return OUT_NORMAL;
    jcv_av *row = jcv_tuple(c, x->row, x->n);
    row->items[1] = jcv_found(c, row->items[1]);
    jcv_av *rows = jcv_tuple(c, &row, 1), *pos[3] = {x->args->pos[0], rows, x->args->pos[2]};
    jcv_args args = *x->args;
    args.pos = pos;
    jcv_call_tensor(c, x->callable, &args);
    return OUT_NORMAL;
}

bool jcv_optional_steps(jcv *c, PyObject *callable, const char *name, const jcv_args *args) {
    jcv_av **rows;
    unsigned n;
    bool any = false;
    if (strcmp(name, "optimizer_step_") != 0 || args->n_pos != 3 ||
        !jcv_items(c, args->pos[1], &rows, &n))
        return false;
    stepping *x = jcv_alloc(c, (n + 1) * sizeof *x);
    for (unsigned i = 0; i < n; i++) {
        x[i] = (stepping){callable, args, NULL, 0};
        if (!jcv_items(c, rows[i], &x[i].row, &x[i].n) || x[i].n < 2)
            return false;
        jcv_av *g = jcv_found(c, x[i].row[1]);
        any = any || g->kind == AV_MAYBE || jcv_is_none(g);
    }
    for (unsigned i = 0; i < n && any; i++) {
        jcv_av *g = jcv_found(c, x[i].row[1]);
        if (g->kind == AV_MAYBE)
            jcv_branch(c, g->val, step_row, &x[i]);
        else if (!jcv_is_none(g))
            step_row(c, &x[i], 0);
    }
    return any;
}
