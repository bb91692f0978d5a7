/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Autocast: see autocast.h.  The lists are PyTorch's, of the ops that are rows here; losses and
 * others that are made of several ops ask by way of `_autocast` (a spelling of cast).
 */
#include "config.h"

#include "pyfront/op/autocast.h"

#include <string.h>

#include "exec/eager/eager.h"
#include "ops/op_ids.h"
#include "pyfront/op/spell.h"
#include "pyfront/tape/tape.h"

_Thread_local bool jpy_autocast_asked;

enum { UNCACHED = 1 << 16 };

/* ---- which op is computed in what ---------------------------------------------------------------
 */

typedef enum policy {
    AS_GIVEN,
    LOWER,    /* in the context's dtype */
    WIDE,     /* in f32 */
    WIDE_CUDA /* in f32 on cuda, as given on the CPU */
} policy;

static const uint8_t policies[JN_OP_ID_COUNT] = {
    [JN_OP_ID_matmul] = LOWER,         [JN_OP_ID_linear] = LOWER,
    [JN_OP_ID_conv2d] = LOWER,         [JN_OP_ID_outer] = LOWER,
    [JN_OP_ID_attention] = LOWER,      [JN_OP_ID_prod] = WIDE,
    [JN_OP_ID_mse_loss] = WIDE,        [JN_OP_ID_smooth_l1] = WIDE,
    [JN_OP_ID_nll_loss] = WIDE,        [JN_OP_ID_cross_entropy] = WIDE,
    [JN_OP_ID_bce_with_logits] = WIDE, [JN_OP_ID_exp] = WIDE_CUDA,
    [JN_OP_ID_expm1] = WIDE_CUDA,      [JN_OP_ID_log] = WIDE_CUDA,
    [JN_OP_ID_log1p] = WIDE_CUDA,      [JN_OP_ID_reciprocal] = WIDE_CUDA,
    [JN_OP_ID_rsqrt] = WIDE_CUDA,      [JN_OP_ID_pow] = WIDE_CUDA,
    [JN_OP_ID_softplus] = WIDE_CUDA,   [JN_OP_ID_layer_norm] = WIDE_CUDA,
    [JN_OP_ID_norm] = WIDE_CUDA,       [JN_OP_ID_logsumexp] = WIDE_CUDA,
    [JN_OP_ID_softmax] = WIDE_CUDA,    [JN_OP_ID_log_softmax] = WIDE_CUDA,
    [JN_OP_ID_cumsum] = WIDE_CUDA,     [JN_OP_ID_sum] = WIDE_CUDA,
};

bool jpy_autocast_affects(const jn_op *op) {
    return jpy_autocast_word && policies[op->id] != AS_GIVEN;
}

static int dtype_of(policy p, bool cuda, int from) {
    if (!jpy_autocast_word)
        return -1;
    jpy_autocast_asked = true;
    cuda = cuda || (jn_eager_hook && jpy_graph_on.device);
    int on = (int)(jpy_autocast_word >> (cuda ? 8 : 0) & 255);
    if (!on || p == AS_GIVEN || (p == WIDE_CUDA && !cuda) || !jn_dtype_is_float(from) ||
        from == JANUS_F64)
        return -1;
    int to = p == LOWER ? on - 1 : JANUS_F32;
    return to == from ? -1 : to;
}

int jpy_autocast_dtype(const jn_op *op, bool cuda, const jn_type *type) {
    if (type->kind != JANUS_KIND_TENSOR)
        return -1;
    return dtype_of((policy)policies[op->id], cuda, type->dtype);
}

/* _autocast(input, lower): the cast that the context wants of an op's operand. */
int jpy_bind_autocast(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0)
        return -1;
    bool cuda = jpy_tensor_check(a[0]) && ((jpy_tensor *)a[0])->t->storage->device;
    int to = dtype_of(PyObject_IsTrue(a[1]) > 0 ? LOWER : WIDE, cuda, t.dtype);
    return jpy_cast_to(b, a, (janus_dtype)(to < 0 ? t.dtype : to));
}

/* ---- weights ------------------------------------------------------------------------------------
 * Kept are the numbers, not the place on the tape: every use records a cast of its own, so that
 * gradients of several uses are added in f32, and a graph, which casts anew, has the same bits.
 */

