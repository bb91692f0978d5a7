/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running what was bound: type promotion, the tape, results as Python objects.
 *
 * Promotion is PyTorch's: operands that share a dtype are promoted together, tensors with dims
 * before 0-d tensors before Python numbers, a later class counting only when its category (bool,
 * integer, float) is higher.  The binary operators have a path of their own for two contiguous
 * float tensors of one shape, which is most of what eager programs do.
 */
#include "config.h"

#include "pyfront/py_op.h"

#include <string.h>
#include <structmember.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/tape_internal.h"

/* ---- promotion
 * ------------------------------------------------------------------------------------- */

static int category(int d) { return d == JANUS_BOOL ? 0 : jn_dtype_is_int(d) ? 1 : 2; }

static int join(int a, int b) {
    if (a < 0 || a == b)
        return b;
    if (b < 0)
        return a;
    if (category(a) != category(b))
        return category(a) > category(b) ? a : b;
    static const int order[JANUS_DTYPE_COUNT] = {
        [JANUS_U8] = 0,   [JANUS_I32] = 1, [JANUS_I64] = 2, [JANUS_F16] = 0,
        [JANUS_BF16] = 0, [JANUS_F32] = 1, [JANUS_F64] = 2, [JANUS_BOOL] = 0};
    if (order[a] == order[b])
        return JANUS_F32; /* f16 with bf16 */
    return order[a] > order[b] ? a : b;
}

static const jn_operand *operand_at(const jn_op *op, unsigned i) {
    unsigned k = 0;
    while (k < i && op->operands[k].accept != JN_ACCEPT_END && !op->operands[k].variadic)
        k++;
    return &op->operands[k];
}

static unsigned leader_of(const jn_op *op, unsigned i) {
    const jn_operand *o = operand_at(op, i);
    switch (o->dtype_class) {
    case JN_DT_SAME0:
        return 0;
    case JN_DT_SAME1:
        return 1;
    case JN_DT_SAME2:
        return 2;
    default:
        return (unsigned)(o - op->operands);
    }
}

int jpy_promote(const jn_op *op, unsigned n_in, const jn_type *types, const janus_kind *numbers,
                int *cast) {
    int dims[4] = {-1, -1, -1, -1}, zero[4] = {-1, -1, -1, -1}, weak[4] = {-1, -1, -1, -1};
    for (unsigned i = 0; i < n_in; i++) {
        cast[i] = -1;
        const jn_operand *o = operand_at(op, i);
        unsigned g = leader_of(op, i);
        if (o->accept != JN_ACCEPT_TENSOR || g > 3)
            continue;
        if (numbers[i] != JANUS_KIND_NONE)
            weak[g] = join(weak[g], numbers[i] == JANUS_KIND_FLOAT ? JANUS_F32
                                    : numbers[i] == JANUS_KIND_INT ? JANUS_I64
                                                                   : JANUS_BOOL);
        else if (types[i].kind == JANUS_KIND_TENSOR && types[i].rank == 0)
            zero[g] = join(zero[g], types[i].dtype);
        else if (types[i].kind == JANUS_KIND_TENSOR)
            dims[g] = join(dims[g], types[i].dtype);
    }
    int target[4];
    for (unsigned g = 0; g < 4; g++) {
        int d = dims[g];
        if (d < 0 || (zero[g] >= 0 && category(zero[g]) > category(d)))
            d = join(d, zero[g]);
        if (d < 0 || (weak[g] >= 0 && category(weak[g]) > category(d)))
            d = d >= 0 && category(weak[g]) == 2 ? JANUS_F32 : join(d, weak[g]);
        target[g] = d;
    }
    for (unsigned i = 0; i < n_in; i++) {
        unsigned g = leader_of(op, i);
        if (operand_at(op, i)->accept != JN_ACCEPT_TENSOR || g > 3 || target[g] < 0)
            continue;
        int d = target[g];
        switch (operand_at(op, g)->dtype_class) {
        case JN_DT_FLOAT:
            if (d != JANUS_F64)
                d = JANUS_F32;
            break;
        case JN_DT_NUM:
            if (d == JANUS_F16 || d == JANUS_BF16)
                d = JANUS_F32;
            else if (d == JANUS_BOOL)
                d = JANUS_I64;
            break;
        case JN_DT_INT:
            if (d == JANUS_BOOL)
                d = JANUS_I64;
            break;
        case JN_DT_BOOL:
            d = JANUS_BOOL;
            break;
        default:
            break;
        }
        if (numbers[i] != JANUS_KIND_NONE ||
            (types[i].kind == JANUS_KIND_TENSOR && types[i].dtype != d))
            cast[i] = d;
    }
    return 0;
}

