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

#include "ops/op_ids.h"
#include "pyfront/op/autocast.h"
#include "pyfront/op/quick_entry.h"
#include "pyfront/tape/tape.h"

enum { PLACES = 2048, WAYS = 4, MAX_SEQ = 8 };

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

static inline PyObject *argument(const jpy_quick_operand *p, PyObject *const *args) {
    PyObject *o = args[p->arg];
    return JN_LIKELY(p->item == JPY_QUICK_WHOLE) ? o : PySequence_Fast_GET_ITEM(o, p->item);
}

static inline jpy_tensor *tensor_argument(const jpy_quick_operand *p, PyObject *const *args) {
    return (jpy_tensor *)argument(p, args);
}

static jpy_quick_entry *table[PLACES];
static uint32_t missed[PLACES];       /* hash of the last call that was not found here */
static uint8_t oldest[PLACES / WAYS]; /* of a full set: the way that goes next */

/* ---- keys -------------------------------------------------------------------------------------
 */

/* What does not fit in one word. */
static bool put_layout(uint64_t **at, const janus_tensor *t) {
    if (t->storage->device || t->rank > JN_RECIPE_RANK)
        return false;
    uint64_t *k = *at;
    /* strides of size 1 may be any, and views hand them on; empty ones count as odd */
    uint64_t step = 1, odd = !t->contiguous;
    for (int i = t->rank - 1; i >= 0; step *= (uint64_t)t->dims[i], i--)
        odd |= (uint64_t)t->strides[i] ^ step;
    *k++ =
        TAG_TENSOR | (uint64_t)t->dtype << 4 | (uint64_t)t->rank << 8 | (odd ? 1 << 13 : 1 << 12);
    for (int i = 0; i < t->rank; i++)
        *k++ = (uint64_t)t->dims[i];
    if (odd)
        for (int i = 0; i < t->rank; i++)
            *k++ = (uint64_t)t->strides[i];
    *at = k;
    return true;
}

/* Most tensors fit in one word. */
static inline bool put_tensor(uint64_t **at, janus_tensor *t) {
    uint64_t form = jn_tensor_form(t);
    if (JN_UNLIKELY(!form))
        return put_layout(at, t);
    *(*at)++ = form;
    return true;
}
_Static_assert((int)TAG_TENSOR == (int)JN_FORM, "the words of tensors");

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

bool jpy_is_tensors(PyObject *o) {
    return (PyTuple_CheckExact(o) || PyList_CheckExact(o)) && PySequence_Fast_GET_SIZE(o) > 0 &&
           jpy_tensor_check(PySequence_Fast_GET_ITEM(o, 0));
}

static bool put_sequence(uint64_t **at, const uint64_t *last, PyObject *o, tag kind) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (n > MAX_SEQ)
        return false;
    if (jpy_is_tensors(o))
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

