/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running what was bound: casts, the tape, results as Python objects.
 */
#include "config.h"

#include "pyfront/op/bound.h"

#include <structmember.h>

#include "exec/device/device.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/op/copy.h"
#include "pyfront/op/refuse.h"
#include "pyfront/tape/tape.h"

const jn_operand *jpy_operand_at(const jn_op *op, unsigned i) {
    unsigned k = 0;
    while (k < i && op->operands[k].accept != JN_ACCEPT_END && !op->operands[k].variadic)
        k++;
    return &op->operands[k];
}

/* ---- operands
 * ------------------------------------------------------------------------------------------ */

typedef struct run {
    jpy_bound *b;
    jpy_val *vals;
    jn_type *types;
    janus_kind *numbers;
    int *cast;
    bool *owned; /* vals[i] holds references */
    int narrow;  /* the dtype that result 0 is rounded to, or -1 */
    jpy_val few_vals[JPY_BOUND_FEW];
    jn_type few_types[JPY_BOUND_FEW];
    janus_kind few_numbers[JPY_BOUND_FEW];
    int few_cast[JPY_BOUND_FEW];
    bool few_owned[JPY_BOUND_FEW];
} run;

static int run_init(run *r, jpy_bound *b) {
    r->b = b;
    r->vals = r->few_vals;
    r->types = r->few_types;
    r->numbers = r->few_numbers;
    r->cast = r->few_cast;
    r->owned = r->few_owned;
    r->narrow = -1;
    if (b->n_in > JPY_BOUND_FEW) {
        r->vals = PyMem_Calloc(b->n_in, sizeof *r->vals + sizeof *r->types + sizeof *r->numbers +
                                            sizeof *r->cast + sizeof *r->owned);
        if (!r->vals) {
            PyErr_NoMemory();
            return -1;
        }
        r->types = (jn_type *)(void *)(r->vals + b->n_in);
        r->numbers = (janus_kind *)(void *)(r->types + b->n_in);
        r->cast = (int *)(void *)(r->numbers + b->n_in);
        r->owned = (bool *)(r->cast + b->n_in);
    }
    for (unsigned i = 0; i < b->n_in; i++)
        r->owned[i] = false;
    return 0;
}

static void run_done(run *r) {
    for (unsigned i = 0; i < r->b->n_in; i++)
        if (r->owned[i])
            jpy_val_release(&r->vals[i]);
    if (r->vals != r->few_vals)
        PyMem_Free(r->vals);
}

static int bad_operand(const jpy_bound *b, unsigned i, const char *wanted) {
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %u) must be %s, not %s",
                 b->op->name, jpy_operand_at(b->op, i)->name, i + 1, wanted,
                 Py_TYPE(b->in[i].o)->tp_name);
    return -1;
}

/* A number that only the graph knows: true when it may stand for a scalar operand. */
static bool graph_number(run *r, unsigned i, janus_tensor *t) {
    const jn_operand *want = jpy_operand_at(r->b->op, i);
    janus_kind kind = jn_dtype_is_float(t->dtype) ? JANUS_KIND_FLOAT
                      : t->dtype == JANUS_BOOL    ? JANUS_KIND_BOOL
                                                  : JANUS_KIND_INT;
    if (t->storage->state != JN_STORAGE_PROXY || want->accept != JN_ACCEPT_SCALAR ||
        t->numel != 1 || (want->dtype_class == JANUS_KIND_INT && kind != JANUS_KIND_INT))
        return false;
    r->vals[i] = (jpy_val){.kind = JN_EAGER_ITEM, .t = t};
    r->types[i] = jn_scalar_type(kind);
    return true;
}