typedef struct kept {
    PyObject *weight; /* owned */
    uint32_t version;
    janus_tensor *t;
} kept;

enum { MOST_KEPT = 4096 };
static _Thread_local kept *cache;
static _Thread_local unsigned n_cache, room, depth;

static void clear_cache(void) {
    while (n_cache) {
        kept *k = &cache[--n_cache];
        janus_tensor_release(k->t);
        Py_DECREF(k->weight);
    }
    PyMem_Free(cache);
    cache = NULL;
    room = 0;
}

janus_tensor *jpy_autocast_weight(PyObject *o, janus_dtype dtype) {
    jpy_tensor *w = (jpy_tensor *)o;
    if ((jpy_autocast_word & UNCACHED) || jn_eager_hook || !depth || !w->requires_grad || w->node ||
        w->base || w->t->dtype != JANUS_F32)
        return NULL;
    uint32_t version = w->t->storage->version;
    for (unsigned i = 0; i < n_cache; i++) {
        kept *k = &cache[i];
        if (k->weight != o || k->t->dtype != dtype)
            continue;
        if (k->version != version || k->t->numel != w->t->numel) {
            janus_tensor *t;
            if (jn_tensor_cast(w->t, dtype, &t) != JANUS_OK)
                return NULL;
            janus_tensor_release(k->t);
            k->t = t;
            k->version = version;
        }
        janus_tensor_retain(k->t);
        return k->t;
    }
    if (n_cache == MOST_KEPT)
        return NULL;
    if (n_cache == room) {
        unsigned more = room ? 2 * room : 16;
        kept *c = PyMem_Realloc(cache, more * sizeof *c);
        if (!c)
            return NULL;
        cache = c;
        room = more;
    }
    janus_tensor *t;
    if (jn_tensor_cast(w->t, dtype, &t) != JANUS_OK)
        return NULL;
    cache[n_cache++] = (kept){Py_NewRef(o), version, t};
    janus_tensor_retain(t);
    return t;
}

/* ---- contexts -----------------------------------------------------------------------------------
 */

typedef struct context {
    PyObject_HEAD uint32_t keep, set; /* the word inside: (word & keep) | set */
    uint32_t was;
    int cuda;
    janus_dtype dtype;
    bool enabled;
} context;

static PyTypeObject *context_type;

/* 0 CPU, 1 CUDA. */
static int device_of(const char *name) {
    if (strcmp(name, "cpu") == 0)
        return 0;
    if (strncmp(name, "cuda", 4) == 0 && (!name[4] || name[4] == ':'))
        return 1;
    PyErr_Format(PyExc_RuntimeError, "autocast: device type '%s' is neither 'cpu' nor 'cuda'",
                 name);
    return -1;
}

static janus_dtype default_dtype(int cuda) { return cuda ? JANUS_F16 : JANUS_BF16; }

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"device_type", "dtype", "enabled", "cache_enabled", NULL};
    const char *device;
    PyObject *dtype = NULL, *cached = NULL;
    int enabled = 1;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|OpO:autocast", names, &device, &dtype,
                                     &enabled, &cached))
        return NULL;
    int cuda = device_of(device);
    janus_dtype d = default_dtype(cuda > 0);
    if (cuda < 0 || jpy_dtype_parse(dtype, &d) < 0)
        return NULL;
    if (enabled && d != JANUS_F16 && d != JANUS_BF16) {
        if (PyErr_WarnFormat(PyExc_UserWarning, 1,
                             "In %s autocast, but the target dtype is not supported. Disabling "
                             "autocast. Supported dtypes are float16 and bfloat16.",
                             cuda ? "CUDA" : "CPU") < 0)
            return NULL;
        enabled = 0;
    }
    int keeps = cached && cached != Py_None ? PyObject_IsTrue(cached) : 1;
    if (keeps < 0)
        return NULL;
    context *c = PyObject_New(context, context_type);
    if (!c)
        return NULL;
    unsigned shift = cuda ? 8 : 0;
    c->keep = ~((uint32_t)255 << shift) & ~(uint32_t)UNCACHED;
    c->set = (enabled ? (uint32_t)(d + 1) << shift : 0) | (keeps ? 0 : UNCACHED);
    c->was = 0;
    c->cuda = cuda;
    c->dtype = d;
    c->enabled = enabled;
    return (PyObject *)c;
}

