/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random generator and tensors drawn from it.
 *
 * The generator's state is two numbers guarded by the interpreter lock; a draw takes the offset and
 * moves it on.
 */
#include "config.h"

#include <string.h>
#include <sys/random.h>

#include "exec/store/store.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rng.h"
#include "pyfront/methods/create.h"
#include "pyfront/methods/rng.h"
#include "pyfront/tensor/tensor.h"

/* ---- the generator
 * -------------------------------------------------------------------------------------------- */

typedef struct generator_object {
    PyObject_HEAD jn_rng_state state;
} generator_object;

static generator_object *default_generator;

_Thread_local bool jpy_rng_still;

jn_rng_state *jpy_rng_default(void) { return &default_generator->state; }

/* The state a draw of n elements uses; the generator moves on. */
jn_rng_state jpy_rng_draw(PyObject *generator, int64_t n) {
    jn_rng_state *s = &(generator ? (generator_object *)generator : default_generator)->state;
    jn_rng_state now = *s;
    if (generator || !jpy_rng_still)
        s->offset += (uint64_t)jn_rng_draws(n);
    return now;
}

static int check_generator(PyObject *g) {
    if (!g || g == Py_None || Py_TYPE(g) == jpy.generator_type)
        return 0;
    PyErr_Format(PyExc_TypeError, "generator must be a janus.Generator, not %s",
                 Py_TYPE(g)->tp_name);
    return -1;
}

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    generator_object *g = PyObject_New(generator_object, type);
    if (g)
        g->state = (jn_rng_state){67280421310721u, 0};
    return (PyObject *)g;
}
static PyObject *generator_manual_seed(PyObject *self, PyObject *seed) {
    PyObject *mask = PyLong_FromUnsignedLongLong(UINT64_MAX);
    PyObject *low = mask ? PyNumber_And(seed, mask) : NULL;
    Py_XDECREF(mask);
    if (!low)
        return NULL;
    ((generator_object *)self)->state = (jn_rng_state){PyLong_AsUnsignedLongLong(low), 0};
    Py_DECREF(low);
    return Py_NewRef(self);
}
static PyObject *generator_initial_seed(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((generator_object *)self)->state.seed);
}
static PyObject *generator_seed(PyObject *self, PyObject *unused) {
    (void)unused;
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)(uintptr_t)self;
    ((generator_object *)self)->state = (jn_rng_state){seed, 0};
    return PyLong_FromUnsignedLongLong(seed);
}
static PyObject *generator_get_state(PyObject *self, PyObject *unused) {
    (void)unused;
    int64_t n = sizeof(jn_rng_state);
    janus_tensor *t;
    if (jpy_check(janus_tensor_from_data(JANUS_U8, 1, &n, &((generator_object *)self)->state, &t)) <
        0)
        return NULL;
    return jpy_tensor_take(t);
}
static PyObject *generator_set_state(PyObject *self, PyObject *o) {
    janus_tensor *t = jpy_tensor_check(o) ? ((jpy_tensor *)o)->t : NULL;
    if (!t || t->dtype != JANUS_U8 || t->numel != (int64_t)sizeof(jn_rng_state) || !t->contiguous) {
        PyErr_SetString(PyExc_TypeError, "set_state() takes what get_state() gave");
        return NULL;
    }
    janus_tensor *here;
    if (jpy_tensor_here(t, &here) < 0)
        return NULL;
    char *data;
    int rc = jpy_tensor_data(here, &data);
    if (rc == 0)
        memcpy(&((generator_object *)self)->state, data, sizeof(jn_rng_state));
    janus_tensor_release(here);
    return rc < 0 ? NULL : Py_NewRef(self);
}
static PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, "Sets the seed and starts again."},
    {"initial_seed", generator_initial_seed, METH_NOARGS, "The seed."},
    {"seed", generator_seed, METH_NOARGS, "Sets a seed nobody knows, and returns it."},
    {"get_state", generator_get_state, METH_NOARGS, "The state as a uint8 tensor."},
    {"set_state", generator_set_state, METH_O, "Takes back a state."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot generator_slots[] = {
    {Py_tp_new, generator_new},
    {Py_tp_methods, generator_methods},
    {Py_tp_doc, "A source of random numbers: a seed and how much was drawn."},
    {0, NULL},
};
static PyType_Spec generator_spec = {"janus.Generator", sizeof(generator_object), 0,
                                     Py_TPFLAGS_DEFAULT, generator_slots};

/* ---- random tensors
 * -------------------------------------------------------------------------------------------- */

static int64_t product(int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, dims[i], &n))
            return 0; /* the row's inference refuses such a shape */
    return n;
}

