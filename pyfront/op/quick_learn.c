/* SPDX-License-Identifier: Apache-2.0 */
/* What a call that was bound and has run is remembered as: see quick.h. */
#include "config.h"

#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/op/quick_entry.h"
#include "pyfront/tape/tape.h"

/* The only place of `o` among the arguments; -1: none or several. */
static int place_of(PyObject *o, PyObject *const *args, Py_ssize_t n) {
    int at = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (args[i] != o)
            continue;
        if (at >= 0)
            return -1;
        at = (int)i;
    }
    return at;
}

/* Where operand i, the object `o`, is found in a call.  Those of a list are its items in order. */
static bool learn_place(jpy_quick_operand *p, const jpy_bound *b, unsigned i, PyObject *const *args,
                        Py_ssize_t n) {
    unsigned first = 0;
    while (first < i && !b->op->operands[first].variadic)
        first++;
    int at = -1;
    p->item = JPY_QUICK_WHOLE;
    if (!b->op->operands[first].variadic) {
        at = place_of(b->in[i].o, args, n);
    } else {
        for (Py_ssize_t k = 0; k < n; k++) {
            if (!jpy_is_tensors(args[k]))
                continue;
            if (at >= 0)
                return false;
            at = (int)k;
        }
        p->item = (uint8_t)(i - first);
        if (at < 0 || PySequence_Fast_GET_SIZE(args[at]) <= p->item ||
            PySequence_Fast_GET_ITEM(args[at], p->item) != b->in[i].o)
            return false;
    }
    p->arg = (uint8_t)at;
    return at >= 0;
}

static bool learn_operand(jpy_quick_entry *e, unsigned i, const jpy_bound *b, PyObject *const *args,
                          Py_ssize_t n, jn_eager_arg *arg, jn_type *type, janus_kind *number) {
    jpy_quick_operand *p = &e->in[i];
    PyObject *o = b->in[i].o;
    *number = JANUS_KIND_NONE;
    *arg = (jn_eager_arg){.kind = JANUS_KIND_NONE};
    if (!o) {
        p->from = b->in[i].kind == JANUS_KIND_NONE ? JPY_FROM_NONE : JPY_FROM_CELL;
        p->kind = arg->kind = b->in[i].kind;
        p->s = arg->s = b->in[i].s;
        *type = jn_scalar_type((janus_kind)p->kind);
        return true;
    }
    uint8_t accept = jpy_operand_at(b->op, i)->accept;
    if (b->in[i].fixed) {
        p->from = JPY_FROM_FIXED;
        if (accept != JN_ACCEPT_TENSOR || jpy_scalar_of(o, number, &p->s) <= 0)
            return false;
        p->kind = arg->kind = (uint8_t)*number;
        arg->s = p->s;
        *type = jn_scalar_type(*number);
        return true;
    }
    if (!learn_place(p, b, i, args, n))
        return false;
    if (jpy_tensor_check(o)) {
        /* a gradient of rows stays one: learning would ask for its elements */
        if (accept != JN_ACCEPT_TENSOR || jn_tensor_is_rows(((jpy_tensor *)o)->t))
            return false;
        p->from = JPY_FROM_TENSOR;
        *arg = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ((jpy_tensor *)o)->t};
        *type = jn_tensor_as_type(arg->t);
        return true;
    }
    janus_kind kind;
    if (jpy_scalar_of(o, &kind, &p->s) <= 0)
        return false;
    p->kind = arg->kind = (uint8_t)kind;
    arg->s = p->s;
    *type = jn_scalar_type(kind);
    if (accept == JN_ACCEPT_TENSOR) {
        p->from = JPY_FROM_NUMBER;
        *number = kind;
        return kind != JANUS_KIND_BOOL;
    }
    p->from = kind == JANUS_KIND_FLOAT ? JPY_FROM_FLOAT : JPY_FROM_CELL;
    return accept == JN_ACCEPT_SCALAR || accept == JN_ACCEPT_SHAPE;
}

/* What scalars look like to kernels: 0-d views of f64, i64, bool; an int where a float is wanted is
 * one. */
static bool learn_cell(const jn_op *op, jpy_quick_operand *p, unsigned i) {
    janus_kind want = (janus_kind)jpy_operand_at(op, i)->dtype_class;
    p->cell = 0;
    if (want == JANUS_KIND_FLOAT && p->kind != JANUS_KIND_FLOAT) {
        p->s.f = (double)p->s.i;
        p->kind = JANUS_KIND_FLOAT;
    }
    if (want == JANUS_KIND_INT && p->kind != JANUS_KIND_INT)
        return false;
    p->dtype = p->kind == JANUS_KIND_FLOAT ? JANUS_F64
               : p->kind == JANUS_KIND_INT ? JANUS_I64
                                           : JANUS_BOOL;
    return jpy_scalar_store((janus_dtype)p->dtype, (janus_kind)p->kind, p->s, &p->cell);
}