bool jpy_can_store(janus_dtype from, janus_dtype to) { return category(from) <= category(to); }

/* ---- numbers
 * ------------------------------------------------------------------------------------------ */

int jpy_scalar_of(PyObject *o, janus_kind *kind, janus_scalar *out) {
    if (PyFloat_Check(o)) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyBool_Check(o)) {
        *kind = JANUS_KIND_BOOL;
        out->i = o == Py_True;
        return 1;
    }
    if (PyLong_Check(o)) {
        *kind = JANUS_KIND_INT;
        out->i = PyLong_AsLongLong(o);
        if (out->i == -1 && PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type int64 without "
                                                "overflow");
            return -1;
        }
        return 1;
    }
    if (jpy_tensor_check(o) || PyUnicode_Check(o) || PySequence_Check(o))
        return 0;
    PyNumberMethods *nb = Py_TYPE(o)->tp_as_number;
    if (nb && nb->nb_index) { /* NumPy's integers */
        PyObject *n = PyNumber_Index(o);
        if (!n)
            return -1;
        int rc = jpy_scalar_of(n, kind, out);
        Py_DECREF(n);
        return rc;
    }
    if (nb && nb->nb_float) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AsDouble(o);
        return out->f == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    return 0;
}

int jpy_scalar_tensor(janus_dtype dtype, janus_kind kind, janus_scalar v, janus_tensor **out) {
    janus_tensor *t;
    if (jpy_check(jn_tensor_empty(dtype, 0, NULL, &t)) < 0)
        return -1;
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    int64_t i = kind == JANUS_KIND_FLOAT ? (int64_t)v.f : v.i;
    switch (dtype) {
    case JANUS_F32:
        *(float *)(void *)t->data = (float)f;
        break;
    case JANUS_F64:
        *(double *)(void *)t->data = f;
        break;
    case JANUS_I32:
        *(int32_t *)(void *)t->data = (int32_t)i;
        break;
    case JANUS_I64:
        *(int64_t *)(void *)t->data = i;
        break;
    case JANUS_BOOL:
        *(bool *)t->data = kind == JANUS_KIND_FLOAT ? v.f != 0 : v.i != 0;
        break;
    case JANUS_U8:
        *(uint8_t *)t->data = (uint8_t)i;
        break;
    default: { /* f16, bf16: through the cast kernel */
        janus_tensor *half;
        janus_tensor_release(t);
        if (jpy_scalar_tensor(JANUS_F64, kind, v, &t) < 0)
            return -1;
        int rc = jpy_check(jn_tensor_cast(t, dtype, &half));
        janus_tensor_release(t);
        if (rc < 0)
            return -1;
        t = half;
    }
    }
    *out = t;
    return 0;
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
                 b->op->name, operand_at(b->op, i)->name, i + 1, wanted,
                 Py_TYPE(b->in[i].o)->tp_name);
    return -1;
}

/* A SCALAR or SHAPE operand from a Python number or a one-element tensor. */
static int scalar_operand(run *r, unsigned i, PyObject *o) {
    janus_kind kind, want = (janus_kind)operand_at(r->b->op, i)->dtype_class;
    janus_scalar s;
    PyObject *item = NULL;
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
        uint8_t accept = operand_at(b->op, i)->accept;
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
        const jn_operand *o = operand_at(r->b->op, i);
        if (o->accept != JN_ACCEPT_TENSOR || r->types[i].kind == JANUS_KIND_NONE)
            continue;
        int d = r->types[i].dtype;
        if (r->numbers[i] != JANUS_KIND_NONE)
            return false;
        if (o->dtype_class == JN_DT_INT    ? d == JANUS_I64
            : o->dtype_class == JN_DT_BOOL ? d == JANUS_BOOL
                                           : d <= JANUS_F64 && (dtype < 0 || dtype == d)) {
            if (d <= JANUS_F64)
                dtype = d;
            continue;
        }
        return false;
    }
    return true;
}

