/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first kernel of imperative execution that gives a NaN, for janus.debug.find_nan.
 *
 * The kernels of this thread are looked at when they have ended (jn_prof_watch), without the
 * interpreter, which may be another thread's then: what is found is kept here, and debug.py, which
 * traces lines, asks for it after each.
 */
#include "pyfront/function/function.h"

#include <math.h>
#include <string.h>

enum { MAX_SHAPES = 512 };
enum { MADE, PASSED_ON, IN_PLACE }; /* IN_PLACE: it may have been there before */

typedef struct nan_found {
    bool infinite;       /* infinity counts, too */
    const char *op;      /* NULL: nothing yet */
    char in[MAX_SHAPES]; /* "f32[2,3], i64[2]" */
    char out[MAX_SHAPES];
    int64_t n, total; /* NaNs in the result, of that many elements */
    int how;
} nan_found;

static _Thread_local nan_found found;

/* Whether bits of a number with exponents of `width` bits above `fraction` bits are NaN. */
static bool bad(uint64_t bits, int width, int fraction, bool infinite) {
    uint64_t exponent = ((uint64_t)1 << width) - 1, rest = ((uint64_t)1 << fraction) - 1;
    return (bits >> fraction & exponent) == exponent && ((bits & rest) || infinite);
}

static bool bad_at(const jn_view *v, int64_t at) {
    const char *p = (const char *)v->data + at * (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    uint64_t wide = 0;
    uint32_t word = 0;
    uint16_t half = 0;
    switch (v->dtype) {
    case JANUS_F64:
        memcpy(&wide, p, sizeof wide);
        return bad(wide, 11, 52, found.infinite);
    case JANUS_F32:
        memcpy(&word, p, sizeof word);
        return bad(word, 8, 23, found.infinite);
    case JANUS_F16:
        memcpy(&half, p, sizeof half);
        return bad(half, 5, 10, found.infinite);
    default:
        memcpy(&half, p, sizeof half);
        return bad(half, 8, 7, found.infinite);
    }
}

/* How many elements are NaN; *total, NULL: not wanted, is of all. */
static int64_t count(const jn_view *v, int64_t *total) {
    int64_t index[JN_MAX_RANK] = {0}, n = 0, all = 1, at = 0;
    for (int i = 0; i < v->rank; i++)
        all *= v->dims[i];
    if (total)
        *total = all;
    if (v->rank < 0 || !v->data || !jn_dtype_is_float(v->dtype))
        return 0;
    for (int64_t k = 0; k < all; k++) {
        n += bad_at(v, at);
        for (int i = v->rank - 1; i >= 0; i--) {
            at += v->strides[i];
            if (++index[i] < v->dims[i])
                break;
            at -= index[i] * v->strides[i];
            index[i] = 0;
        }
    }
    return n;
}

static void shapes(char *to, const jn_view *v, unsigned n) {
    jn_str s = {0};
    for (unsigned i = 0; i < n; i++) {
        jn_type t = jn_tensor_type((janus_dtype)v[i].dtype, v[i].rank, v[i].dims);
        jn_str_append(&s, i ? ", " : "");
        if (v[i].rank >= 0)
            jn_type_print(&s, &t);
        else
            jn_str_putc(&s, '_');
    }
    size_t k = s.n < MAX_SHAPES ? s.n : MAX_SHAPES - 1;
    if (jn_str_ok(&s) && s.data)
        memcpy(to, s.data, k);
    to[jn_str_ok(&s) ? k : 0] = 0;
    jn_str_free(&s);
}

static void watch(const jn_op *op, const jn_kargs *k) {
    bool before = false, in_place = false;
    for (unsigned i = 0; i < k->n_out && !found.op; i++) {
        int64_t n = count(&k->out[i], &found.total);
        if (!n)
            continue;
        for (unsigned j = 0; j < k->n_in; j++) {
            if (k->in[j].rank >= 0 && k->in[j].data == k->out[i].data)
                in_place = true; /* it holds the result by now */
            else
                before = before || count(&k->in[j], NULL);
        }
        found.how = before ? PASSED_ON : in_place ? IN_PLACE : MADE;
        found.n = n;
        found.op = op->name;
        shapes(found.in, k->in, k->n_in);
        shapes(found.out, k->out, k->n_out);
    }
}

/* _nan_watch(infinite): from now on kernels are looked at. */
static PyObject *nan_watch(PyObject *module, PyObject *args) {
    (void)module;
    int infinite;
    if (!PyArg_ParseTuple(args, "p:_nan_watch", &infinite) || jpy_check(jn_prof_start(1)) < 0)
        return NULL;
    found = (nan_found){.infinite = infinite};
    jn_prof_watch = watch;
    Py_RETURN_NONE;
}

/* _nan_stop() */
static PyObject *nan_stop(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    const jn_prof_event *events;
    size_t n;
    uint64_t lost;
    jn_prof_watch = NULL;
    if (jpy_check(jn_prof_stop(&events, &n, &lost)) < 0)
        return NULL;
    jn_prof_free();
    Py_RETURN_NONE;
}

/* _nan_found(): None, or (op, operands, results, how many, of how many, how). */
static PyObject *nan_found_now(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    static const char *const how[] = {"made", "passed on", "in place"};
    if (!found.op)
        Py_RETURN_NONE;
    return Py_BuildValue("(sssLLs)", found.op, found.in, found.out, (long long)found.n,
                         (long long)found.total, how[found.how]);
}

static PyMethodDef functions[] = {
    {"_nan_watch", nan_watch, METH_VARARGS, "_nan_watch(infinite): kernels are looked at."},
    {"_nan_stop", nan_stop, METH_NOARGS, "_nan_stop(): they are not any more."},
    {"_nan_found", nan_found_now, METH_NOARGS,
     "None, or (op, operands, results, how many, of how many, how) of the first NaN."},
    {NULL, NULL, 0, NULL}};

int jpy_init_nan(PyObject *module) { return PyModule_AddFunctions(module, functions); }
