/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of ops, remembered: see quick.h.
 *
 * The key of a call holds everything that binding, promotion and inference look at: the callee, the
 * keyword names and strings (by address), of each argument its kind, of tensors dtype, dims and
 * strides, of ints the value. Floats are mostly operands, so their values are no part of the key;
 * an entry lists those that became attributes, and a call with another value is another call.
 * Entries live in a table in sets of four, each with a place that it would like best; of a full set
 * the oldest goes. A call is learned when it comes the second time, so that shapes that never
 * return cost nothing.
 *
 * All of this runs under the interpreter lock.
 */
#include "config.h"

#include "pyfront/op/quick.h"

#include <string.h>

#include "exec/defer/defer.h"
#include "exec/eager/eager.h"
#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/tape/tape.h"

enum {
    PLACES = 2048,
    WAYS = 4,
    MAX_ARGS = 8,
    MAX_SEQ = 8,
    ATTR_ROOM = 128,
    INT_ROOM = 8,
    WHOLE = 255
};

/* The low bits of a word. */
typedef enum tag {
    TAG_TENSOR = 1,
    TAG_INT,
    TAG_FLOAT,
    TAG_OBJECT,
    TAG_TUPLE,
    TAG_LIST,
    TAG_TENSORS, /* a tuple or list of them follows */
    TAG_AUTOCAST,
    TAG_DEFERRED
} tag;

typedef enum source {
    FROM_TENSOR, /* the argument is the tensor */
    FROM_NUMBER, /* the argument is a number that becomes a 0-d tensor of `dtype` */
    FROM_FLOAT,  /* the argument is a float: a scalar */
    FROM_CELL,   /* the same scalar in every call */
    FROM_NONE
} source;

typedef struct operand {
    uint8_t from, arg, item, dtype, kind; /* item: which one of args[arg]; WHOLE: that itself */
    uint8_t
        into; /* 1 + the dtype that a float has to fit into, which the key does not say; 0: any */
    janus_scalar s;
    uint64_t cell;
} operand;

typedef struct entry {
    uint64_t hash;
    unsigned n_words, n_floats, n_in;
    bool inplace, is_identity;
    jpy_result result;
    PyObject *kwnames;    /* owned: its address is in the key */
    PyObject *strings;    /* a tuple of those among the arguments, or NULL: likewise */
    jn_call_kind *kind;   /* of recorded calls (exec/defer/defer.h); NULL: not made yet */
    jn_call_kind *traced; /* of those that run at once where backward() makes trace graphs; NULL:
                             not known yet */
    jn_recipe recipe;
    operand in[JN_RECIPE_IN];
    struct {
        uint8_t arg;
        uint64_t bits;
    } floats[MAX_ARGS];
    union {
        max_align_t align;
        char attrs[ATTR_ROOM];
    };
    int64_t ints[INT_ROOM];
    uint64_t words[];
} entry;

static inline PyObject *argument(const operand *p, PyObject *const *args) {
    PyObject *o = args[p->arg];
    return JN_LIKELY(p->item == WHOLE) ? o : PySequence_Fast_GET_ITEM(o, p->item);
}

static inline jpy_tensor *tensor_argument(const operand *p, PyObject *const *args) {
    return (jpy_tensor *)argument(p, args);
}

static entry *table[PLACES];
static uint32_t missed[PLACES];       /* hash of the last call that was not found here */
static uint8_t oldest[PLACES / WAYS]; /* of a full set: the way that goes next */

/* ---- keys -------------------------------------------------------------------------------------
 */

enum { SHORT_RANK = 3, SHORT_NUMEL = 1 << 16 };

