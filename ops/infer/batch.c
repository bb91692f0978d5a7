/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch rules: the op and attributes that compute all rows at once, when rowed operands get one
 * more dim in front and the others stay as they are.  NULL sends the rows one by one, which is
 * always right; a rule says yes only where it has checked every operand.
 *
 * A rule may return another op whose attribute struct has the same layout (checked below).
 */
#include "config.h"

#include "ops/attention_rules.h"
#include "ops/attrs.h"
#include "ops/index_rules.h"
#include "ops/nn_rules.h"
#include "ops/op_ids.h"
#include "ops/rules.h"

#include <string.h>

/* What operand i accepts. */
static uint8_t accept_of(const jn_op *op, unsigned i) {
    const jn_operand *o = op->operands;
    for (unsigned k = 0; k < i && !o->variadic; k++)
        o++;
    return o->accept;
}

/* Every tensor operand has rows and no scalar has. */
static bool all_rowed(const jn_sig *s, const bool *rowed) {
    for (unsigned i = 0; i < s->n_in; i++) {
        uint8_t accept = accept_of(s->op, i);
        if (s->in[i].rank < 0 || accept == JN_ACCEPT_LIKE)
            continue;
        if (rowed[i] != (accept == JN_ACCEPT_TENSOR))
            return false;
    }
    return true;
}

/* The attribute of that name in `attrs`. */
static void *attr_at(const jn_op *op, void *attrs, const char *name) {
    for (const jn_attr_spec *a = op->attrs; a->name; a++) {
        if (strcmp(a->name, name) == 0)
            return (char *)attrs + a->offset;
    }
    return NULL;
}

/* An axis of a row of `rank` dims, counted behind the row dim. */
static int64_t shifted(int64_t axis, int rank) { return (axis < 0 ? axis + rank : axis) + 1; }

#define RULE(name)                                                                                 \
    const jn_op *jn_batch_##name(const jn_sig *s, const bool *rowed, int64_t rows, void *attrs,    \
                                 int64_t *ints)
#define UNUSED ((void)s, (void)rowed, (void)rows, (void)attrs, (void)ints)

static const jn_op *shift_axis(const jn_sig *s, void *attrs, int rank) {
    int64_t *axis = attr_at(s->op, attrs, "axis");
    if (!axis || rank == 0)
        return NULL;
    *axis = shifted(*axis, rank);
    return s->op;
}

RULE(axis) {
    UNUSED;
    return all_rowed(s, rowed) ? shift_axis(s, attrs, s->in[0].rank) : NULL;
}

/* The result has one dim more than each operand. */
RULE(new_axis) {
    UNUSED;
    return all_rowed(s, rowed) ? shift_axis(s, attrs, s->in[0].rank + 1) : NULL;
}

/* x has rows, all other tensors (weights) have none. */
RULE(axis_first) {
    UNUSED;
    for (unsigned i = 0; i < s->n_in; i++) {
        if (rowed[i] != (i == 0))
            return NULL;
    }
    return shift_axis(s, attrs, s->in[0].rank);
}

/* No dims named means all of a row's: then they must be named. */
RULE(dims) {
    UNUSED;
    janus_ints *dims = attr_at(s->op, attrs, "dims");
    int rank = s->in[0].rank;
    if (!dims || rank == 0 || !all_rowed(s, rowed) || dims->n > JN_MAX_RANK)
        return NULL;
    size_t n = dims->n ? dims->n : (size_t)rank;
    for (size_t i = 0; i < n; i++)
        ints[i] = dims->n ? shifted(dims->data[i], rank) : (int64_t)i + 1;
    *dims = (janus_ints){ints, n};
    return s->op;
}

RULE(argmax) {
    janus_argmax_attrs *a = attrs; /* argmin's is alike */
    UNUSED;
    if (!a->all)
        return shift_axis(s, attrs, s->in[0].rank);
    if (s->in[0].rank != 1)
        return NULL;
    a->all = 0;
    a->axis = 1;
    return s->op;
}

/* Ops whose attributes do not name dims, on operands that all have rows. */
RULE(same) {
    UNUSED;
    return all_rowed(s, rowed) ? s->op : NULL;
}