/* A SCALAR or SHAPE operand from a Python number or a one-element tensor. */
static int scalar_operand(run *r, unsigned i, PyObject *o) {
    janus_kind kind, want = (janus_kind)jpy_operand_at(r->b->op, i)->dtype_class;
    janus_scalar s;
    PyObject *item = NULL;
    if (r->b->op->id == JN_OP_ID_masked_fill && jpy_tensor_check(o) && ((jpy_tensor *)o)->t->rank) {
        PyErr_Format(PyExc_RuntimeError,
                     "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                     "%d dimension(s).",
                     (int)((jpy_tensor *)o)->t->rank);
        return -1;
    }
    if (jpy_tensor_check(o) && jn_eager_hook && graph_number(r, i, ((jpy_tensor *)o)->t))
        return 0;
    if (jpy_tensor_check(o))
        o = item = jpy_tensor_item(((jpy_tensor *)o)->t);
    if (!o)
        return -1;
    int rc = jpy_scalar_of(o, &kind, &s);
    Py_XDECREF(item);
    if (rc < 0)
        return -1;
    if (rc == 0 || (want == JANUS_KIND_INT && kind == JANUS_KIND_FLOAT))
        return bad_operand(r->b, i, want == JANUS_KIND_INT ? "int" : "a number");
    if (r->b->op->id == JN_OP_ID_masked_fill && r->types[0].kind == JANUS_KIND_TENSOR &&
        jpy_scalar_check((janus_dtype)r->types[0].dtype, kind, s) < 0)
        return -1;
    if (want == JANUS_KIND_INT)
        kind = JANUS_KIND_INT;
    r->vals[i] = (jpy_val){.kind = (uint8_t)kind, .s = s};
    r->types[i] = jn_scalar_type(kind);
    return 0;
}

static int take(run *r) {
    jpy_bound *b = r->b;
    for (unsigned i = 0; i < b->n_in; i++) {
        PyObject *o = b->in[i].o;
        uint8_t accept = jpy_operand_at(b->op, i)->accept;
        r->numbers[i] = JANUS_KIND_NONE;
        if (!o) {
            r->vals[i] = (jpy_val){.kind = b->in[i].kind, .s = b->in[i].s};
            r->types[i] = jn_scalar_type((janus_kind)b->in[i].kind);
        } else if (accept == JN_ACCEPT_SCALAR || accept == JN_ACCEPT_SHAPE) {
            if (scalar_operand(r, i, o) < 0)
                return -1;
        } else if (jpy_tensor_check(o)) {
            if (jpy_tensor_val((jpy_tensor *)o, &r->vals[i]) < 0)
                return -1;
            if (accept == JN_ACCEPT_LIKE)
                r->vals[i].edge = (jpy_edge){0};
            r->types[i] = jn_tensor_as_type(((jpy_tensor *)o)->t);
        } else {
            int rc = jpy_scalar_of(o, &r->numbers[i], &r->vals[i].s);
            if (rc < 0)
                return -1;
            if (rc == 0)
                return bad_operand(b, i, "Tensor");
            r->vals[i].kind = (uint8_t)r->numbers[i];
            r->vals[i].edge = (jpy_edge){0};
            r->types[i] = jn_scalar_type(r->numbers[i]);
        }
    }
    return 0;
}

static int cast_val(jpy_val *v, bool *owned, janus_dtype dtype) {
    janus_cast_attrs attrs = {sizeof attrs, dtype};
    janus_tensor *t;
    jpy_node *node;
    if (jpy_apply(JN_OP(cast), v, 1, &attrs, &t, 1, &node) < 0)
        return -1;
    if (*owned)
        jpy_val_release(v);
    *v = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
    if (node && !jn_dtype_is_float(dtype)) {
        jpy_node_release(node);
        v->edge.node = NULL;
    }
    *owned = true;
    return 0;
}

/* Whether nothing needs a cast: one float dtype throughout, indices that are i64. */
static bool uniform(const run *r) {
    int dtype = -1;
    for (unsigned i = 0; i < r->b->n_in; i++) {
        const jn_operand *o = jpy_operand_at(r->b->op, i);
        if (o->accept != JN_ACCEPT_TENSOR || r->types[i].kind == JANUS_KIND_NONE)
            continue;
        int d = r->types[i].dtype;
        if (r->numbers[i] != JANUS_KIND_NONE)
            return false;
        if (o->dtype_class == JN_DT_INT    ? d == JANUS_I64
            : o->dtype_class == JN_DT_BOOL ? d == JANUS_BOOL
                                           : jn_dtype_is_float(d) && (dtype < 0 || dtype == d)) {
            if (jn_dtype_is_float(d))
                dtype = d;
            continue;
        }
        return false;
    }
    return true;
}