static int cast_operands(run *r) {
    jpy_bound *b = r->b;
    if (b->cast_first >= 0 && r->types[0].kind == JANUS_KIND_TENSOR &&
        r->types[0].dtype != b->cast_first) {
        if (cast_val(&r->vals[0], &r->owned[0], (janus_dtype)b->cast_first) < 0)
            return -1;
        r->types[0] = jn_tensor_as_type(r->vals[0].t);
    }
    if (uniform(r)) {
        for (unsigned i = 0; i < b->n_in; i++)
            r->cast[i] = -1;
        return 0;
    }
    if (jpy_promote(b->op, b->n_in, r->types, r->numbers, r->cast) < 0)
        return -1;
    for (unsigned i = 0; i < b->n_in; i++) {
        if (r->cast[i] < 0)
            continue;
        if (r->numbers[i] != JANUS_KIND_NONE) {
            janus_tensor *t;
            if (jpy_scalar_tensor((janus_dtype)r->cast[i], r->numbers[i], r->vals[i].s, &t) < 0)
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

static PyObject *wrap(janus_tensor *t, jpy_node *node, uint32_t i, jpy_tensor *of) {
    if (node && !jn_dtype_is_float(t->dtype))
        node = NULL;
    if (of && t->storage == of->t->storage)
        return jpy_tensor_take_view(t, node, i, of);
    return jpy_tensor_take_node(t, node, i);
}

static PyObject *wrap_all(jpy_bound *b, janus_tensor **out, unsigned n, jpy_node *node) {
    jpy_tensor *of =
        (b->op->flags & JN_OP_VIEW) && b->n_in && b->in[0].o && jpy_tensor_check(b->in[0].o)
            ? (jpy_tensor *)b->in[0].o
            : NULL;
    if (n == 1 || b->result == JPY_RESULT_FIRST) {
        PyObject *first = wrap(out[0], node, 0, of);
        for (unsigned i = 1; i < n; i++)
            janus_tensor_release(out[i]);
        return first;
    }
    PyObject *tuple =
        b->result == JPY_RESULT_PAIR ? PyStructSequence_New(jpy.return_type) : PyTuple_New(n);
    for (unsigned i = 0; i < n; i++) {
        PyObject *o = wrap(out[i], node, i, NULL);
        if (!o || !tuple) {
            Py_XDECREF(o);
            Py_CLEAR(tuple);
        } else if (b->result == JPY_RESULT_PAIR)
            PyStructSequence_SET_ITEM(tuple, i, o);
        else
            PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
}

static PyObject *run_new(run *r) {
    jpy_bound *b = r->b;
    janus_tensor *out[JN_EAGER_MAX_OUT];
    jpy_node *node;
    const void *attrs = b->op->attr_size ? b->attrs : NULL;
    if (jpy_apply(b->op, r->vals, b->n_in, attrs, out, b->op->n_out, &node) < 0)
        return NULL;
    PyObject *result = wrap_all(b, out, b->op->n_out, node);
    jpy_node_release(node);
    return result;
}

/* Saved operands that the write would destroy are kept as copies. */
static int protect(run *r, const janus_tensor *dst) {
    for (unsigned i = 0; i < r->b->n_in && i < 16; i++) {
        jpy_val *v = &r->vals[i];
        if (!(r->b->op->save >> i & 1) || v->kind != JANUS_KIND_TENSOR ||
            !jn_tensor_overlap(v->t, dst))
            continue;
        janus_tensor *copy;
        if (jpy_check(jn_tensor_empty((janus_dtype)v->t->dtype, v->t->rank, v->t->dims, &copy)) < 0)
            return -1;
        if (jpy_check(jn_tensor_copy(copy, v->t)) < 0) {
            janus_tensor_release(copy);
            return -1;
        }
        jpy_edge edge = v->edge;
        jpy_edge_retain(edge);
        if (r->owned[i])
            jpy_val_release(v);
        *v = jpy_val_tensor(copy, edge);
        r->owned[i] = true;
    }
    return 0;
}

static int write_plain(run *r, jpy_tensor *dst) {
    jpy_bound *b = r->b;
    jn_eager_arg args[JPY_BOUND_FEW];
    if (b->n_in > JPY_BOUND_FEW) {
        PyErr_Format(PyExc_TypeError, "%s_: too many operands", b->op->name);
        return -1;
    }
    for (unsigned i = 0; i < b->n_in; i++) {
        args[i].kind = r->vals[i].kind;
        args[i].s = r->vals[i].s;
    }
    return jpy_check(
        jn_eager_into(b->op, args, b->n_in, b->op->attr_size ? b->attrs : NULL, dst->t));
}

/* The op at another dtype than the target's, cast back. */
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
        rc = jpy_check(jn_tensor_copy(dst->t, v.t));
    if (rc == 0) {
        *node = v.edge.node;
        v.edge.node = NULL;
        jpy_inplace_wrote(dst);
    }
    jpy_val_release(&v);
    return rc;
}

static PyObject *run_into(run *r, jpy_tensor *dst) {
    jpy_bound *b = r->b;
    if (jpy_inplace_begin(dst) < 0)
        return NULL;
    jpy_node *node = NULL;
    if (r->cast[0] >= 0) {
        if (write_cast(r, dst, &node) < 0)
            return NULL;
    } else {
        bool record = jpy_should_record(b->op, r->vals, b->n_in);
        if ((record && protect(r, dst->t) < 0) || write_plain(r, dst) < 0)
            return NULL;
        jpy_inplace_wrote(dst);
        if (record && !(node = jpy_record(b->op, r->vals, b->n_in,
                                          b->op->attr_size ? b->attrs : NULL, &dst->t, 1)))
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
    if (take(&r) == 0 && cast_operands(&r) == 0)
        result = dst ? run_into(&r, dst) : run_new(&r);
    run_done(&r);
    return result;
}

/* ---- operators
 * -----------------------------------------------------------------------------------------------
 */

static bool same_shape(const janus_tensor *a, const janus_tensor *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

enum { FAST_MAX = 32768 }; /* elements up to which one thread does it at once */

/* Result y (consumed) of a fast path, recorded when an operand is tracked. */
static PyObject *fast_result(const jn_op *op, const jpy_val *in, unsigned n, janus_tensor *y) {
    jpy_node *node = NULL;
    if (jpy_should_record(op, in, n) && !(node = jpy_record(op, in, n, NULL, &y, 1))) {
        janus_tensor_release(y);
        return NULL;
    }
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_take(y);
    if (o)
        o->node = node;
    else
        jpy_node_release(node);
    return (PyObject *)o;
}

static PyObject *fast_error(void) {
    jpy_raise(janus_last_error()->code);
    return NULL;
}

static PyObject *fast_binary(const jn_op *op, jpy_tensor *a, jpy_tensor *b) {
    janus_tensor *y;
    if (JN_UNLIKELY(jn_eager_binary(op, a->t, b->t, &y) != JANUS_OK))
        return fast_error();
    if (jpy_no_grad_mode || !op->grad || !(jpy_tensor_tracked(a) || jpy_tensor_tracked(b)))
        return jpy_tensor_take(y);
    jpy_val in[2];
    if (jpy_tensor_val(a, &in[0]) < 0 || jpy_tensor_val(b, &in[1]) < 0) {
        janus_tensor_release(y);
        return NULL;
    }
    return fast_result(op, in, 2, y);
}

/* tensor op number, and the other way round with `swapped` */
static PyObject *fast_number(const jn_op *op, jpy_tensor *a, double f, bool swapped) {
    janus_tensor *number, *y;
    jpy_val in[2];
    if (jpy_scalar_tensor((janus_dtype)a->t->dtype, JANUS_KIND_FLOAT, (janus_scalar){.f = f},
                          &number) < 0)
        return NULL;
    janus_status st =
        swapped ? jn_eager_binary(op, number, a->t, &y) : jn_eager_binary(op, a->t, number, &y);
    PyObject *result = NULL;
    if (st != JANUS_OK)
        fast_error();
    else if (jpy_no_grad_mode || !op->grad || !jpy_tensor_tracked(a))
        result = jpy_tensor_take(y);
    else if (jpy_tensor_val(a, &in[swapped]) < 0)
        janus_tensor_release(y);
    else {
        in[!swapped] = jpy_val_tensor(number, (jpy_edge){0});
        result = fast_result(op, in, 2, y);
    }
    janus_tensor_release(number);
    return result;
}

static bool fast_operand(const janus_tensor *t) {
    return t->dtype <= JANUS_F64 && t->contiguous && t->numel < FAST_MAX;
}

/* Rows a fast path may run: arithmetic from add to minimum, results like operands. */
static bool fast_row(const jn_op *op) { return op->id <= JN_OP_ID_minimum; }

PyObject *jpy_unary_fast(const jn_op *op, PyObject *x) {
    janus_tensor *y;
    jpy_tensor *a = (jpy_tensor *)x;
    if (!fast_operand(a->t))
        return jpy_unary(op, x);
    if (JN_UNLIKELY(jn_eager_unary(op, a->t, &y) != JANUS_OK))
        return fast_error();
    if (jpy_no_grad_mode || !jpy_tensor_tracked(a))
        return jpy_tensor_take(y);
    jpy_val in;
    if (jpy_tensor_val(a, &in) < 0) {
        janus_tensor_release(y);
        return NULL;
    }
    return fast_result(op, &in, 1, y);
}

static bool acceptable(PyObject *o) {
    if (jpy_tensor_check(o) || PyFloat_Check(o) || PyLong_Check(o))
        return true;
    if (PyUnicode_Check(o) || PySequence_Check(o) || !Py_TYPE(o)->tp_as_number)
        return false;
    return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0;
}

static int bind_binary(jpy_bound *b, const jn_op *op, PyObject *x, PyObject *y) {
    b->in = b->few;
    b->n_in = 2;
    b->few[0] = (jpy_operand){.o = x};
    b->few[1] = (jpy_operand){.o = y};
    b->result = JPY_RESULT_ALL;
    b->is_identity = false;
    b->cast_first = -1;
    b->keep = NULL;
    return jpy_bound_op(b, op);
}

PyObject *jpy_binary(const jn_op *op, PyObject *x, PyObject *y) {
    bool tx = jpy_tensor_check(x), ty = jpy_tensor_check(y);
    if (JN_LIKELY(tx && ty)) {
        jpy_tensor *a = (jpy_tensor *)x, *b = (jpy_tensor *)y;
        if (fast_row(op) && a->t->dtype == b->t->dtype && fast_operand(a->t) && b->t->contiguous &&
            same_shape(a->t, b->t))
            return fast_binary(op, a, b);
    } else if (tx && fast_row(op) && (PyFloat_CheckExact(y) || PyLong_CheckExact(y)) &&
               fast_operand(((jpy_tensor *)x)->t)) {
        double f = PyFloat_AsDouble(y);
        if (f == -1.0 && PyErr_Occurred())
            return NULL;
        return fast_number(op, (jpy_tensor *)x, f, false);
    } else if (ty && fast_row(op) && (PyFloat_CheckExact(x) || PyLong_CheckExact(x)) &&
               fast_operand(((jpy_tensor *)y)->t)) {
        double f = PyFloat_AsDouble(x);
        if (f == -1.0 && PyErr_Occurred())
            return NULL;
        return fast_number(op, (jpy_tensor *)y, f, true);
    } else if (!acceptable(x) || !acceptable(y)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    jpy_bound b;
    if (bind_binary(&b, op, x, y) < 0)
        return NULL;
    return jpy_bound_run(&b, NULL);
}

PyObject *jpy_binary_inplace(const jn_op *op, PyObject *x, PyObject *y) {
    if (!jpy_tensor_check(x) || !acceptable(y))
        Py_RETURN_NOTIMPLEMENTED;
    jpy_bound b;
    if (bind_binary(&b, op, x, y) < 0)
        return NULL;
    return jpy_bound_run(&b, (jpy_tensor *)x);
}

PyObject *jpy_unary(const jn_op *op, PyObject *x) {
    jpy_bound b;
    if (bind_binary(&b, op, x, NULL) < 0)
        return NULL;
    b.n_in = 1;
    return jpy_bound_run(&b, NULL);
}