static bool learn_attrs(jpy_quick_entry *e, const jpy_bound *b) {
    const jn_op *op = b->op;
    if (op->attr_size > JPY_QUICK_ATTRS)
        return false;
    memcpy(e->attrs, b->attrs, op->attr_size);
    size_t used = 0;
    for (const jn_attr_spec *s = op->attrs; op->attr_size && s->name; s++) {
        if (s->kind == JN_ATTR_DATA)
            return false;
        if (s->kind != JN_ATTR_INTS)
            continue;
        janus_ints *v = (janus_ints *)(void *)(e->attrs + s->offset);
        if (used + v->n > JPY_QUICK_INTS)
            return false;
        if (v->n)
            memcpy(e->ints + used, v->data, v->n * sizeof *e->ints);
        v->data = e->ints + used;
        used += v->n;
    }
    return true;
}

/* Whether every tensor among the arguments is an operand: the binder may have read the values of
 * the others. */
static bool all_operands(const jpy_quick_entry *e, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t want = jpy_tensor_check(args[i]) ? 1
                          : jpy_is_tensors(args[i]) ? PySequence_Fast_GET_SIZE(args[i])
                                                    : 0;
        for (unsigned k = 0; k < e->n_in; k++)
            want -= e->in[k].from == JPY_FROM_TENSOR && e->in[k].arg == i;
        if (want > 0)
            return false;
    }
    return true;
}

static bool learn_identity(jpy_quick_entry *e, const jpy_bound *b, PyObject *const *args,
                           Py_ssize_t n) {
    int at = place_of(b->in[0].o, args, n);
    e->is_identity = true;
    e->n_in = 1;
    e->in[0].from = JPY_FROM_TENSOR;
    e->in[0].arg = (uint8_t)at;
    e->in[0].item = JPY_QUICK_WHOLE;
    return at >= 0 && jpy_tensor_check(b->in[0].o) && all_operands(e, args, n);
}

/* What is told by its address has to live as long as the entry; false: out of memory. */
static bool learn_strings(jpy_quick_entry *e, PyObject *const *args, Py_ssize_t n) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        found += PyUnicode_CheckExact(args[i]);
    if (!found)
        return true;
    e->strings = PyTuple_New(found);
    for (Py_ssize_t i = n; e->strings && i-- > 0;)
        if (PyUnicode_CheckExact(args[i]))
            PyTuple_SET_ITEM(e->strings, --found, Py_NewRef(args[i]));
    return e->strings != NULL;
}

/* Floats that are no operands were made attributes: they are part of the call. */
static void learn_floats(jpy_quick_entry *e, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        bool found = !PyFloat_CheckExact(args[i]);
        for (unsigned k = 0; k < e->n_in && !found; k++)
            found = (e->in[k].from == JPY_FROM_NUMBER || e->in[k].from == JPY_FROM_FLOAT) &&
                    e->in[k].arg == i;
        if (found)
            continue;
        e->floats[e->n_floats].arg = (uint8_t)i;
        e->floats[e->n_floats++].bits = jpy_float_bits(args[i]);
    }
}

