/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reference kernels share: loads and stores of any dtype, and a walk over shapes.
 *
 * Reference kernels are plain loops over arbitrary strides.  Floats are computed in double and
 * rounded once, integers in int64 (wrapping).  They are the oracle of the fast kernels and their
 * stand-in where none was written.
 */
#ifndef JN_OPS_REF_REF_H
#define JN_OPS_REF_REF_H

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rules.h"

float jn_half_to_float(uint16_t h);
uint16_t jn_float_to_half(double f); /* nearest, ties to even */
uint16_t jn_float_to_bfloat(double f);

static inline float jn_bfloat_to_float(uint16_t h) {
    union {
        uint32_t u;
        float f;
    } v = {(uint32_t)h << 16};
    return v.f;
}

/* Float to integer: truncation; what does not fit becomes the smallest value. */
static inline int64_t jn_f_to_i(double f) {
    return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
}

static inline bool jn_is_float(const jn_view *v) { return jn_dtype_is_float(v->dtype); }

/* Element at offset `o`, as a double or as an int64. */
double jn_load_f(const jn_view *v, int64_t o);
int64_t jn_load_i(const jn_view *v, int64_t o);
void jn_store_f(const jn_view *v, int64_t o, double f);
void jn_store_i(const jn_view *v, int64_t o, int64_t i);
/* Copies an element of the same or another dtype, exactly where possible. */
void jn_copy_element(const jn_view *dst, int64_t to, const jn_view *src, int64_t from);
/* dst[to] += src[from] */
void jn_add_element(const jn_view *dst, int64_t to, const jn_view *src, int64_t from);

/* Offset of index `idx` (rank entries). */
static inline int64_t jn_offset(const jn_view *v, const int64_t *idx) {
    int64_t o = 0;
    for (int i = 0; i < v->rank; i++)
        o += idx[i] * v->strides[i];
    return o;
}

/* A walk in row-major order over dims, with the offsets of up to JN_WALK_MAX views. */
enum { JN_WALK_MAX = 6 };
typedef struct jn_walk {
    int rank, n;
    int64_t left; /* elements still to come, the current one included */
    int64_t dims[JN_MAX_RANK], idx[JN_MAX_RANK];
    int64_t strides[JN_WALK_MAX][JN_MAX_RANK], off[JN_WALK_MAX];
} jn_walk;

void jn_walk_init(jn_walk *w, int rank, const int64_t *dims);
/* Adds a view that broadcasts to the walk's dims; returns its slot. */
int jn_walk_add(jn_walk *w, const jn_view *v);
int jn_walk_add_strides(jn_walk *w, const int64_t *strides, int64_t offset);
void jn_walk_next(jn_walk *w);
#define JN_WALK(w) for (; (w)->left > 0; jn_walk_next(w))

/* axis in [-rank, rank) -> [0, rank); a 0-d view has one axis of size 1. */
static inline int jn_axis(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

/* The lines of `v` along an axis: walk over the other dims; size and stride along the axis. */
void jn_walk_lines(jn_walk *w, const jn_view *v, int axis);
static inline int64_t jn_line_size(const jn_view *v, int axis) {
    return v->rank == 0 ? 1 : v->dims[axis];
}
static inline int64_t jn_line_stride(const jn_view *v, int axis) {
    return v->rank == 0 ? 0 : v->strides[axis];
}
/* Adds another view of the same dims but for the axis. */
int jn_walk_add_line(jn_walk *w, const jn_view *v, int axis);

/* Wraps a negative index; false and JN_KFLAG_INDEX when out of range. */
static inline bool jn_check_index(const jn_kargs *k, int64_t *i, int64_t size) {
    if (*i < -size || *i >= size) {
        *k->flags |= JN_KFLAG_INDEX;
        return false;
    }
    if (*i < 0)
        *i += size;
    return true;
}
/* The same for ops whose indices count from the start only. */
static inline bool jn_check_index_from_start(const jn_kargs *k, int64_t *i, int64_t size) {
    if (*i < 0 && !k->from_end)
        *i = size;
    return jn_check_index(k, i, size);
}

/* Calls fn for each row of what batch rules make: the operands of `rowed` (a bit each) and all
 * results have a dim of rows in front, which the views fn sees lack. */
void jn_each_row(const jn_kargs *k, const void *attrs, unsigned rowed, jn_kernel_fn fn);

void jn_zero(const jn_view *v);
static inline int64_t jn_scalar_i(const jn_view *v) { return jn_load_i(v, 0); }
static inline double jn_scalar_f(const jn_view *v) { return jn_load_f(v, 0); }
static inline bool jn_present(const jn_kargs *k, unsigned i) {
    return i < k->n_in && k->in[i].rank >= 0;
}

#endif