/* The like operand's own shape does not matter, but dims are matched from the last one. */
RULE(like) {
    UNUSED;
    return rowed[0] && s->in[0].rank == s->out[0].rank ? s->op : NULL;
}

RULE(reshape) {
    UNUSED;
    return rowed[0] ? s->op : NULL; /* row-major order is that of the rows, one after another */
}

RULE(transpose) {
    janus_transpose_attrs *a = attrs;
    UNUSED;
    a->dim0 = shifted(a->dim0, s->in[0].rank);
    a->dim1 = shifted(a->dim1, s->in[0].rank);
    return s->op;
}

RULE(permute) {
    janus_permute_attrs *a = attrs;
    int rank = s->in[0].rank;
    UNUSED;
    if (a->dims.n != (size_t)rank)
        return NULL;
    ints[0] = 0;
    for (int i = 0; i < rank; i++)
        ints[i + 1] = shifted(a->dims.data[i], rank);
    a->dims = (janus_ints){ints, (size_t)rank + 1};
    return s->op;
}

RULE(expand) {
    UNUSED;
    return rowed[0] && s->in[0].rank == s->out[0].rank ? s->op : NULL;
}

RULE(unsqueeze) {
    janus_unsqueeze_attrs *a = attrs;
    UNUSED;
    a->axis = shifted(a->axis, s->in[0].rank + 1);
    return s->op;
}

/* Which dims go depends on sizes; the elements stay in order. */
_Static_assert(sizeof(janus_squeeze_attrs) == sizeof(janus_reshape_attrs), "layout");
RULE(squeeze) {
    UNUSED;
    return JN_OP(reshape);
}

RULE(slice) {
    UNUSED;
    return all_rowed(s, rowed) ? shift_axis(s, attrs, s->in[0].rank) : NULL;
}

/* One index for all rows of x, or one per row into a shared x. */
_Static_assert(sizeof(janus_select_attrs) == sizeof(janus_index_select_attrs), "layout");
RULE(select) {
    janus_select_attrs *a = attrs;
    UNUSED;
    if (rowed[0])
        return rowed[1] ? NULL : shift_axis(s, attrs, s->in[0].rank);
    if (a->axis != 0 && a->axis != -s->in[0].rank)
        return NULL;
    a->axis = 0;
    return JN_OP(index_select);
}

_Static_assert(sizeof(janus_embedding_attrs) == sizeof(janus_index_select_attrs), "layout");
RULE(index_select) {
    janus_index_select_attrs *a = attrs;
    UNUSED;
    if (rowed[0])
        return rowed[1] ? NULL : shift_axis(s, attrs, s->in[0].rank);
    if (s->in[0].rank != 2 || (a->axis != 0 && a->axis != -2))
        return NULL;
    *(janus_embedding_attrs *)attrs =
        (janus_embedding_attrs){.struct_size = sizeof(janus_embedding_attrs), .padding_idx = -1};
    return JN_OP(embedding);
}

/* A shared table, whatever the shape of the indices. */
RULE(embedding) {
    UNUSED;
    return rowed[0] ? NULL : s->op;
}

/* A number per row is a vector of numbers, to be cast. */
_Static_assert(sizeof(janus_scalar_tensor_attrs) == sizeof(janus_cast_attrs), "layout");
RULE(scalar_tensor) {
    UNUSED;
    return JN_OP(cast);
}

/* Rows become a batch dim, or, of vectors, the rows of a matrix. */
RULE(matmul) {
    janus_matmul_attrs *m = attrs;
    int ra = s->in[0].rank, rb = s->in[1].rank;
    UNUSED;
    if (rowed[0] && rowed[1])
        return ra == rb && ra >= 2 ? s->op : NULL;
    if (rowed[0]) {
        if (rb > 2)
            return NULL;
        if (ra == 1)
            m->transpose_a = 0; /* a vector had no effect on it */
        return s->op;
    }
    if (rb == 1 || ra > 2)
        return NULL;
    return s->op;
}

