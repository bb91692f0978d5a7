/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a value that is used in slices: the slices' cotangents side by side.
 *
 * By the op's rule each slice would give zeros of the whole value's size with the cotangent put in,
 * and the sum of those.  Here slices that follow each other in the sweep, lie on one axis and do
 * not overlap are gathered, and become one concat where they fill the value.  A gate of an LSTM is
 * such a slice, a time step of what it reads a `select`, which is a slice of one.  What is added to
 * any element, and in which order, is the same.
 */
#include "config.h"

#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

#include <string.h>

struct jn_part {
    struct jn_part *next; /* in order of `start` */
    jn_value ct;
    int64_t axis, start, stop;
};

static int64_t int_attr(const jn_node *n, const char *name) {
    int64_t v = 0;
    const jn_attr_spec *spec = jn_attr_find(n->op, name, strlen(name));
    if (spec && n->attrs)
        memcpy(&v, (const char *)n->attrs + spec->offset, sizeof v);
    return v;
}

/* Bound number `i` of a slice of a dim; false: not a constant. */
static bool bound(const jn_sweep *s, const jn_node *n, uint32_t i, int64_t dim, int64_t *io) {
    if (i >= n->n_in || jn_value_is_none(n->in[i]))
        return true;
    janus_kind kind;
    janus_scalar v;
    if (!jn_const_value(jn_value_node(s->f, n->in[i]), &kind, &v) || kind != JANUS_KIND_INT)
        return false;
    *io = v.i < 0 ? v.i + dim : v.i;
    *io = *io < 0 ? 0 : *io > dim ? dim : *io;
    return true;
}

static janus_status with_axis(jn_sweep *s, const jn_op *op, int64_t axis, void **out) {
    void *attrs = *out = jn_diff_alloc(s->d, 1, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    const jn_attr_spec *spec = jn_attr_find(op, "axis", sizeof "axis" - 1);
    memcpy((char *)attrs + spec->offset, &axis, sizeof axis);
    return JANUS_OK;
}

/* The bounds of a slice of known step 1, or of a select of a known position of a dim; false: none.
 * Rows of a table are left to the op's rule, which writes no others. */
static bool bounds(const jn_sweep *s, const jn_node *n, int rank, int64_t dim, jn_part *part) {
    if (n->op == s->d->ops.select) {
        janus_kind kind;
        janus_scalar v;
        if ((rank == 2 && part->axis == 0) ||
            !jn_const_value(jn_value_node(s->f, n->in[1]), &kind, &v) || kind != JANUS_KIND_INT)
            return false;
        part->start = v.i < 0 ? v.i + dim : v.i;
        part->stop = part->start + 1;
        return part->start >= 0 && part->stop <= dim;
    }
    part->stop = dim;
    return int_attr(n, "step") == 1 && bound(s, n, 1, dim, &part->start) &&
           bound(s, n, 2, dim, &part->stop) && part->start < part->stop;
}

janus_status jn_sweep_slice(jn_sweep *s, const jn_node *n, bool *out_taken) {
    *out_taken = false;
    if (n->op != s->d->ops.slice && n->op != s->d->ops.select)
        return JANUS_OK;
    jn_value x = n->in[0], ct;
    JN_TRY(jn_arm_ct(s, s->num.first[n->id], &ct));
    uint32_t number = jn_number(&s->num, x);
    const jn_type *t = jn_value_type(s->f, x);
    jn_part part = {.ct = ct, .axis = int_attr(n, "axis")};
    if (t->rank < 0 || (x.node == 0 && s->acc && !jn_value_is_none(s->acc[x.index])) ||
        !jn_value_is_none(s->open[number]))
        return JANUS_OK;
    part.axis += part.axis < 0 ? t->rank : 0;
    int64_t dim = t->dims[part.axis];
    if (dim < 0 || !bounds(s, n, t->rank, dim, &part))
        return JANUS_OK;
    bool fits = true;
    jn_part **at = &s->parts[number];
    for (jn_part *p = *at; p && fits; p = p->next)
        fits = p->axis == part.axis && (p->stop <= part.start || part.stop <= p->start);
    if (!fits || (*at && s->part_inside[number] != jn_in_arm(s)))
        JN_TRY(jn_sweep_join(s, x));
    if (jn_in_arm(s))
        jn_arm_part(s, x);
    if (n->op == s->d->ops.select) {
        void *attrs;
        JN_TRY(with_axis(s, s->d->ops.unsqueeze, part.axis, &attrs));
        JN_TRY(jn_build(s->g, s->d->ops.unsqueeze, &ct, 1, attrs, NULL, s->loc, &part.ct, 1));
    }
    while (*at && (*at)->start < part.start)
        at = &(*at)->next;
    part.next = *at;
    if (!(*at = jn_diff_alloc(s->d, 1, sizeof part)))
        return JN_NO_MEMORY();
    **at = part;
    *out_taken = true;
    return JANUS_OK;
}

/* Zeros with the parts put in one after the other. */
static janus_status put(jn_sweep *s, jn_value like, const jn_part *parts, jn_value *out) {
    const jn_op *op = s->d->ops.slice_scatter;
    void *attrs;
    JN_TRY(with_axis(s, op, parts->axis, &attrs));
    JN_TRY(jn_sweep_zeros(s, like, out));
    for (const jn_part *p = parts; p; p = p->next) {
        jn_value in[4] = {*out, p->ct};
        JN_TRY(
            jn_build_scalar(s->g, JANUS_KIND_INT, (janus_scalar){.i = p->start}, s->loc, &in[2]));
        JN_TRY(jn_build_scalar(s->g, JANUS_KIND_INT, (janus_scalar){.i = p->stop}, s->loc, &in[3]));
        JN_TRY(jn_build(s->g, op, in, 4, attrs, NULL, s->loc, out, 1));
    }
    return JANUS_OK;
}

static janus_status beside(jn_sweep *s, const jn_part *parts, unsigned n, jn_value *out) {
    const jn_op *op = s->d->ops.concat;
    void *attrs;
    JN_TRY(with_axis(s, op, parts->axis, &attrs));
    jn_value *in = jn_diff_alloc(s->d, n, sizeof *in);
    if (!in)
        return JN_NO_MEMORY();
    unsigned i = 0;
    for (const jn_part *p = parts; p; p = p->next)
        in[i++] = p->ct;
    return jn_build(s->g, op, in, n, attrs, NULL, s->loc, out, 1);
}

janus_status jn_sweep_join(jn_sweep *s, jn_value v) {
    uint32_t number = jn_number(&s->num, v);
    const jn_part *parts = s->parts[number];
    if (!parts)
        return JANUS_OK;
    jn_subgraph *g = s->g;
    s->g = s->part_inside[number] ? s->arm.sub : s->home;
    s->parts[number] = NULL;
    unsigned n = 0;
    int64_t end = 0;
    bool filled = true;
    for (const jn_part *p = parts; p; p = p->next, n++) {
        filled = filled && p->start == end;
        end = p->stop;
    }
    filled = filled && end == jn_value_type(s->f, v)->dims[parts->axis];
    jn_value sum = parts->ct;
    if (!filled)
        JN_TRY(put(s, v, parts, &sum));
    else if (n > 1)
        JN_TRY(beside(s, parts, n, &sum));
    jn_value when = s->when;
    s->when = JN_VALUE_NONE; /* only what is certain is kept as a part */
    janus_status st = jn_sweep_add(s, v, sum);
    s->when = when;
    s->part_inside[number] = false;
    s->g = g;
    return st;
}