/* Most tensors fit in one word. */
static inline bool put_tensor(uint64_t **at, const janus_tensor *t) {
    if (JN_UNLIKELY(t->storage->device != NULL))
        return false;
    uint64_t *k = *at;
    uint64_t word = TAG_TENSOR | (uint64_t)t->dtype << 4 | (uint64_t)t->rank << 8;
    const int64_t *dims = t->dims;
    /* strides of sizes 0 and 1 may be any, and views hand them on */
    bool dense = t->contiguous;
    uint64_t step = 1;
    for (int i = t->rank - 1; i >= 0; step *= dims[i] ? (uint64_t)dims[i] : 1, i--)
        dense = dense && (uint64_t)t->strides[i] == step;
    if (JN_LIKELY(dense && t->rank <= SHORT_RANK && t->numel > 0 && t->numel < SHORT_NUMEL)) {
        for (int i = 0; i < t->rank; i++)
            word |= (uint64_t)dims[i] << (16 + 16 * i);
        *k++ = word;
        *at = k;
        return true;
    }
    if (t->rank > JN_RECIPE_RANK)
        return false;
    *k++ = word | (dense ? 1 << 12 : 1 << 13);
    for (int i = 0; i < t->rank; i++)
        *k++ = (uint64_t)dims[i];
    if (!dense)
        for (int i = 0; i < t->rank; i++)
            *k++ = (uint64_t)t->strides[i];
    *at = k;
    return true;
}

static inline bool put_int(uint64_t **at, PyObject *o) {
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    *(*at)++ = TAG_INT | (uint64_t)v << 4;
    return !overflow && v < INT64_C(1) << 58 && v > -(INT64_C(1) << 58);
}

/* Tuples and lists of tensors are alike: what takes them takes their items. */
static bool put_tensors(uint64_t **at, const uint64_t *last, PyObject *o) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    *(*at)++ = TAG_TENSORS | (uint64_t)n << 4;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(o, i);
        if (!jpy_tensor_check(item) || *at > last || !put_tensor(at, ((jpy_tensor *)item)->t))
            return false;
    }
    return true;
}

static bool is_tensors(PyObject *o) {
    return (PyTuple_CheckExact(o) || PyList_CheckExact(o)) && PySequence_Fast_GET_SIZE(o) > 0 &&
           jpy_tensor_check(PySequence_Fast_GET_ITEM(o, 0));
}

static bool put_sequence(uint64_t **at, const uint64_t *last, PyObject *o, tag kind) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (n > MAX_SEQ)
        return false;
    if (is_tensors(o))
        return put_tensors(at, last, o);
    *(*at)++ = (uint64_t)kind | (uint64_t)n << 4;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(o, i);
        if (!PyLong_CheckExact(item) || !put_int(at, item))
            return false;
    }
    return true;
}

static bool put(uint64_t **at, const uint64_t *last, PyObject *o, bool numbers_vary) {
    if (jpy_tensor_check_exact(o))
        return put_tensor(at, ((jpy_tensor *)o)->t);
    if (PyLong_CheckExact(o)) {
        if (!numbers_vary)
            return put_int(at, o);
        *(*at)++ = TAG_INT;
        return true;
    }
    if (PyFloat_CheckExact(o)) {
        *(*at)++ = TAG_FLOAT;
        return true;
    }
    if (o == Py_None || PyBool_Check(o) || Py_TYPE(o) == jpy.dtype_type ||
        PyUnicode_CheckExact(o)) {
        *(*at)++ = TAG_OBJECT | (uint64_t)(uintptr_t)o; /* objects are aligned */
        return true;
    }
    if (PyTuple_CheckExact(o))
        return put_sequence(at, last, o, TAG_TUPLE);
    if (PyList_CheckExact(o))
        return put_sequence(at, last, o, TAG_LIST);
    return jpy_tensor_check(o) && put_tensor(at, ((jpy_tensor *)o)->t);
}

enum { LONGEST = 1 + MAX_SEQ }; /* words of an argument: a tuple of ints, or dims and strides */
_Static_assert(LONGEST >= 1 + 2 * JN_RECIPE_RANK, "a tensor's words");

static inline uint64_t mixed(uint64_t h, uint64_t word) { return (h ^ word) * 0x9E3779B97F4A7C15u; }