static uint32_t word_inside(const context *c) {
    uint32_t word = (jpy_autocast_word & c->keep) | c->set;
    return word & 0xffff ? word : 0;
}

bool jpy_autocast_object(PyObject *o, uint32_t *word) {
    if (!context_type || Py_TYPE(o) != context_type)
        return false;
    *word = word_inside((context *)o);
    return true;
}

static PyObject *context_enter(PyObject *self, PyObject *unused) {
    context *c = (context *)self;
    (void)unused;
    c->was = jpy_autocast_word;
    jpy_autocast_word = word_inside(c);
    depth++;
    return Py_NewRef(self);
}

static PyObject *context_exit(PyObject *self, PyObject *args) {
    (void)args;
    jpy_autocast_word = ((context *)self)->was;
    if (depth && --depth == 0)
        clear_cache();
    Py_RETURN_FALSE;
}

static PyObject *context_decorate(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyObject *f;
    if (!PyArg_ParseTuple(args, "O", &f))
        return NULL;
    PyObject *module = PyImport_ImportModule("janus.amp");
    PyObject *wrapped = module ? PyObject_CallMethod(module, "_decorated", "OO", f, self) : NULL;
    Py_XDECREF(module);
    return wrapped;
}

static PyObject *context_device(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((context *)self)->cuda ? "cuda" : "cpu");
}
static PyObject *context_dtype(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(jpy_dtype_object(((context *)self)->dtype));
}
static PyObject *context_enabled(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((context *)self)->enabled);
}

static PyGetSetDef context_getset[] = {
    {"device", context_device, NULL, "the device type", NULL},
    {"fast_dtype", context_dtype, NULL, "what products are computed in", NULL},
    {"_enabled", context_enabled, NULL, "whether it changes anything", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef context_methods[] = {
    {"__enter__", context_enter, METH_NOARGS, NULL},
    {"__exit__", context_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot context_slots[] = {
    {Py_tp_new, context_new},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {Py_tp_call, context_decorate},
    {Py_tp_doc, "autocast(device_type, dtype=None, enabled=True, cache_enabled=True): products and "
                "convolutions inside are computed in dtype, losses and sums in float32."},
    {0, NULL},
};
static PyType_Spec context_spec = {"janus.autocast", sizeof(context), 0, Py_TPFLAGS_DEFAULT,
                                   context_slots};

/* ---- questions ----------------------------------------------------------------------------------
 */

static int device_argument(PyObject *args, const char *format) {
    const char *device = "cuda";
    return PyArg_ParseTuple(args, format, &device) ? device_of(device) : -1;
}

static PyObject *is_enabled(PyObject *module, PyObject *args) {
    (void)module;
    int cuda = device_argument(args, "|s:is_autocast_enabled");
    return cuda < 0 ? NULL : PyBool_FromLong(jpy_autocast_word >> (cuda ? 8 : 0) & 255);
}

static PyObject *get_dtype(PyObject *module, PyObject *args) {
    (void)module;
    int cuda = device_argument(args, "s:get_autocast_dtype");
    if (cuda < 0)
        return NULL;
    int on = (int)(jpy_autocast_word >> (cuda ? 8 : 0) & 255);
    return Py_NewRef(jpy_dtype_object(on ? (janus_dtype)(on - 1) : default_dtype(cuda)));
}

static PyObject *is_cache_enabled(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyBool_FromLong(!(jpy_autocast_word & UNCACHED));
}

static PyObject *clear(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    clear_cache();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"is_autocast_enabled", is_enabled, METH_VARARGS,
     "is_autocast_enabled(device_type=\"cuda\"): whether ops are autocast there."},
    {"get_autocast_dtype", get_dtype, METH_VARARGS,
     "get_autocast_dtype(device_type): what products are computed in where autocast is on."},
    {"is_autocast_cache_enabled", is_cache_enabled, METH_NOARGS,
     "Whether casts of weights are kept until the outermost autocast ends."},
    {"clear_autocast_cache", clear, METH_NOARGS, "Drops the casts of weights that were kept."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_autocast(PyObject *module) {
    context_type = jpy.autocast_type = jpy_type_new(module, &context_spec, NULL);
    return context_type ? PyModule_AddFunctions(module, functions) : -1;
}