static inline bool make_key(const jn_thread *me, jpy_quick_key *key, const void *what, bool inplace,
                            PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    uint64_t *k = key->words;
    const uint64_t *last = k + JPY_QUICK_WORDS - LONGEST;
    *k++ = (uint64_t)(uintptr_t)what | inplace | (uint64_t)n << 56;
    if (kwnames)
        *k++ = (uint64_t)(uintptr_t)kwnames;
    if (JN_UNLIKELY(me->autocast != 0))
        *k++ = TAG_AUTOCAST | (uint64_t)me->autocast << 4;
    key->deferred = me->deferring != NULL;
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

static inline bool is_of(const jpy_quick_entry *e, const jpy_quick_key *key,
                         PyObject *const *args) {
    bool same = e && e->hash == key->hash && e->n_words == key->n;
    for (unsigned i = 0; same && i < key->n; i++)
        same = e->words[i] == key->words[i];
    for (unsigned i = 0; same && i < e->n_floats; i++)
        same = e->floats[i].bits == jpy_float_bits(args[e->floats[i].arg]);
    return same;
}

static jpy_quick_entry *find(jpy_quick_key *key, PyObject *const *args) {
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

bool jpy_number_cell(PyObject *o, janus_dtype dtype, uint64_t *cell) {
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
static bool float_fits(const jpy_quick_operand *p, PyObject *o) {
    return !PyFloat_CheckExact(o) || jpy_scalar_fits((janus_dtype)(p->into - 1), JANUS_KIND_FLOAT,
                                                     (janus_scalar){.f = PyFloat_AS_DOUBLE(o)});
}

/* The operands as the tape wants them; numbers become tensors of their own. */
static int record(jn_thread *me, const jpy_quick_entry *e, PyObject *const *args,
                  janus_tensor *const *out, jn_call_kind *kind, jpy_node **node) {
    jpy_val vals[JN_RECIPE_IN];
    janus_tensor *numbers[JN_RECIPE_IN];
    unsigned n_numbers = 0;
    int rc = 0;
    bool tracked = false;
    for (unsigned i = 0; rc == 0 && i < e->n_in; i++) {
        const jpy_quick_operand *p = &e->in[i];
        if (JN_LIKELY(p->from == JPY_FROM_TENSOR)) {
            rc = jpy_tensor_val(tensor_argument(p, args), &vals[i]);
            tracked = tracked || jpy_edge_tracked(vals[i].edge);
            continue;
        }
        vals[i] = (jpy_val){.kind = p->kind, .s = p->s};
        if (p->from == JPY_FROM_FLOAT) {
            vals[i].s.f = PyFloat_AS_DOUBLE(args[p->arg]);
        } else if (p->from == JPY_FROM_NUMBER || p->from == JPY_FROM_FIXED) {
            janus_kind number = (janus_kind)p->kind;
            janus_scalar s = p->s;
            rc = (p->from == JPY_FROM_FIXED || jpy_scalar_of(args[p->arg], &number, &s) > 0) &&
                         jpy_scalar_tensor((janus_dtype)p->dtype, number, s, &numbers[n_numbers]) ==
                             0
                     ? 0
                     : -1;
            if (rc == 0)
                vals[i] = jpy_val_tensor(numbers[n_numbers++], (jpy_edge){0});
        }
    }
    const void *attrs = e->recipe.op->attr_size ? e->attrs : NULL;
    if (rc == 0 && tracked &&
        !(*node = jpy_record(me, e->recipe.op, vals, e->n_in, attrs, out, e->recipe.n_out, kind)))
        rc = -1;
    while (n_numbers)
        janus_tensor_release(numbers[--n_numbers]);
    return rc;
}

/* Whether writing to dst needs no history and disturbs no other operand. */
static bool may_write(const jn_thread *me, const jpy_quick_entry *e, PyObject *const *args,
                      const jpy_tensor *dst) {
    for (unsigned i = 1; i < e->n_in; i++)
        if (e->in[i].from == JPY_FROM_TENSOR &&
            tensor_argument(&e->in[i], args)->t->storage == dst->t->storage)
            return false;
    if (me->no_grad)
        return true;
    for (unsigned i = 0; i < e->n_in; i++)
        if (e->in[i].from == JPY_FROM_TENSOR && jpy_maybe_tracked(tensor_argument(&e->in[i], args)))
            return false;
    return true;
}

static PyObject *run(jn_thread *me, jpy_quick_entry *e, PyObject *const *args) {
    const jn_op *op = e->recipe.op;
    jn_view in[JN_RECIPE_IN];
    uint64_t cells[JN_RECIPE_IN];
    bool tracked = false;
    for (unsigned i = 0; i < e->n_in; i++) {
        const jpy_quick_operand *p = &e->in[i];
        if (JN_LIKELY(p->from == JPY_FROM_TENSOR)) {
            jpy_tensor *t = tensor_argument(p, args);
            if (JN_UNLIKELY(e->inplace && t->t->storage->state == JN_STORAGE_ROWS))
                return NULL; /* a step may write those rows alone: the long way sees to it */
            if (jpy_check(jn_tensor_as_view(t->t, &in[i])) < 0 ||
                (i == 1 && jn_dtype_is_int(t->t->dtype) && jpy_index_check(op, t->t) < 0))
                return NULL;
            tracked = tracked || jpy_maybe_tracked(t);
            continue;
        }
        if (p->from == JPY_FROM_NONE) {
            in[i] = (jn_view){.rank = -1};
            continue;
        }
        cells[i] = p->cell;
        if (p->into && !float_fits(p, args[p->arg]))
            return NULL;
        if (p->from == JPY_FROM_FLOAT)
            cells[i] = jpy_float_bits(args[p->arg]);
        else if (p->from == JPY_FROM_NUMBER &&
                 !jpy_number_cell(args[p->arg], (janus_dtype)p->dtype, &cells[i]))
            return NULL;
        in[i] = (jn_view){&cells[i], NULL, NULL, 0, p->dtype, true};
    }
    const void *attrs = op->attr_size ? e->attrs : NULL;
    jpy_tensor *first = e->in[0].from == JPY_FROM_TENSOR ? tensor_argument(&e->in[0], args) : NULL;
    if (e->inplace) {
        if (!first || !may_write(me, e, args, first))
            return NULL;
        if (jpy_check(jn_recipe_run_into(me, &e->recipe, in, attrs, first->t)) < 0)
            return NULL;
        jpy_inplace_wrote(first);
        return Py_NewRef((PyObject *)first);
    }
    janus_tensor *out[JN_EAGER_MAX_OUT];
    if (jpy_check(jn_recipe_run(me, &e->recipe, in, attrs, first ? first->t : NULL, out)) < 0)
        return NULL;
    jpy_node *node = NULL;
    if (tracked && op->grad && !me->no_grad) {
        bool traced = JN_UNLIKELY(me->tracing != NULL);
        if (record(me, e, args, out, traced ? e->traced : NULL, &node) < 0) {
            for (unsigned i = 0; i < e->recipe.n_out; i++)
                janus_tensor_release(out[i]);
            return NULL;
        }
        if (traced && node && !e->traced && (e->traced = jpy_node_kind(node)))
            jn_call_kind_retain(e->traced);
    }
    jpy_tensor *of = op->flags & JN_OP_VIEW ? first : NULL;
    return jpy_wrap_results(e->result, out, e->recipe.n_out, node, of);
}

static jn_call_kind *kind_of(jpy_quick_entry *e) {
    static const uint8_t from[] = {
        [JPY_FROM_TENSOR] = JN_FROM_TENSOR, [JPY_FROM_NUMBER] = JN_FROM_NUMBER,
        [JPY_FROM_FIXED] = JN_FROM_NUMBER,  [JPY_FROM_FLOAT] = JN_FROM_SCALAR,
        [JPY_FROM_CELL] = JN_FROM_CONST,    [JPY_FROM_NONE] = JN_FROM_NONE};
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
static PyObject *defer(jn_thread *me, jpy_quick_entry *e, PyObject *const *args) {
    jn_deferred_in in[JN_RECIPE_IN];
    const jn_op *op = e->recipe.op;
    jpy_tensor *first = e->in[0].from == JPY_FROM_TENSOR ? tensor_argument(&e->in[0], args) : NULL;
    bool view = !e->recipe.kernel, tracked = false;
    if (e->inplace || (!view && !jn_call_kind_possible(&e->recipe)))
        return NULL;
    for (unsigned i = 0; i < e->n_in; i++) {
        const jpy_quick_operand *p = &e->in[i];
        if (p->from == JPY_FROM_TENSOR) {
            const jpy_tensor *t = tensor_argument(p, args);
            tracked = tracked || jpy_maybe_tracked(t);
            in[i].t = t->t;
        } else if (p->into && !float_fits(p, args[p->arg])) {
            return NULL;
        } else if (p->from == JPY_FROM_FLOAT) {
            in[i].cell = jpy_float_bits(args[p->arg]);
        } else if (p->from == JPY_FROM_NUMBER) {
            in[i].cell = 0;
            if (!jpy_number_cell(args[p->arg], (janus_dtype)p->dtype, &in[i].cell))
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
    if (jpy_check(view ? jn_recipe_run(me, &e->recipe, NULL, NULL, first->t, out)
                       : jn_deferral_record(me->deferring, kind, in, out, &recorded)) < 0 ||
        !recorded)
        return NULL;
    jpy_node *node = NULL;
    if (tracked && op->grad && !me->no_grad && record(me, e, args, out, kind, &node) < 0) {
        for (unsigned i = 0; i < e->recipe.n_out; i++)
            janus_tensor_release(out[i]);
        return NULL;
    }
    return jpy_wrap_results(e->result, out, e->recipe.n_out, node,
                            op->flags & JN_OP_VIEW ? first : NULL);
}

PyObject *jpy_quick_call(jn_thread *me, const void *what, bool inplace, bool numbers_vary,
                         PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                         jpy_quick_key *key) {
    key->n = 0;
    key->seen = false;
    key->numbers_vary = numbers_vary;
    if (n > JPY_QUICK_ARGS || n == 0 || !make_key(me, key, what, inplace, args, n, kwnames))
        return NULL;
    jpy_quick_entry *e = find(key, args);
    if (!e)
        return NULL;
    if (JN_UNLIKELY(key->deferred) && !e->is_identity) {
        PyObject *result = defer(me, e, args);
        if (result || PyErr_Occurred())
            return result;
    }
    return e->is_identity ? Py_NewRef(args[e->in[0].arg]) : run(me, e, args);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static void forget(size_t place) {
    jpy_quick_entry *e = table[place];
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
    jpy_quick_entry *e = jpy_quick_entry_make(key, b, inplace, args, n, kwnames);
    if (e)
        table[place_for(key)] = e;
}

PyObject *jpy_quick_defer(jpy_quick_key *key, bool inplace, PyObject *const *args) {
    jpy_quick_entry *e = key->n && !inplace ? find(key, args) : NULL;
    return e && !e->is_identity ? defer(&jn_this, e, args) : NULL;
}
