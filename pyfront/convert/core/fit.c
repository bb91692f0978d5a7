/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that are assumed to be equal where an op needs it, and nowhere else.
 *
 * Of a size that was computed of several that only the run knows (as many rows as two calls have
 * returned) none can be assumed to be another one alone (equal.c).  Then the operand itself is
 * taken for one that has the dim of another operand, which is asserted before the op.
 */
#include "pyfront/convert/core/core.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

typedef struct place {
    unsigned operand;
    int axis;
} place;

static int64_t size_at(const jn_infer *x, place p) { return x->in[p.operand]->dims[p.axis]; }

/* The next dim of a tensor among the operands; false: there is none. */
static bool next(const jn_infer *x, place *p) {
    p->axis++;
    while (p->operand < x->n_in &&
           !(x->in[p->operand] && x->in[p->operand]->kind == JANUS_KIND_TENSOR &&
             p->axis < x->in[p->operand]->rank)) {
        p->operand++;
        p->axis = 0;
    }
    return p->operand < x->n_in;
}

/* The type with the dim of another place. */
static const jn_type *with_dim(jcv *c, const jn_infer *x, place p, int64_t size) {
    int64_t dims[JN_MAX_RANK];
    jn_type t = *x->in[p.operand];
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    dims[p.axis] = size;
    t.dims = dims;
    return jcv_type(c, t);
}

static jcv_val *asserted(jcv *c, jcv_val *v, place p, jcv_val *size, const jn_type *type) {
    jcv_must_be(c, jcv_size_of(c, v, p.axis), size);
    c->any_dims = true;
    jcv_node *n = jcv_op(c, JN_OP(alias), &v, 1, NULL);
    c->any_dims = false;
    n->view = true;
    n->out[0].type = type;
    n->out[0].depends = v->depends;
    n->out[0].cut = v->cut;
    return &n->out[0];
}

/* Changes up to `more` dims and one more, from p on. */
static bool search(jcv *c, jn_infer *x, const jn_type **types, jcv_val **in, place from,
                   unsigned more) {
    for (place p = from; next(x, &p);) {
        int64_t own = size_at(x, p);
        if (!jcv_dim_varies(c, own) || jcv_of_argument(c, own))
            continue;
        for (place q = {0, -1}; next(x, &q);) {
            int64_t other = size_at(x, q);
            if (q.operand == p.operand || other == own || other < 2)
                continue;
            const jn_type *was = types[p.operand], *now = with_dim(c, x, p, other);
            types[p.operand] = now;
            bool fits =
                jn_infer_run(x) == JANUS_OK || (more && search(c, x, types, in, p, more - 1));
            if (!fits) {
                types[p.operand] = was;
                continue;
            }
            jcv_val *size = jcv_dim_varies(c, other) ? jcv_size_of(c, in[q.operand], q.axis)
                                                     : jcv_int(c, other);
            in[p.operand] = asserted(c, in[p.operand], p, size, types[p.operand]);
            return true;
        }
    }
    return false;
}

bool jcv_fit_here(jcv *c, jn_infer *failed, const jn_type **types, jcv_val **in) {
    return search(c, failed, types, in, (place){0, -1}, 1);
}