static bool make_key(jpy_quick_key *key, const void *what, bool inplace, PyObject *const *args,
                     Py_ssize_t n, PyObject *kwnames) {
    uint64_t *k = key->words;
    const uint64_t *last = k + JPY_QUICK_WORDS - LONGEST;
    *k++ = (uint64_t)(uintptr_t)what | inplace | (uint64_t)n << 56;
    if (kwnames)
        *k++ = (uint64_t)(uintptr_t)kwnames;
    if (JN_UNLIKELY(jpy_autocast_word != 0))
        *k++ = TAG_AUTOCAST | (uint64_t)jpy_autocast_word << 4;
    key->deferred = jn_deferring != NULL;
    if (JN_UNLIKELY(key->deferred)) /* what is remembered there may have large operands */
        *k++ = TAG_DEFERRED;
    for (Py_ssize_t i = 0; i < n; i++)
        if (k > last || !put(&k, last, args[i], key->numbers_vary))
            return false;
    key->n = (unsigned)(k - key->words);
    uint64_t h = 0;
    for (const uint64_t *w = key->words; w < k; w++) {
        h = mixed(h, *w);
        h ^= h >> 32;
    }
    key->hash = h;
    return true;
}

/* -0.0 is not 0.0, and a NaN is itself. */
static inline uint64_t bits_of(PyObject *f) {
    const double v = PyFloat_AS_DOUBLE(f);
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline bool is_of(const entry *e, const jpy_quick_key *key, PyObject *const *args) {
    bool same = e && e->hash == key->hash && e->n_words == key->n;
    for (unsigned i = 0; same && i < key->n; i++)
        same = e->words[i] == key->words[i];
    for (unsigned i = 0; same && i < e->n_floats; i++)
        same = e->floats[i].bits == bits_of(args[e->floats[i].arg]);
    return same;
}

static entry *find(jpy_quick_key *key, PyObject *const *args) {
    size_t place = key->hash % PLACES;
    if (JN_LIKELY(is_of(table[place], key, args)))
        return table[place];
    for (size_t way = 1; way < WAYS; way++)
        if (is_of(table[place ^ way], key, args))
            return table[place ^ way];
    key->seen = missed[place] == (uint32_t)(key->hash >> 32);
    missed[place] = (uint32_t)(key->hash >> 32);
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static bool number_of(PyObject *o, janus_dtype dtype, uint64_t *cell) {
    janus_scalar s;
    if (PyFloat_CheckExact(o)) {
        s.f = PyFloat_AS_DOUBLE(o);
        return jpy_scalar_store(dtype, JANUS_KIND_FLOAT, s, cell);
    }
    if (!PyLong_Check(o))
        return false;
    int overflow;
    s.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow && jpy_scalar_store(dtype, JANUS_KIND_INT, s, cell);
}

/* What does not fit is the slow way's to complain of. */
static bool float_fits(const operand *p, PyObject *o) {
    return !PyFloat_CheckExact(o) || jpy_scalar_fits((janus_dtype)(p->into - 1), JANUS_KIND_FLOAT,
                                                     (janus_scalar){.f = PyFloat_AS_DOUBLE(o)});
}

static bool maybe_tracked(const jpy_tensor *t) { return t->node || t->requires_grad || t->base; }

/* The operands as the tape wants them; numbers become tensors of their own. */
static int record(const entry *e, PyObject *const *args, janus_tensor *const *out,
                  jn_call_kind *kind, jpy_node **node) {
    jpy_val vals[JN_RECIPE_IN];
    janus_tensor *numbers[JN_RECIPE_IN];
    unsigned n_numbers = 0;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < e->n_in; i++) {
        const operand *p = &e->in[i];
        vals[i] = (jpy_val){.kind = p->kind, .s = p->s};
        if (p->from == FROM_TENSOR) {
            rc = jpy_tensor_val(tensor_argument(p, args), &vals[i]);
        } else if (p->from == FROM_FLOAT) {
            vals[i].s.f = PyFloat_AS_DOUBLE(args[p->arg]);
        } else if (p->from == FROM_NUMBER) {
            janus_kind number;
            janus_scalar s;
            rc = jpy_scalar_of(args[p->arg], &number, &s) > 0 &&
                         jpy_scalar_tensor((janus_dtype)p->dtype, number, s, &numbers[n_numbers]) ==
                             0
                     ? 0
                     : -1;
            if (rc == 0)
                vals[i] = jpy_val_tensor(numbers[n_numbers++], (jpy_edge){0});
        }
    }
    const void *attrs = e->recipe.op->attr_size ? e->attrs : NULL;
    if (rc == 0 && jpy_should_record(e->recipe.op, vals, e->n_in) &&
        !(*node = jpy_record(e->recipe.op, vals, e->n_in, attrs, out, e->recipe.n_out, kind)))
        rc = -1;
    while (n_numbers)
        janus_tensor_release(numbers[--n_numbers]);
    return rc;
}

/* Whether writing to dst needs no history and disturbs no other operand. */
static bool may_write(const entry *e, PyObject *const *args, const jpy_tensor *dst) {
    for (unsigned i = 1; i < e->n_in; i++)
        if (e->in[i].from == FROM_TENSOR &&
            tensor_argument(&e->in[i], args)->t->storage == dst->t->storage)
            return false;
    if (jpy_no_grad_mode)
        return true;
    for (unsigned i = 0; i < e->n_in; i++)
        if (e->in[i].from == FROM_TENSOR && maybe_tracked(tensor_argument(&e->in[i], args)))
            return false;
    return true;
}

static PyObject *run(entry *e, PyObject *const *args) {
    const jn_op *op = e->recipe.op;
    jn_view in[JN_RECIPE_IN];
    uint64_t cells[JN_RECIPE_IN];
    bool tracked = false;
    for (unsigned i = 0; i < e->n_in; i++) {
        const operand *p = &e->in[i];
        if (JN_LIKELY(p->from == FROM_TENSOR)) {
            jpy_tensor *t = tensor_argument(p, args);
            if (JN_UNLIKELY(e->inplace && t->t->storage->state == JN_STORAGE_ROWS))
                return NULL; /* a step may write those rows alone: the long way sees to it */
            if (jpy_check(jn_tensor_as_view(t->t, &in[i])) < 0 ||
                (i == 1 && jn_dtype_is_int(t->t->dtype) && jpy_index_check(op, t->t) < 0))
                return NULL;
            tracked = tracked || maybe_tracked(t);
            continue;
        }
        if (p->from == FROM_NONE) {
            in[i] = (jn_view){.rank = -1};
            continue;
        }
        cells[i] = p->cell;
        if (p->into && !float_fits(p, args[p->arg]))
            return NULL;
        if (p->from == FROM_FLOAT)
            cells[i] = bits_of(args[p->arg]);
        else if (p->from == FROM_NUMBER &&
                 !number_of(args[p->arg], (janus_dtype)p->dtype, &cells[i]))
            return NULL;
        in[i] = (jn_view){&cells[i], NULL, NULL, 0, p->dtype, true};
    }
    const void *attrs = op->attr_size ? e->attrs : NULL;
    jpy_tensor *first = e->in[0].from == FROM_TENSOR ? tensor_argument(&e->in[0], args) : NULL;
    if (e->inplace) {
        if (!first || !may_write(e, args, first))
            return NULL;
        if (jpy_check(jn_recipe_run_into(&e->recipe, in, attrs, first->t)) < 0)
            return NULL;
        jpy_inplace_wrote(first);
        return Py_NewRef((PyObject *)first);
    }
    janus_tensor *out[JN_EAGER_MAX_OUT];
    if (jpy_check(jn_recipe_run(&e->recipe, in, attrs, first ? first->t : NULL, out)) < 0)
        return NULL;
    jpy_node *node = NULL;
    bool traced = JN_UNLIKELY(jn_tracing != NULL);
    if (tracked && op->grad && !jpy_no_grad_mode &&
        record(e, args, out, traced ? e->traced : NULL, &node) < 0) {
        for (unsigned i = 0; i < e->recipe.n_out; i++)
            janus_tensor_release(out[i]);
        return NULL;
    }
    if (traced && node && !e->traced && (e->traced = jpy_node_kind(node)))
        jn_call_kind_retain(e->traced);
    jpy_tensor *of = op->flags & JN_OP_VIEW ? first : NULL;
    return jpy_wrap_results(e->result, out, e->recipe.n_out, node, of);
}

static jn_call_kind *kind_of(entry *e) {
    static const uint8_t from[] = {[FROM_TENSOR] = JN_FROM_TENSOR,
                                   [FROM_NUMBER] = JN_FROM_NUMBER,
                                   [FROM_FLOAT] = JN_FROM_SCALAR,
                                   [FROM_CELL] = JN_FROM_CONST,
                                   [FROM_NONE] = JN_FROM_NONE};
    jn_operand_kind in[JN_RECIPE_IN];
    for (unsigned i = 0; i < e->n_in; i++)
        in[i] =
            (jn_operand_kind){from[e->in[i].from], e->in[i].dtype, e->in[i].kind, e->in[i].cell};
    if (!e->kind)
        e->kind = jn_call_kind_new(&e->recipe, in, e->attrs);
    return e->kind;
}

/* The call while this thread defers: recorded, or a view of what may not be there yet.  NULL
 * without an exception: it is to be run. */
static PyObject *defer(entry *e, PyObject *const *args) {
    jn_deferred_in in[JN_RECIPE_IN];
    const jn_op *op = e->recipe.op;
    jpy_tensor *first = e->in[0].from == FROM_TENSOR ? tensor_argument(&e->in[0], args) : NULL;
    bool view = !e->recipe.kernel, tracked = false;
    if (e->inplace || (!view && !jn_call_kind_possible(&e->recipe)))
        return NULL;
    for (unsigned i = 0; i < e->n_in; i++) {
        const operand *p = &e->in[i];
        if (p->from == FROM_TENSOR) {
            const jpy_tensor *t = tensor_argument(p, args);
            tracked = tracked || maybe_tracked(t);
            in[i].t = t->t;
        } else if (p->into && !float_fits(p, args[p->arg])) {
            return NULL;
        } else if (p->from == FROM_FLOAT) {
            in[i].cell = bits_of(args[p->arg]);
        } else if (p->from == FROM_NUMBER) {
            in[i].cell = 0;
            if (!number_of(args[p->arg], (janus_dtype)p->dtype, &in[i].cell))
                return NULL;
        } else {
            in[i].cell = p->cell;
        }
    }
    janus_tensor *out[JN_RECIPE_OUT];
    bool recorded = true;
    jn_call_kind *kind = kind_of(e);
    if (!kind)
        return PyErr_NoMemory();
    if (jpy_check(view ? jn_recipe_run(&e->recipe, NULL, NULL, first->t, out)
                       : jn_deferral_record(jn_deferring, kind, in, out, &recorded)) < 0 ||
        !recorded)
        return NULL;
    jpy_node *node = NULL;
    if (tracked && op->grad && !jpy_no_grad_mode && record(e, args, out, kind, &node) < 0) {
        for (unsigned i = 0; i < e->recipe.n_out; i++)
            janus_tensor_release(out[i]);
        return NULL;
    }
    return jpy_wrap_results(e->result, out, e->recipe.n_out, node,
                            op->flags & JN_OP_VIEW ? first : NULL);
}

PyObject *jpy_quick_call(const void *what, bool inplace, bool numbers_vary, PyObject *const *args,
                         Py_ssize_t n, PyObject *kwnames, jpy_quick_key *key) {
    key->n = 0;
    key->seen = false;
    key->numbers_vary = numbers_vary;
    if (n > MAX_ARGS || n == 0 || !make_key(key, what, inplace, args, n, kwnames))
        return NULL;
    entry *e = find(key, args);
    if (!e)
        return NULL;
    if (JN_UNLIKELY(key->deferred) && !e->is_identity) {
        PyObject *result = defer(e, args);
        if (result || PyErr_Occurred())
            return result;
    }
    return e->is_identity ? Py_NewRef(args[e->in[0].arg]) : run(e, args);
}

/* ---- learning -----------------------------------------------------------------------------------
 */

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
static bool learn_place(operand *p, const jpy_bound *b, unsigned i, PyObject *const *args,
                        Py_ssize_t n) {
    unsigned first = 0;
    while (first < i && !b->op->operands[first].variadic)
        first++;
    int at = -1;
    p->item = WHOLE;
    if (!b->op->operands[first].variadic) {
        at = place_of(b->in[i].o, args, n);
    } else {
        for (Py_ssize_t k = 0; k < n; k++) {
            if (!is_tensors(args[k]))
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

static bool learn_operand(entry *e, unsigned i, const jpy_bound *b, PyObject *const *args,
                          Py_ssize_t n, jn_eager_arg *arg, jn_type *type, janus_kind *number) {
    operand *p = &e->in[i];
    PyObject *o = b->in[i].o;
    *number = JANUS_KIND_NONE;
    *arg = (jn_eager_arg){.kind = JANUS_KIND_NONE};
    if (!o) {
        p->from = b->in[i].kind == JANUS_KIND_NONE ? FROM_NONE : FROM_CELL;
        p->kind = arg->kind = b->in[i].kind;
        p->s = arg->s = b->in[i].s;
        *type = jn_scalar_type((janus_kind)p->kind);
        return true;
    }
    if (!learn_place(p, b, i, args, n))
        return false;
    uint8_t accept = jpy_operand_at(b->op, i)->accept;
    if (jpy_tensor_check(o)) {
        /* a gradient of rows stays one: learning would ask for its elements */
        if (accept != JN_ACCEPT_TENSOR || jn_tensor_is_rows(((jpy_tensor *)o)->t))
            return false;
        p->from = FROM_TENSOR;
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
        p->from = FROM_NUMBER;
        *number = kind;
        return kind != JANUS_KIND_BOOL;
    }
    p->from = kind == JANUS_KIND_FLOAT ? FROM_FLOAT : FROM_CELL;
    return accept == JN_ACCEPT_SCALAR || accept == JN_ACCEPT_SHAPE;
}

/* What scalars look like to kernels: 0-d views of f64, i64, bool; an int where a float is wanted is
 * one. */
static bool learn_cell(const jn_op *op, operand *p, unsigned i) {
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

static bool learn_attrs(entry *e, const jpy_bound *b) {
    const jn_op *op = b->op;
    if (op->attr_size > ATTR_ROOM)
        return false;
    memcpy(e->attrs, b->attrs, op->attr_size);
    size_t used = 0;
    for (const jn_attr_spec *s = op->attrs; op->attr_size && s->name; s++) {
        if (s->kind == JN_ATTR_DATA)
            return false;
        if (s->kind != JN_ATTR_INTS)
            continue;
        janus_ints *v = (janus_ints *)(void *)(e->attrs + s->offset);
        if (used + v->n > INT_ROOM)
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
static bool all_operands(const entry *e, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t want = jpy_tensor_check(args[i]) ? 1
                          : is_tensors(args[i])     ? PySequence_Fast_GET_SIZE(args[i])
                                                    : 0;
        for (unsigned k = 0; k < e->n_in; k++)
            want -= e->in[k].from == FROM_TENSOR && e->in[k].arg == i;
        if (want > 0)
            return false;
    }
    return true;
}

static bool learn_identity(entry *e, const jpy_bound *b, PyObject *const *args, Py_ssize_t n) {
    int at = place_of(b->in[0].o, args, n);
    e->is_identity = true;
    e->n_in = 1;
    e->in[0].from = FROM_TENSOR;
    e->in[0].arg = (uint8_t)at;
    e->in[0].item = WHOLE;
    return at >= 0 && jpy_tensor_check(b->in[0].o) && all_operands(e, args, n);
}

/* What is told by its address has to live as long as the entry; false: out of memory. */
static bool learn_strings(entry *e, PyObject *const *args, Py_ssize_t n) {
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
static void learn_floats(entry *e, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        bool found = !PyFloat_CheckExact(args[i]);
        for (unsigned k = 0; k < e->n_in && !found; k++)
            found =
                (e->in[k].from == FROM_NUMBER || e->in[k].from == FROM_FLOAT) && e->in[k].arg == i;
        if (found)
            continue;
        e->floats[e->n_floats].arg = (uint8_t)i;
        e->floats[e->n_floats++].bits = bits_of(args[i]);
    }
}

static bool learn_run(entry *e, const jpy_bound *b, PyObject *const *args, Py_ssize_t n) {
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
        if ((e->in[i].from == FROM_CELL || e->in[i].from == FROM_FLOAT) &&
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
        if (op->id == JN_OP_ID_masked_fill && e->in[i].from == FROM_FLOAT)
            e->in[i].into = (uint8_t)(1 + types[0].dtype);
        if (op->id == JN_OP_ID_where && e->in[i].from == FROM_NUMBER && cast[i] >= 0)
            e->in[i].into = (uint8_t)(1 + cast[i]);
        if (e->in[i].from == FROM_NUMBER) {
            uint64_t cell;
            /* Which powers of integers there are depends on the number. */
            ok = cast[i] >= 0 && (op->id != JN_OP_ID_pow || jn_dtype_is_float(cast[i])) &&
                 number_of(args[e->in[i].arg], (janus_dtype)cast[i], &cell) &&
                 jn_tensor_empty((janus_dtype)cast[i], 0, NULL, &made[n_made]) == JANUS_OK;
            if (ok) {
                arg[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = made[n_made++]};
                e->in[i].dtype = (uint8_t)cast[i];
            }
        } else {
            ok = cast[i] < 0;
        }
    }
    const void *attrs = op->attr_size ? e->attrs : NULL;
    ok = ok && jn_recipe_make(&e->recipe, op, arg, b->n_in, attrs, op->n_out, jn_deferring != NULL);
    ok = ok && (e->recipe.kernel || e->in[0].from == FROM_TENSOR); /* a view needs its tensor */
    if (ok && e->inplace) {
        const janus_tensor *dst = e->in[0].from == FROM_TENSOR ? arg[0].t : NULL;
        ok = dst && e->recipe.kernel && dst->contiguous && (op->flags & JN_OP_INPLACE0) &&
             op->n_out == 1 && e->recipe.out[0].dtype == dst->dtype &&
             e->recipe.out[0].rank == dst->rank &&
             !memcmp(e->recipe.out[0].dims, dst->dims, (size_t)dst->rank * sizeof(int64_t));
    }
    while (n_made)
        janus_tensor_release(made[--n_made]);
    return ok;
}

static void forget(size_t place) {
    entry *e = table[place];
    table[place] = NULL;
    if (e) {
        Py_XDECREF(e->kwnames);
        Py_XDECREF(e->strings);
        jn_call_kind_release(e->kind);
        jn_call_kind_release(e->traced);
        PyMem_Free(e);
    }
}

/* An empty place of the key's set, or that of the oldest.  Entries stay where they are put: were
 * one moved on from its own best place, two calls that take turns could drive each other out. */
static size_t place_for(const jpy_quick_key *key) {
    size_t best = key->hash % PLACES, set = best / WAYS;
    for (size_t way = 0; way < WAYS; way++)
        if (!table[best ^ way])
            return best ^ way;
    size_t place = set * WAYS + oldest[set];
    oldest[set] = (uint8_t)((oldest[set] + 1) % WAYS);
    forget(place);
    return place;
}

void jpy_quick_learn(const jpy_quick_key *key, const jpy_bound *b, bool inplace,
                     PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    if (!key->n || !key->seen || b->by_value)
        return;
    entry *e = PyMem_Calloc(1, sizeof *e + key->n * sizeof *e->words);
    if (!e)
        return;
    e->hash = key->hash;
    e->n_words = key->n;
    memcpy(e->words, key->words, key->n * sizeof *e->words);
    e->inplace = inplace;
    e->result = b->result;
    if (!(b->is_identity ? learn_identity(e, b, args, n) : learn_run(e, b, args, n)) ||
        !learn_strings(e, args, n)) {
        PyErr_Clear();
        PyMem_Free(e);
        return;
    }
    learn_floats(e, args, n);
    e->kwnames = Py_XNewRef(kwnames);
    table[place_for(key)] = e;
}

PyObject *jpy_quick_defer(jpy_quick_key *key, const jpy_bound *b, bool inplace,
                          PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    if (inplace)
        return NULL;
    key->seen = true;
    jpy_quick_learn(key, b, inplace, args, n, kwnames);
    entry *e = key->n ? find(key, args) : NULL;
    return e && !e->is_identity ? defer(e, args) : NULL;
}