/* A loss per row: kernels know the flag. */
static const jn_op *loss_of_rows(const jn_sig *s, const bool *rowed, void *attrs) {
    int64_t *reduction = attr_at(s->op, attrs, "reduction");
    if (!reduction || !all_rowed(s, rowed))
        return NULL;
    *reduction |= JN_REDUCTION_ROWS;
    return s->op;
}
RULE(loss) {
    UNUSED;
    return loss_of_rows(s, rowed, attrs);
}

/* A sum of losses hands one number on to all of them: kernels tell it by its having no dims. */
RULE(loss_grad) {
    UNUSED;
    bool with[] = {true, rowed[1], s->n_in > 2 && rowed[2]};
    return loss_of_rows(s, s->in[0].rank == 0 ? with : rowed, attrs);
}

/* The gradients of weight and bias of each row by itself; a weight of each row is nothing kernels
 * know. */
RULE(layer_norm_grad) {
    UNUSED;
    for (unsigned i = 0; i < s->n_in; i++) {
        if (s->in[i].rank >= 0 && rowed[i] != (i != 2))
            return NULL;
    }
    return shift_axis(s, attrs, s->in[1].rank);
}

/* Batch dims broadcast: what has rows must have as many dims as the largest, so that they come
 * first.  lse has one dim less than the others. */
RULE(attention) {
    UNUSED;
    int rank = 0;
    for (unsigned i = 0; i < s->n_in; i++)
        rank = s->in[i].rank > rank ? s->in[i].rank : rank;
    for (unsigned i = 0; i < s->n_in; i++)
        if (rowed[i] && s->in[i].rank + (i == JN_ATTENTION_LSE) != rank)
            return NULL;
    return s->op;
}

/* Kernels take planes, whatever comes before them. */
RULE(planes) {
    UNUSED;
    return all_rowed(s, rowed) ? s->op : NULL;
}

/* outer and dot take vectors and rows of vectors. */
RULE(vectors) {
    UNUSED;
    return s->op;
}

RULE(pad) {
    janus_pad_attrs *a = attrs;
    UNUSED;
    size_t n = a->before.n;
    if (!rowed[0] || n + 1 > JN_MAX_RANK)
        return NULL;
    ints[0] = ints[n + 1] = 0;
    for (size_t i = 0; i < n; i++) {
        ints[i + 1] = a->before.data[i];
        ints[n + 2 + i] = a->after.data[i];
    }
    a->before = (janus_ints){ints, n + 1};
    a->after = (janus_ints){ints + n + 1, n + 1};
    return s->op;
}

RULE(roll) {
    janus_roll_attrs *a = attrs;
    int rank = s->in[0].rank;
    UNUSED;
    if (!rowed[0] || rank == 0 || a->dims.n > JN_MAX_RANK || (a->dims.n == 0 && rank != 1))
        return NULL;
    size_t n = a->dims.n ? a->dims.n : 1;
    for (size_t i = 0; i < n; i++)
        ints[i] = a->dims.n ? shifted(a->dims.data[i], rank) : 1;
    a->dims = (janus_ints){ints, n};
    return s->op;
}

RULE(repeat) {
    janus_repeat_attrs *a = attrs;
    UNUSED;
    if (!rowed[0] || a->repeats.n != (size_t)s->in[0].rank)
        return NULL;
    ints[0] = 1;
    for (size_t i = 0; i < a->repeats.n; i++)
        ints[i + 1] = a->repeats.data[i];
    a->repeats = (janus_ints){ints, a->repeats.n + 1};
    return s->op;
}

/* Indices of each row into a shared tensor: the rows are one more dim of the indices, which come
 * first in the result where the first dims are indexed. */
RULE(index) {
    janus_index_attrs *a = attrs;
    bool indexed[JN_MAX_RANK];
    int place, rank = 0;
    UNUSED;
    if (rowed[0] || !jn_index_layout(a->axes, s->in[0].rank, indexed, &place) || place != 0)
        return NULL;
    for (unsigned i = 1; i < s->n_in; i++)
        rank = s->in[i].rank > rank ? s->in[i].rank : rank;
    for (unsigned i = 1; i < s->n_in; i++) {
        if (rowed[i] && s->in[i].rank != rank) /* dims are matched from the last */
            return NULL;
    }
    return s->op;
}
