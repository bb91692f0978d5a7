/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of a list get a gradient.
 *
 * A list of unknown length is one tensor, and the gradient of reading a row is zeros but for that
 * row.  Of the others nothing may be computed: what only they lead to gets no gradient, and zeros
 * times infinity are NaN.  Which row was read is known when the graph runs, so each row has a key.
 * In a gradient, which runs in reverse program order, all reads of a list come before its making:
 * that of a read marks the row's key where it has a cotangent, that of putting the row in takes the
 * mark, and it is the condition on which there is a cotangent (autodiff_presence.c).
 *
 * A list whose rows are all read on the same terms needs no keys.  A note without one is a
 * question: whether that is so here.  Where it is not, nothing is derived and the module says why.
 */
#include "config.h"

#include <string.h>

#include "graph/autodiff/internal.h"

enum { SOME = 0, ALL_IN_TURN = 1, ONE_OF_ALL = 2 }; /* attribute `part` of rows.read */

static int64_t part_of(const jn_node *n) {
    int64_t part = SOME;
    const jn_attr_spec *spec = jn_attr_find(n->op, "part", 4);
    if (spec && n->attrs)
        memcpy(&part, (const char *)n->attrs + spec->offset, sizeof part);
    return part;
}

/* Whether all rows have what this read has: a gradient on all paths, or none. */
static bool alike(const jn_sweep *s, const jn_node *n, uint32_t i) {
    int64_t part = part_of(n);
    bool none = jn_value_is_none(s->ct[i]);
    if (part == SOME)
        return none;
    return none ? part == ALL_IN_TURN : jn_arm_certain(s, i);
}

static janus_status read_gradient(jn_sweep *s, const jn_node *n, uint32_t i) {
    jn_value in[2];
    if (n->n_in < 2 || jn_value_is_none(n->in[1])) {
        if (alike(s, n, i))
            return JANUS_OK;
        s->d->m->asks_rows = true;
        return jn_error(JANUS_UNSUPPORTED, "@%s: some rows of a list get a gradient", s->f->name);
    }
    if (jn_value_is_none(s->ct[i]))
        return JANUS_OK;
    JN_TRY(jn_arm_close(s));
    JN_TRY(jn_sweep_fetch(s, n->in[1], &in[0]));
    in[1] = s->flag[i];
    return jn_sweep_build(s, s->d->ops.rows_mark, in, jn_value_is_none(in[1]) ? 1 : 2, NULL, 0);
}

static janus_status put_gradient(jn_sweep *s, const jn_node *n, uint32_t i) {
    jn_value k, marked;
    if (jn_value_is_none(s->ct[i]))
        return JANUS_OK;
    JN_TRY(jn_arm_close(s));
    JN_TRY(jn_sweep_fetch(s, n->in[1], &k));
    JN_TRY(jn_sweep_build(s, s->d->ops.rows_take, &k, 1, &marked, 1));
    return jn_presence_and(s, s->flag[i], marked, &s->flag[i]);
}

janus_status jn_sweep_note(jn_sweep *s, const jn_node *n) {
    jn_value x = n->in[0];
    uint32_t i = jn_number(&s->num, x);
    if (!s->presence || !s->active[i])
        return JANUS_OK;
    if (x.node)
        JN_TRY(jn_sweep_close(s, x.node, jn_value_node(s->f, x)->n_out));
    return n->op == s->d->ops.rows_put ? put_gradient(s, n, i) : read_gradient(s, n, i);
}