/* The kept cast of a weight, recorded as if it were made now: 1; 0: there is none. */
static int use_kept(jpy_val *v, bool *owned, PyObject *o, janus_dtype dtype) {
    janus_tensor *t = o && jpy_tensor_check(o) ? jpy_autocast_weight(o, dtype) : NULL;
    janus_cast_attrs attrs = {sizeof attrs, dtype};
    jpy_node *node = NULL;
    if (!t)
        return 0;
    if (jpy_should_record(JN_OP(cast), v, 1) &&
        !(node = jpy_record(&jn_this, JN_OP(cast), v, 1, &attrs, &t, 1, NULL))) {
        janus_tensor_release(t);
        return -1;
    }
    *v = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
    *owned = true;
    return 1;
}

static int autocast_operands(run *r) {
    jpy_bound *b = r->b;
    bool cuda = false;
    for (unsigned i = 0; i < b->n_in; i++)
        cuda = cuda || (r->types[i].kind == JANUS_KIND_TENSOR && r->vals[i].t->storage->device);
    for (unsigned i = 0; i < b->n_in; i++) {
        int d = jpy_autocast_dtype(b->op, cuda, &r->types[i]);
        if (d < 0)
            continue;
        int kept =
            r->owned[i] ? 0 : use_kept(&r->vals[i], &r->owned[i], b->in[i].o, (janus_dtype)d);
        if (kept < 0 || (!kept && cast_val(&r->vals[i], &r->owned[i], (janus_dtype)d) < 0))
            return -1;
        r->types[i] = jn_tensor_as_type(r->vals[i].t);
    }
    return 0;
}

static bool is_half(int dtype) { return dtype == JANUS_F16 || dtype == JANUS_BF16; }

/*
 * f16 and bf16 with a number or a 0-d tensor that is none of them: as in PyTorch, the number is not
 * rounded first.  The op is computed in f32 and its result rounded (1e6 overflows a half, and half
 * of it times 1e-3 must not).
 */
static bool must_widen(const run *r) {
    const jn_op *op = r->b->op;
    bool half = false, other = false;
    if (!(op->flags & JN_OP_ELEMENTWISE) || (op->flags & JN_OP_MOVES) || !op->grad)
        return false;
    for (unsigned i = 0; i < r->b->n_in; i++) {
        uint64_t cell;
        if (jpy_operand_at(op, i)->accept != JN_ACCEPT_TENSOR)
            continue;
        if (r->numbers[i] != JANUS_KIND_NONE)
            other = other ||
                    (is_half(r->cast[i]) && !jpy_scalar_store((janus_dtype)r->cast[i],
                                                              r->numbers[i], r->vals[i].s, &cell));
        else if (r->cast[i] >= 0)
            other = other || (is_half(r->cast[i]) && r->types[i].rank == 0);
        half = half || (r->numbers[i] == JANUS_KIND_NONE && is_half(r->types[i].dtype));
    }
    return half && other;
}

/* Normalisation of halves with parameters in f32 gives halves. */
static bool is_mixed_norm(const run *r) {
    unsigned id = r->b->op->id;
    return (id == JN_OP_ID_batch_norm || id == JN_OP_ID_layer_norm) && is_half(r->types[0].dtype) &&
           r->cast[0] == JANUS_F32;
}

/* What is stored as it is, and what integers are raised to, must fit; sums wrap around. */
static int number_fits(const jn_op *op, unsigned i, janus_dtype dtype, janus_kind kind,
                       janus_scalar v) {
    bool power = op->id == JN_OP_ID_pow && jn_dtype_is_int(dtype);
    if (power && i == 1 && v.i < 0) {
        PyErr_SetString(PyExc_RuntimeError, "Integers to negative integer powers are not allowed.");
        return -1;
    }
    return power || op->id == JN_OP_ID_masked_fill ||
                   (op->id == JN_OP_ID_where && dtype != JANUS_F16)
               ? jpy_scalar_check(dtype, kind, v)
               : 0;
}