static bool learn_run(jpy_quick_entry *e, const jpy_bound *b, PyObject *const *args, Py_ssize_t n) {
    jn_eager_arg arg[JN_RECIPE_IN];
    jn_type types[JN_RECIPE_IN];
    janus_kind numbers[JN_RECIPE_IN];
    janus_tensor *made[JN_RECIPE_IN];
    int cast[JN_RECIPE_IN];
    unsigned n_made = 0;
    const jn_op *op = b->op;
    if (b->n_in > JN_RECIPE_IN || !learn_attrs(e, b))
        return false;
    e->n_in = b->n_in;
    for (unsigned i = 0; i < b->n_in; i++) {
        if (!learn_operand(e, i, b, args, n, &arg[i], &types[i], &numbers[i]))
            return false;
        if ((e->in[i].from == JPY_FROM_CELL || e->in[i].from == JPY_FROM_FLOAT) &&
            !learn_cell(op, &e->in[i], i))
            return false;
    }
    if (!all_operands(e, args, n))
        return false;
    if (b->cast_first >= 0 &&
        (types[0].kind != JANUS_KIND_TENSOR || types[0].dtype != b->cast_first))
        return false;
    bool ok = jpy_promote(op, b->n_in, types, numbers, cast) == 0;
    for (unsigned i = 0; ok && i < b->n_in; i++) {
        ok = e->inplace || jpy_autocast_dtype(op, false, &types[i]) < 0;
        if (!ok)
            break;
        if (op->id == JN_OP_ID_masked_fill && e->in[i].from == JPY_FROM_FLOAT)
            e->in[i].into = (uint8_t)(1 + types[0].dtype);
        if (op->id == JN_OP_ID_where && e->in[i].from == JPY_FROM_NUMBER && cast[i] >= 0)
            e->in[i].into = (uint8_t)(1 + cast[i]);
        bool fixed = e->in[i].from == JPY_FROM_FIXED;
        if (e->in[i].from == JPY_FROM_NUMBER || fixed) {
            uint64_t cell = 0;
            /* Which powers of integers there are depends on the number. */
            ok = cast[i] >= 0 && (op->id != JN_OP_ID_pow || jn_dtype_is_float(cast[i])) &&
                 (fixed ? jpy_scalar_store((janus_dtype)cast[i], (janus_kind)e->in[i].kind,
                                           e->in[i].s, &cell)
                        : jpy_number_cell(args[e->in[i].arg], (janus_dtype)cast[i], &cell)) &&
                 jn_tensor_empty((janus_dtype)cast[i], 0, NULL, &made[n_made]) == JANUS_OK;
            if (ok) {
                arg[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = made[n_made++]};
                e->in[i].dtype = (uint8_t)cast[i];
                e->in[i].cell = cell;
            }
        } else {
            ok = cast[i] < 0;
        }
    }
    const void *attrs = op->attr_size ? e->attrs : NULL;
    ok = ok && jn_recipe_make(&e->recipe, op, arg, b->n_in, attrs, op->n_out, jn_deferring != NULL);
    ok = ok && (e->recipe.kernel || e->in[0].from == JPY_FROM_TENSOR); /* a view needs its tensor */
    if (ok && e->inplace) {
        const janus_tensor *dst = e->in[0].from == JPY_FROM_TENSOR ? arg[0].t : NULL;
        ok = dst && e->recipe.kernel && dst->contiguous && (op->flags & JN_OP_INPLACE0) &&
             op->n_out == 1 && e->recipe.out[0].dtype == dst->dtype &&
             e->recipe.out[0].rank == dst->rank &&
             !memcmp(e->recipe.out[0].dims, dst->dims, (size_t)dst->rank * sizeof(int64_t));
    }
    while (n_made)
        janus_tensor_release(made[--n_made]);
    return ok;
}
jpy_quick_entry *jpy_quick_entry_make(const jpy_quick_key *key, const jpy_bound *b, bool inplace,
                                      PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    jpy_quick_entry *e = PyMem_Calloc(1, sizeof *e + key->n * sizeof *e->words);
    if (!e)
        return NULL;
    e->hash = key->hash;
    e->n_words = key->n;
    memcpy(e->words, key->words, key->n * sizeof *e->words);
    e->inplace = inplace;
    e->result = b->result;
    if (!(b->is_identity ? learn_identity(e, b, args, n) : learn_run(e, b, args, n)) ||
        !learn_strings(e, args, n)) {
        PyErr_Clear();
        PyMem_Free(e);
        return NULL;
    }
    learn_floats(e, args, n);
    e->kwnames = Py_XNewRef(kwnames);
    return e;
}

bool jpy_quick_apart(jpy_apart *apart, PyObject *const *args, Py_ssize_t n) {
    _Static_assert(sizeof apart->args / sizeof *apart->args == JPY_QUICK_ARGS, "of a whole call");
    apart->n_made = 0;
    for (Py_ssize_t i = 0; i < n && n <= JPY_QUICK_ARGS; i++) {
        apart->args[i] = args[i];
        if (!jpy_tensor_check(args[i]))
            continue;
        for (Py_ssize_t k = 0; k < i; k++)
            if (args[k] == args[i])
                apart->args[i] = NULL;
        if (apart->args[i])
            continue;
        janus_tensor *t = ((jpy_tensor *)args[i])->t;
        janus_tensor_retain(t);
        if (!(apart->args[i] = jpy_tensor_take(t))) {
            PyErr_Clear();
            jpy_quick_apart_end(apart);
            return false;
        }
        apart->made[apart->n_made++] = apart->args[i];
    }
    return apart->n_made > 0;
}

void jpy_quick_apart_end(jpy_apart *apart) {
    while (apart->n_made)
        Py_DECREF(apart->made[--apart->n_made]);
}