/* uniform or normal over [dims], `lo` and `hi` meaning low and high, or mean and std */
static int draw_float(const jn_op *op, int rank, const int64_t *dims, janus_dtype dtype, double lo,
                      double hi, PyObject *generator, janus_tensor **out) {
    janus_uniform_attrs attrs = {sizeof attrs, {dims, (size_t)rank}, dtype, lo, hi};
    jn_rng_state s = jpy_rng_draw(generator, product(rank, dims));
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_NONE},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    return jpy_check(jn_eager(op, in, 3, &attrs, out, 1));
}
_Static_assert(sizeof(janus_uniform_attrs) == sizeof(janus_normal_attrs),
               "uniform and normal have the same attributes in the same order");

static PyObject *random_size(PyObject *const *args, Py_ssize_t n, PyObject *names, const jn_op *op,
                             double lo, double hi, const char *fname) {
    jpy_common c;
    int64_t dims[JN_MAX_RANK];
    int rank;
    janus_tensor *t;
    if (jpy_sized(&c, args, n, names, dims, &rank, fname) < 0 || check_generator(c.generator) < 0 ||
        draw_float(op, rank, dims, c.dtype, lo, hi, c.generator, &t) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
static PyObject *rand_(ARGS) {
    (void)module;
    return random_size(args, n, names, JN_OP(uniform), 0.0, 1.0, "rand");
}
static PyObject *randn(ARGS) {
    (void)module;
    return random_size(args, n, names, JN_OP(normal), 0.0, 1.0, "randn");
}
static PyObject *random_like(PyObject *const *args, Py_ssize_t n, PyObject *names, const jn_op *op,
                             const char *fname) {
    jpy_common c;
    janus_tensor *like = jpy_like_of(&c, NULL, args, n, names, fname), *t;
    if (!like || check_generator(c.generator) < 0)
        return NULL;
    if (draw_float(op, like->rank, like->dims, c.has_dtype ? c.dtype : (janus_dtype)like->dtype,
                   0.0, 1.0, c.generator, &t) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
static PyObject *rand_like(ARGS) {
    (void)module;
    return random_like(args, n, names, JN_OP(uniform), "rand_like");
}
static PyObject *randn_like(ARGS) {
    (void)module;
    return random_like(args, n, names, JN_OP(normal), "randn_like");
}
static PyObject *randint(ARGS) {
    static const char *const params[] = {"low", "high", "size", NULL};
    (void)module;
    PyObject *a[3];
    jpy_common c;
    int64_t dims[JN_MAX_RANK], low = 0, high;
    int rank;
    if (jpy_arguments(&c, params, a, args, n, names, "randint") < 0 ||
        check_generator(c.generator) < 0)
        return NULL;
    if (n == 2 && !a[2]) { /* randint(high, size) */
        a[2] = a[1];
        a[1] = NULL;
    }
    if (n && !a[1]) { /* one bound alone is the high one */
        a[1] = a[0];
        a[0] = NULL;
    }
    if (!a[1] || !a[2]) {
        PyErr_SetString(PyExc_TypeError, "randint(low=0, high, size)");
        return NULL;
    }
    if ((a[0] && jpy_int_needed(a[0], &low) < 0) || jpy_int_needed(a[1], &high) < 0 ||
        jpy_sizes(&a[2], 1, NULL, dims, &rank, "randint") < 0)
        return NULL;
    if (high <= low) {
        PyErr_Format(PyExc_RuntimeError,
                     "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                     (long long)low, (long long)high);
        return NULL;
    }
    if (!c.has_dtype)
        c.dtype = JANUS_I64;
    janus_randint_attrs attrs = {sizeof attrs, {dims, (size_t)rank}, JANUS_I64};
    jn_rng_state s = jpy_rng_draw(c.generator, product(rank, dims));
    jn_eager_arg in[5] = {{.kind = JANUS_KIND_INT, .s.i = low},
                          {.kind = JANUS_KIND_INT, .s.i = high},
                          {.kind = JANUS_KIND_NONE},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    janus_tensor *t, *cast;
    if (jpy_check(jn_eager(JN_OP(randint), in, 5, &attrs, &t, 1)) < 0)
        return NULL;
    if (c.dtype != JANUS_I64) {
        int rc = jpy_check(jn_tensor_cast(t, c.dtype, &cast));
        janus_tensor_release(t);
        if (rc < 0)
            return NULL;
        t = cast;
    }
    return jpy_finish(t, &c);
}
static PyObject *randperm(ARGS) {
    static const char *const params[] = {"n", NULL};
    (void)module;
    PyObject *a[1];
    jpy_common c;
    int64_t count;
    janus_tensor *t;
    if (jpy_arguments(&c, params, a, args, n, names, "randperm") < 0 ||
        jpy_needed(a, params, 1, "randperm") < 0 || check_generator(c.generator) < 0 ||
        jpy_int_needed(a[0], &count) < 0)
        return NULL;
    janus_randperm_attrs attrs = {sizeof attrs, c.has_dtype ? c.dtype : JANUS_I64};
    jn_rng_state s = jpy_rng_draw(c.generator, count);
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_INT, .s.i = count},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    if (jpy_check(jn_eager(JN_OP(randperm), in, 3, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
/* _mask_like(x, p, scale, generator): scale with probability p, else 0 */
static PyObject *mask_like(PyObject *module, PyObject *args) {
    PyObject *x, *generator = Py_None;
    janus_bernoulli_mask_attrs attrs = {.struct_size = sizeof attrs};
    janus_tensor *t;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!dd|O:_mask_like", (PyObject *)jpy.tensor_type, &x, &attrs.p,
                          &attrs.scale, &generator) ||
        check_generator(generator) < 0)
        return NULL;
    janus_tensor *like = ((jpy_tensor *)x)->t;
    jn_rng_state s = jpy_rng_draw(generator == Py_None ? NULL : generator, like->numel);
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_TENSOR, .t = like},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    if (jpy_check(jn_eager(JN_OP(bernoulli_mask), in, 3, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_tensor_take(t);
}

static PyMethodDef functions[] = {
    {"rand", KW(rand_), "rand(*size): uniform in [0, 1)."},
    {"randn", KW(randn), "randn(*size): normally distributed."},
    {"rand_like", KW(rand_like), "rand_like(input)"},
    {"randn_like", KW(randn_like), "randn_like(input)"},
    {"randint", KW(randint), "randint(low=0, high, size)"},
    {"randperm", KW(randperm), "randperm(n): 0..n-1 in random order."},
    {"_mask_like", mask_like, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int jpy_init_random(PyObject *module) {
    jpy.generator_type = jpy_type_new(module, &generator_spec, NULL);
    if (!jpy.generator_type)
        return -1;
    default_generator = (generator_object *)generator_new(jpy.generator_type, NULL, NULL);
    if (!default_generator ||
        PyModule_AddObjectRef(module, "default_generator", (PyObject *)default_generator) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
