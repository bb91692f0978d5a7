/* SPDX-License-Identifier: Apache-2.0 */
/* Remembered calls, between the files that learn and run them. */
#ifndef JPY_PY_QUICK_ENTRY_H
#define JPY_PY_QUICK_ENTRY_H

#include <string.h>

#include "exec/defer/defer.h"
#include "exec/eager/eager.h"
#include "pyfront/op/quick.h"

enum { JPY_QUICK_ARGS = 8, JPY_QUICK_ATTRS = 128, JPY_QUICK_INTS = 8, JPY_QUICK_WHOLE = 255 };

typedef enum jpy_quick_source {
    JPY_FROM_TENSOR, /* the argument is the tensor */
    JPY_FROM_NUMBER, /* the argument is a number that becomes a 0-d tensor of `dtype` */
    JPY_FROM_FIXED,  /* a 0-d tensor of the same number in every call */
    JPY_FROM_FLOAT,  /* the argument is a float: a scalar */
    JPY_FROM_CELL,   /* the same scalar in every call */
    JPY_FROM_NONE
} jpy_quick_source;

typedef struct jpy_quick_operand {
    uint8_t from, arg, item, dtype,
        kind; /* item: which one of args[arg]; JPY_QUICK_WHOLE: that itself */
    uint8_t
        into; /* 1 + the dtype that a float has to fit into, which the key does not say; 0: any */
    janus_scalar s;
    uint64_t cell;
} jpy_quick_operand;

typedef struct jpy_quick_entry {
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
    jpy_quick_operand in[JN_RECIPE_IN];
    struct {
        uint8_t arg;
        uint64_t bits;
    } floats[JPY_QUICK_ARGS];
    union {
        max_align_t align;
        char attrs[JPY_QUICK_ATTRS];
    };
    int64_t ints[JPY_QUICK_INTS];
    uint64_t words[];
} jpy_quick_entry;

/* -0.0 is not 0.0, and a NaN is itself. */
static inline uint64_t jpy_float_bits(PyObject *f) {
    const double v = PyFloat_AS_DOUBLE(f);
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Whether it is a tuple or list of tensors, and something is in it. */
bool jpy_is_tensors(PyObject *o);
/* Of a Python number as an element of this dtype; false: it is none, or does not fit. */
bool jpy_number_cell(PyObject *o, janus_dtype dtype, uint64_t *cell);
/* An entry for what was bound and has run; NULL: it is not to be remembered. */
jpy_quick_entry *jpy_quick_entry_make(const jpy_quick_key *key, const jpy_bound *b, bool inplace,
                                      PyObject *const *args, Py_ssize_t n, PyObject *kwnames);

#endif