static int cast_operands(run *r, bool inplace) {
    jpy_bound *b = r->b;
    if (b->cast_first >= 0 && r->types[0].kind == JANUS_KIND_TENSOR &&
        r->types[0].dtype != b->cast_first) {
        if (cast_val(&r->vals[0], &r->owned[0], (janus_dtype)b->cast_first) < 0)
            return -1;
        r->types[0] = jn_tensor_as_type(r->vals[0].t);
    }
    if (!inplace && b->cast_first < 0 && jpy_autocast_affects(b->op) && autocast_operands(r) < 0)
        return -1;
    if (uniform(r)) {
        for (unsigned i = 0; i < b->n_in; i++)
            r->cast[i] = -1;
        return 0;
    }
    if (jpy_promote(b->op, b->n_in, r->types, r->numbers, r->cast) < 0)
        return -1;
    if (is_mixed_norm(r)) {
        r->narrow = r->types[0].dtype;
    } else if (must_widen(r)) {
        for (unsigned i = 0; i < b->n_in; i++) {
            if (jpy_operand_at(b->op, i)->accept != JN_ACCEPT_TENSOR)
                continue;
            if (r->cast[i] >= 0 || is_half(r->types[i].dtype)) {
                r->narrow = is_half(r->cast[i]) ? r->cast[i] : r->narrow;
                r->cast[i] = r->numbers[i] == JANUS_KIND_NONE && r->types[i].dtype == JANUS_F32
                                 ? -1
                                 : JANUS_F32;
            }
        }
    }
    for (unsigned i = 0; i < b->n_in; i++) {
        if (r->cast[i] < 0)
            continue;
        if (r->numbers[i] != JANUS_KIND_NONE) {
            janus_tensor *t;
            if (number_fits(b->op, i, (janus_dtype)r->cast[i], r->numbers[i], r->vals[i].s) < 0 ||
                jpy_scalar_tensor((janus_dtype)r->cast[i], r->numbers[i], r->vals[i].s, &t) < 0)
                return -1;
            r->vals[i] = jpy_val_tensor(t, (jpy_edge){0});
            r->owned[i] = true;
        } else if (cast_val(&r->vals[i], &r->owned[i], (janus_dtype)r->cast[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- results
 * --------------------------------------------------------------------------------------------- */

/* `node` is consumed. */
static PyObject *wrap(janus_tensor *t, jpy_node *node, uint32_t i, jpy_tensor *of) {
    if (node && !jn_dtype_is_float(t->dtype)) {
        jpy_node_release(node);
        node = NULL;
    }
    jpy_tensor *o =
        (jpy_tensor *)(of && t->storage == of->t->storage ? jpy_tensor_take_view(t, NULL, i, of)
                                                          : jpy_tensor_take(t));
    if (!o) {
        jpy_node_release(node);
        return NULL;
    }
    o->node = node;
    o->node_out = i;
    return (PyObject *)o;
}

PyObject *jpy_wrap_results(jpy_result result, janus_tensor **out, unsigned n, jpy_node *node,
                           jpy_tensor *of) {
    if (JN_LIKELY(n == 1))
        return wrap(out[0], node, 0, of);
    PyObject *all = result == JPY_RESULT_FIRST  ? NULL
                    : result == JPY_RESULT_PAIR ? PyStructSequence_New(jpy.return_type)
                                                : PyTuple_New(n);
    PyObject *first = NULL;
    bool failed = !all && result != JPY_RESULT_FIRST;
    for (unsigned i = 0; i < n; i++) {
        if (failed || (!all && i > 0)) {
            janus_tensor_release(out[i]);
            continue;
        }
        if (node)
            jpy_node_retain(node);
        PyObject *o = wrap(out[i], node, i, NULL);
        failed = !o;
        if (!all)
            first = o;
        else if (result == JPY_RESULT_PAIR)
            PyStructSequence_SET_ITEM(all, i, o);
        else
            PyTuple_SET_ITEM(all, i, o);
    }
    jpy_node_release(node);
    if (failed)
        Py_CLEAR(all);
    return all ? all : first;
}

/* The results (consumed, with the node), the first one rounded to r->narrow. */
static PyObject *wrap_narrowed(run *r, janus_tensor **out, jpy_node *node) {
    jpy_bound *b = r->b;
    unsigned n = b->op->n_out, shown = b->result == JPY_RESULT_FIRST ? 1 : n;
    bool owned = true;
    jpy_val v = jpy_val_tensor(out[0], (jpy_edge){node, NULL, 0});
    PyObject *all = NULL;
    if (node)
        jpy_node_retain(node);
    int rc = cast_val(&v, &owned, (janus_dtype)r->narrow);
    if (rc == 0 && (shown == 1 || (all = PyTuple_New(n)))) {
        PyObject *first = wrap(v.t, v.edge.node, 0, NULL);
        if (shown == 1)
            all = first;
        else if (first)
            PyTuple_SET_ITEM(all, 0, first);
        else
            Py_CLEAR(all);
    } else {
        jpy_val_release(&v);
    }
    for (unsigned i = 1; i < n; i++) {
        if (!all || shown == 1) {
            janus_tensor_release(out[i]);
            continue;
        }
        if (node)
            jpy_node_retain(node);
        PyObject *o = wrap(out[i], node, i, NULL);
        if (o)
            PyTuple_SET_ITEM(all, i, o);
        else
            Py_CLEAR(all);
    }
    jpy_node_release(node);
    return all;
}

static PyObject *run_new(run *r) {
    jpy_bound *b = r->b;
    janus_tensor *out[JN_EAGER_MAX_OUT];
    jpy_node *node;
    const void *attrs = b->op->attr_size ? b->attrs : NULL;
    if (jpy_apply(b->op, r->vals, b->n_in, attrs, out, b->op->n_out, &node) < 0)
        return NULL;
    if (r->narrow >= 0)
        return wrap_narrowed(r, out, node);
    bool view =
        (b->op->flags & JN_OP_VIEW) && b->n_in && b->in[0].o && jpy_tensor_check(b->in[0].o);
    return jpy_wrap_results(b->result, out, b->op->n_out, node,
                            view ? (jpy_tensor *)b->in[0].o : NULL);
}

/* An operand as it is now: a tensor of its own, of a conversion a value. */
static janus_status copy_of(janus_tensor *t, janus_tensor **out) {
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = t};
    return jn_eager_hook ? jn_eager(JN_OP(clone), &arg, 1, NULL, out, 1)
                         : jn_tensor_to(t, t->storage->device, true, out);
}

/* Operands that the tape keeps and the write may destroy, as copies; kind NONE: others.  Of a
 * conversion's tensors it is not said here which of them share memory. */
static int protect(const run *r, const janus_tensor *dst, jpy_val *copies) {
    bool tracked[JPY_SAVES_READ] = {false};
    for (unsigned i = 0; i < r->b->n_in; i++) {
        copies[i] = JPY_VAL_NONE;
        if (i < JPY_SAVES_READ)
            tracked[i] = jpy_edge_tracked(r->vals[i].edge);
    }
    for (unsigned i = 0; i < r->b->n_in; i++) {
        const jpy_val *v = &r->vals[i];
        janus_tensor *copy;
        if (v->kind != JANUS_KIND_TENSOR || !jpy_op_saves(r->b->op, i, tracked) ||
            (!jn_eager_hook && !jn_tensor_overlap(v->t, dst)))
            continue;
        if (jpy_check(copy_of(v->t, &copy)) < 0)
            return -1;
        jpy_edge_retain(v->edge);
        copies[i] = jpy_val_tensor(copy, v->edge);
    }
    return 0;
}

static void take_copies(run *r, const jpy_val *copies) {
    for (unsigned i = 0; i < r->b->n_in; i++) {
        if (copies[i].kind == JANUS_KIND_NONE)
            continue;
        if (r->owned[i])
            jpy_val_release(&r->vals[i]);
        r->vals[i] = copies[i];
        r->owned[i] = true;
    }
}

static int write_plain(run *r, jpy_tensor *dst) {
    jpy_bound *b = r->b;
    jn_eager_arg args[JPY_BOUND_FEW];
    for (unsigned i = 0; i < b->n_in; i++) {
        args[i].kind = r->vals[i].kind;
        args[i].s = r->vals[i].s;
    }
    return jpy_check(
        jn_eager_into(b->op, args, b->n_in, b->op->attr_size ? b->attrs : NULL, dst->t));
}

/* Writes, and records what was there.  A conversion's op is of what was there itself, which is a
 * value; the tape's rules, where they run in it, are given it as a tensor that nobody writes. */
static int write_recorded(run *r, jpy_tensor *dst) {
    jpy_val copies[JPY_BOUND_FEW];
    int rc = protect(r, dst->t, copies);
    if (rc < 0 || !jn_eager_hook) {
        take_copies(r, copies);
        return rc < 0 ? rc : write_plain(r, dst);
    }
    rc = write_plain(r, dst);
    take_copies(r, copies);
    return rc;
}

/* The op whose operands or result have another dtype than the target, cast back. */
static int write_cast(run *r, jpy_tensor *dst, jpy_node **node) {
    jpy_bound *b = r->b;
    janus_tensor *out[JN_EAGER_MAX_OUT];
    if (jpy_apply(b->op, r->vals, b->n_in, b->op->attr_size ? b->attrs : NULL, out, 1, node) < 0)
        return -1;
    jpy_val v = jpy_val_tensor(out[0], (jpy_edge){*node, NULL, 0});
    bool owned = true;
    *node = NULL;
    int rc = 0;
    if (!jpy_can_store((janus_dtype)v.t->dtype, (janus_dtype)dst->t->dtype)) {
        PyErr_Format(
            PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
            jn_dtype_name((janus_dtype)v.t->dtype), jn_dtype_name((janus_dtype)dst->t->dtype));
        rc = -1;
    }
    if (rc == 0 && v.t->dtype != dst->t->dtype)
        rc = cast_val(&v, &owned, (janus_dtype)dst->t->dtype);
    if (rc == 0)
        rc = jpy_store(dst->t, v.t, !b->op->grad);
    if (rc == 0) {
        *node = v.edge.node;
        v.edge.node = NULL;
        jpy_inplace_wrote(dst);
    }
    jpy_val_release(&v);
    return rc;
}

/* Comparisons and logic: what cannot be written over an operand and has no gradient. */
static bool gives_bools(const jn_op *op) { return !(op->flags & JN_OP_INPLACE0) && !op->grad; }

static PyObject *run_into(run *r, jpy_tensor *dst) {
    jpy_bound *b = r->b;
    if (jpy_inplace_begin(dst) < 0)
        return NULL;
    jpy_node *node = NULL;
    if (r->cast[0] >= 0 || gives_bools(b->op)) {
        if (write_cast(r, dst, &node) < 0)
            return NULL;
    } else {
        bool record = jpy_should_record(b->op, r->vals, b->n_in);
        if (b->n_in > JPY_BOUND_FEW) {
            PyErr_Format(PyExc_TypeError, "%s_: too many operands", b->op->name);
            return NULL;
        }
        if ((record ? write_recorded(r, dst) : write_plain(r, dst)) < 0)
            return NULL;
        jpy_inplace_wrote(dst);
        if (record && !(node = jpy_record(&jn_this, b->op, r->vals, b->n_in,
                                          b->op->attr_size ? b->attrs : NULL, &dst->t, 1, NULL)))
            return NULL;
    }
    int rc = jpy_inplace_end(dst, node);
    jpy_node_release(node);
    return rc < 0 ? NULL : Py_NewRef((PyObject *)dst);
}

PyObject *jpy_bound_run(jpy_bound *b, jpy_tensor *dst) {
    if (b->is_identity)
        return Py_NewRef(b->in[0].o);
    run r;
    if (run_init(&r, b) < 0)
        return NULL;
    PyObject *result = NULL;
    if (take(&r) == 0 && jpy_refuse(b->op, r.types, b->n_in) == 0 &&
        (b->n_in < 2 || r.vals[1].kind != JANUS_KIND_TENSOR ||
         jpy_index_check(b->op, r.vals[1].t) == 0) &&
        cast_operands(&r, dst != NULL) == 0)
        result = dst ? run_into(&r, dst) : run_new(&r);
    run_done(&r);
    return result;
}
