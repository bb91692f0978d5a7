/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording ops: the nodes that pyfront/tape/op.c runs the gradient rules of.
 *
 * A node of an op keeps, in one block with the struct: a jpy_saved per value, filled where the
 * row's SAVE field asks; and the attributes and the types of all operands and results (dims shared
 * where equal), unless those are its kind's.
 */
#include "config.h"

#include "pyfront/tape/record.h"

#include <string.h>

#include "exec/store/store.h"
#include "ops/op_ids.h"

typedef jpy_op_data op_data;

static size_t round_up(size_t n) { return (n + 15) & ~(size_t)15; }

static size_t ints_size(const jn_op *op, const void *attrs) {
    size_t size = 0;
    for (const jn_attr_spec *s = op->attrs; s->name; s++)
        if (s->kind == JN_ATTR_INTS)
            size += ((const janus_ints *)(const void *)((const char *)attrs + s->offset))->n *
                    sizeof(int64_t);
    return size;
}

static void copy_attrs(const jn_op *op, const void *attrs, void *to, int64_t *ints) {
    memcpy(to, attrs, op->attr_size);
    for (const jn_attr_spec *s = op->attrs; s->name; s++) {
        if (s->kind != JN_ATTR_INTS)
            continue;
        janus_ints *v = (janus_ints *)(void *)((char *)to + s->offset);
        if (v->n)
            memcpy(ints, v->data, v->n * sizeof *ints);
        v->data = ints;
        ints += v->n;
    }
}

jn_type jpy_val_type(const jpy_val *v) {
    if (v->kind == JANUS_KIND_TENSOR)
        return jn_tensor_as_type(v->t);
    if (v->kind == JN_EAGER_LIKE)
        return *v->like;
    return jn_scalar_type((janus_kind)v->kind);
}

bool jpy_is_product(const jn_op *op) {
    switch (op->id) {
    case JN_OP_ID_mul:
    case JN_OP_ID_matmul:
    case JN_OP_ID_linear:
    case JN_OP_ID_outer:
    case JN_OP_ID_dot:
    case JN_OP_ID_conv2d:
        return true;
    default:
        return false;
    }
}

bool jpy_op_saves(const jn_op *op, unsigned i, const bool *tracked) {
    if (!(op->save >> (i < 16 ? i : 15) & 1)) /* a long list of operands shares the last bit */
        return false;
    switch (op->id) { /* what only the gradient of another operand asks for */
    case JN_OP_ID_div:
        return i == 1 || tracked[1];
    case JN_OP_ID_mod:
        return tracked[1];
    case JN_OP_ID_lerp:
        return i == 2 || tracked[2];
    default:
        break;
    }
    return i > 1 || !jpy_is_product(op) || tracked[1 - i];
}

bool jpy_op_saves_result(const jn_op *op, unsigned i, const bool *tracked) {
    return (op->save >> (16 + i) & 1) && (op->id != JN_OP_ID_pow || tracked[1]);
}

/* The types of a call's values, whose dims are the tensors' own. */
static void put_types(const jpy_val *in, unsigned n_in, janus_tensor *const *out, unsigned n_out,
                      jn_type *types) {
    for (unsigned i = 0; i < n_in; i++)
        types[i] = jpy_val_type(&in[i]);
    for (unsigned i = 0; i < n_out; i++)
        types[n_in + i] = jn_tensor_as_type(out[i]);
}

static size_t count_dims(const jpy_val *in, unsigned n_in, janus_tensor *const *out,
                         unsigned n_out) {
    size_t n = 0;
    for (unsigned i = 0; i < n_in; i++)
        if (in[i].kind == JANUS_KIND_TENSOR)
            n += in[i].t->rank;
        else if (in[i].kind == JN_EAGER_LIKE && in[i].like->kind == JANUS_KIND_TENSOR)
            n += (size_t)in[i].like->rank;
    for (unsigned i = 0; i < n_out; i++)
        n += out[i]->rank;
    return n;
}

