/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding of Python calls to ops.
 *
 * Everything callable that is one op (janus.add, Tensor.sum, x.view(2, 3)) is a janus.Op: a list of
 * parameters and a binder that turns arguments into a row of the op table, its operands and its
 * attributes.  Binding looks only at types of tensors, never at data, so the converter can use it
 * with stand-ins for tensors; running what was bound is jpy_bound_run().
 */
#ifndef JPY_BOUND_H
#define JPY_BOUND_H

#include "pyfront/tensor/tensor.h"

enum { JPY_MAX_PARAMS = 16, JPY_BOUND_FEW = 8, JPY_ATTR_BYTES = 256, JPY_BOUND_INTS = 64 };

/* One operand: an argument object (borrowed; a tensor, a stand-in or a Python number), or, with o
 * NULL, a scalar the binder computed; kind NONE: absent. */
typedef struct jpy_operand {
    PyObject *o;
    uint8_t kind;
    bool fixed; /* o is a number that no argument has to do with */
    janus_scalar s;
} jpy_operand;

typedef struct jpy_bound {
    const jn_op *op;
    unsigned n_in;
    jpy_operand *in; /* few, or a block of its own */
    jpy_operand few[JPY_BOUND_FEW];
    jpy_result result;
    bool is_identity; /* nothing to run: the result is operand 0 itself */
    bool by_value;    /* another number would be another op: the call is not learned (quick.c) */
    int cast_first;   /* a dtype operand 0 is cast to before, or -1 */
    PyObject *keep;   /* owned: sequence the operands are borrowed from, or NULL */
    union {
        size_t struct_size;
        max_align_t align;
        char attrs[JPY_ATTR_BYTES];
    };
    int64_t ints[JPY_BOUND_INTS]; /* what INTS attributes point to */
    unsigned n_ints;
    /* Type of an argument that stands for a tensor; false: it is none.  NULL: janus.Tensor only. */
    bool (*type_of)(void *ctx, PyObject *o, jn_type *out);
    void *ctx;
} jpy_bound;

typedef struct jpy_param {
    PyObject *name;     /* interned */
    PyObject *alias[2]; /* interned other names, or NULL */
    bool optional;
} jpy_param;

/* a[i]: argument of parameter i, NULL when left out; *args parameters arrive as a tuple. */
typedef int (*jpy_bind_fn)(jpy_bound *b, PyObject *const *a);

typedef struct jpy_op {
    PyObject_HEAD vectorcallfunc vectorcall;
    const char *name, *doc;
    const jn_op *row; /* the row it always binds to, or NULL */
    jpy_bind_fn bind; /* NULL: operands and attributes in the row's order */
    jpy_param *params;
    uint8_t n_params, n_positional, n_required;
    int8_t varargs;  /* parameter that collects positional arguments, or -1 */
    bool inplace;    /* writes into its first argument and returns it */
    bool fast_unary; /* a row of one operand without attributes, the result like it */
    char *signature;
} jpy_op;

static inline bool jpy_op_check(PyObject *o) { return Py_TYPE(o) == jpy.op_type; }

/* Binds a call; `b` must have type_of and ctx set (or zero).  0, or -1: raised.  jpy_bound_clear()
 * after use in either case. */
int jpy_op_bind(jpy_op *f, PyObject *const *args, size_t nargsf, PyObject *kwnames, jpy_bound *b);
void jpy_bound_clear(jpy_bound *b);

/* What each operand must become before the op may run, by PyTorch's rules: a dtype to cast to (or
 * to make a number a tensor of), or -1: leave it.  `numbers[i]`: kind of a number, NONE for
 * tensors; types of tensors.  `dst`: dtype of an in-place target or -1.  -1: raised. */
int jpy_promote(const jn_op *op, unsigned n_in, const jn_type *types, const janus_kind *numbers,
                int *cast);
/* Declaration of operand i; the last one stands for all further ones. */
const jn_operand *jpy_operand_at(const jn_op *op, unsigned i);
/* Whether a result of dtype `from` may be written into a tensor of dtype `to`. */
bool jpy_can_store(janus_dtype from, janus_dtype to);

/* Runs it on janus.Tensor arguments; dst non-NULL: in place. */
PyObject *jpy_bound_run(jpy_bound *b, jpy_tensor *dst);

/* Binary operator of a number slot: NotImplemented for foreign operands. */
PyObject *jpy_binary(const jn_op *op, PyObject *a, PyObject *b);
PyObject *jpy_binary_inplace(const jn_op *op, PyObject *a, PyObject *b);
PyObject *jpy_unary(const jn_op *op, PyObject *a);
/* The same of an exact kind of row: see jpy_op.fast_unary; `a` is a tensor. */
PyObject *jpy_unary_fast(jn_thread *me, const jn_op *op, PyObject *a);

/* For binders: chooses the row, attributes at their defaults; operands from `first` on from a
 * sequence of tensors. */
int jpy_bound_op(jpy_bound *b, const jn_op *op);
int jpy_bound_list(jpy_bound *b, unsigned first, PyObject *list);

/* Arguments as C values: 1 or 0 given or not, -1 raised. */
int jpy_int_arg(PyObject *o, int64_t *out);
/* One that must be given: 0, or -1 raised, also for None. */
int jpy_int_needed(PyObject *o, int64_t *out);
/* A sequence of ints or one int, appended to b->ints; the result points there. */
int jpy_ints_arg(jpy_bound *b, PyObject *o, janus_ints *out);

/* IndexError where an op that does not count from the end has a negative index; its dtype and rank
 * are the op's to check.  `in`: its operands, in host memory or not. */
int jpy_index_check(const jn_op *op, janus_tensor *index);

/* The table of spellings that differ from their rows (py_spell*.c). */
typedef struct jpy_spelling {
    const char *name;   /* "sum" */
    const char *params; /* "input, dim=, keepdim=, *, dtype=" */
    jpy_bind_fn bind;
    uint8_t where; /* 1: function, 2: method, 4: also NAME_ in place */
    const char *doc;
} jpy_spelling;
extern const jpy_spelling jpy_spellings[];

PyObject *jpy_index_get(PyObject *self, PyObject *key);
int jpy_index_set(PyObject *self, PyObject *key, PyObject *value);

#endif