static inline bool same_dims(const int64_t *a, const int64_t *b, int rank) {
    for (int i = 0; i < rank; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* The types once more, with dims of their own at `at`, or those of the tensor before if they are
 * the same. */
typedef struct dims_room {
    int64_t *at, *last;
    int rank; /* of what `last` is; -1: there is none */
} dims_room;

static inline jn_type kept_tensor(dims_room *r, int dtype, int rank, const int64_t *dims) {
    if (r->rank != rank || !same_dims(r->last, dims, rank)) {
        for (int i = 0; i < rank; i++)
            r->at[i] = dims[i];
        r->last = r->at;
        r->at += rank;
        r->rank = rank;
    }
    return jn_tensor_type((janus_dtype)dtype, rank, r->last);
}

static void keep_types(const jpy_val *in, unsigned n_in, janus_tensor *const *out, unsigned n_out,
                       jn_type *types, int64_t *room) {
    dims_room r = {room, room, -1};
    for (unsigned i = 0; i < n_in; i++) {
        const jpy_val *v = &in[i];
        if (JN_LIKELY(v->kind == JANUS_KIND_TENSOR)) {
            types[i] = kept_tensor(&r, v->t->dtype, v->t->rank, v->t->dims);
            continue;
        }
        types[i] = jpy_val_type(v);
        if (types[i].kind == JANUS_KIND_TENSOR)
            types[i] = kept_tensor(&r, types[i].dtype, types[i].rank, types[i].dims);
    }
    for (unsigned i = 0; i < n_out; i++)
        types[n_in + i] = kept_tensor(&r, out[i]->dtype, out[i]->rank, out[i]->dims);
}

/* A node whose attributes and types lie with it. */
static jpy_node *node_with_types(jn_thread *me, const jn_op *op, const jpy_val *in, unsigned n_in,
                                 const void *attrs, janus_tensor *const *out, unsigned n_out) {
    unsigned n_values = n_in + n_out;
    size_t attr_size = attrs ? op->attr_size : 0;
    size_t at_types = sizeof(op_data) + n_values * sizeof(jpy_saved);
    size_t at_attrs = at_types + round_up(n_values * sizeof(jn_type));
    size_t at_dims = at_attrs + round_up(attr_size);
    size_t at_ints = at_dims + count_dims(in, n_in, out, n_out) * sizeof(int64_t);
    size_t size = at_ints + (attr_size ? ints_size(op, attrs) : 0);
    if (n_in > UINT16_MAX || size > UINT32_MAX / 2) {
        PyErr_Format(PyExc_RuntimeError, "%s: too many operands to record", op->name);
        return NULL;
    }
    jpy_node *n =
        jpy_node_make(me, &jpy_op_class, 0, n_out, NULL, round_up(size) + n_in * sizeof(jpy_edge));
    if (!n)
        return NULL;
    char *block = jpy_node_data(n);
    op_data *d = (op_data *)(void *)block;
    jn_type *types = (jn_type *)(void *)(block + at_types);
    d->attrs = NULL;
    if (attr_size) {
        copy_attrs(op, attrs, block + at_attrs, (int64_t *)(void *)(block + at_ints));
        d->attrs = block + at_attrs;
    }
    keep_types(in, n_in, out, n_out, types, (int64_t *)(void *)(block + at_dims));
    d->types = types;
    d->kind = NULL;
    n->edges = (jpy_edge *)(void *)(block + round_up(size));
    return n;
}

/* A node of a recorded call, small as can be: whole histories of them are walked. */
static jpy_node *node_of_kind(jn_thread *me, const jn_op *op, jn_call_kind *kind,
                              jn_call_note *note, const jpy_val *in, unsigned n_in,
                              janus_tensor *const *out, unsigned n_out) {
    unsigned n_values = n_in + n_out;
    const jn_type *types = jn_call_kind_types(kind);
    if (!types) {
        jn_type few[JN_RECIPE_IN + JN_RECIPE_OUT];
        put_types(in, n_in, out, n_out, few);
        if (!(types = jn_call_kind_keep_types(kind, few, n_values))) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    size_t size = sizeof(op_data) + n_values * sizeof(jpy_saved);
    jpy_node *n = jpy_node_make(me, &jpy_op_class, 0, n_out, NULL, size + n_in * sizeof(jpy_edge));
    if (!n)
        return NULL;
    char *block = jpy_node_data(n);
    op_data *d = (op_data *)(void *)block;
    d->op = op;
    d->attrs = jn_call_kind_attrs(kind);
    d->types = types;
    d->kind = kind;
    if (!note->nodes++)
        jn_call_kind_retain(kind);
    n->edges = (jpy_edge *)(void *)(block + size);
    n->n_in = (uint16_t)n_in;
    return n;
}

/* Bits for what a node of a kind keeps: of operands, then results. */
static uint32_t keeps(const jn_op *op, jn_call_note *note, const jpy_val *in, unsigned n_in,
                      unsigned n_out) {
    enum { KNOWN = 1 << 30 };
    bool tracked[JPY_SAVES_READ] = {false};
    unsigned which = 0;
    for (unsigned i = 0; i < n_in && i < JPY_SAVES_READ; i++) {
        tracked[i] = jpy_edge_tracked(in[i].edge);
        which |= (unsigned)tracked[i] << i;
    }
    uint32_t bits = note->keeps[which];
    if (JN_LIKELY(bits))
        return bits;
    bits = KNOWN;
    for (unsigned i = 0; i < n_in; i++)
        bits |= (uint32_t)jpy_op_saves(op, i, tracked) << i;
    for (unsigned i = 0; i < n_out; i++)
        bits |= (uint32_t)jpy_op_saves_result(op, i, tracked) << (n_in + i);
    return note->keeps[which] = bits;
}
_Static_assert(sizeof(((jn_call_note *)NULL)->keeps) / sizeof(uint32_t) == 1 << JPY_SAVES_READ,
               "what the tape keeps is told by that many operands");
_Static_assert(JN_RECIPE_IN + JN_RECIPE_OUT < 30, "bits of what a node keeps");

static jpy_node *record_kind(jn_thread *me, const jn_op *op, const jpy_val *in, unsigned n_in,
                             janus_tensor *const *out, unsigned n_out, jn_call_kind *kind) {
    jn_call_note *note = jn_call_kind_note(kind);
    jpy_node *n = node_of_kind(me, op, kind, note, in, n_in, out, n_out);
    if (!n)
        return NULL;
    uint32_t keep = keeps(op, note, in, n_in, n_out);
    jpy_saved *s = ((op_data *)jpy_node_data(n))->saved;
    jpy_edge *e = n->edges;
    for (const jpy_val *v = in; v < in + n_in; v++, e++, s++, keep >>= 1) {
        *e = v->edge;
        if (e->node) {
            n->leads |= e->node->leads;
            jpy_node_retain(e->node);
        } else {
            Py_XINCREF((PyObject *)e->leaf);
        }
        s->kind = JANUS_KIND_NONE;
        if (v->kind == JANUS_KIND_TENSOR) {
            if (keep & 1) {
                jpy_saved_set(s, v->t);
                n->has_saved = true;
            }
        } else if (v->kind != JN_EAGER_LIKE && v->kind != JANUS_KIND_NONE) {
            s->kind = v->kind;
            s->s = v->s;
        }
    }
    for (unsigned i = 0; i < n_out; i++, s++, keep >>= 1) {
        s->kind = JANUS_KIND_NONE;
        if (keep & 1) {
            jpy_saved_set(s, out[i]);
            n->has_saved = true;
        }
    }
    return n;
}
_Static_assert(sizeof(op_data) % 16 == 0 && sizeof(jpy_saved) % 8 == 0, "what lies behind them");

jpy_node *jpy_record(jn_thread *me, const jn_op *op, const jpy_val *in, unsigned n_in,
                     const void *attrs, janus_tensor *const *out, unsigned n_out,
                     jn_call_kind *kind) {
    if (JN_UNLIKELY(me->tracing != NULL) && !kind) /* every call has one then */
        kind = jpy_kind_of_call(op, attrs, in, n_in, out, n_out);
    if (kind)
        return record_kind(me, op, in, n_in, out, n_out, kind);
    jpy_node *n = node_with_types(me, op, in, n_in, attrs, out, n_out);
    if (!n)
        return NULL;
    op_data *d = jpy_node_data(n);
    d->op = op;
    n->n_in = (uint16_t)n_in;
    bool tracked[JPY_SAVES_READ] = {false}, saves = op->save != 0;
    for (unsigned i = 0; saves && i < n_in && i < JPY_SAVES_READ; i++)
        tracked[i] = jpy_edge_tracked(in[i].edge);
    for (unsigned i = 0; i < n_in; i++) {
        n->edges[i] = in[i].edge;
        n->leads |= in[i].edge.node && in[i].edge.node->leads;
        jpy_edge_retain(in[i].edge);
        d->saved[i].kind = JANUS_KIND_NONE;
        if (in[i].kind == JANUS_KIND_TENSOR) {
            if (saves && jpy_op_saves(op, i, tracked)) {
                jpy_saved_set(&d->saved[i], in[i].t);
                n->has_saved = true;
            }
        } else if (in[i].kind != JN_EAGER_LIKE && in[i].kind != JANUS_KIND_NONE) {
            d->saved[i].kind = in[i].kind;
            d->saved[i].s = in[i].s;
        }
    }
    for (unsigned i = 0; i < n_out; i++) {
        d->saved[n_in + i].kind = JANUS_KIND_NONE;
        if (saves && jpy_op_saves_result(op, i, tracked)) {
            jpy_saved_set(&d->saved[n_in + i], out[i]);
            n->has_saved = true;
        }
    }
    return n;
}

jn_call_kind *jpy_node_kind(jpy_node *n) {
    return n->cls == &jpy_op_class ? ((op_data *)jpy_node_data(n))->kind : NULL;
}
