/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of graph values.
 *
 * A jn_type is a small value; `dims` points to memory of whoever made it (the module's arena for
 * types inside a module, the caller's buffer for eager inference).  Inside a module types are
 * interned: equal types have equal addresses.
 *
 *   tensor   f32[3,128]  f32[?,128]  f32[s0,s0]  f32[*] (rank unknown)
 *   scalar   int (i64, overflow asserted)  float (f64)  bool: Python's, weak in promotion
 *   object   an opaque host object
 *   frame    frame<@f>: what a call of @f keeps for its gradient
 *   acc      acc<f32[3,128]>: a sum that a recursion adds to (the transpose of a shared parameter)
 *   none     absence of a value (`_`)
 */
#ifndef JN_GRAPH_TYPE_H
#define JN_GRAPH_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/base/str.h"
#include "include/janus.h"

struct jn_subgraph;

enum {
    JN_DIM_UNKNOWN = -1, /* dims <= -2 are symbols: s0 is -2, s1 is -3, ... */
    JN_RANK_UNKNOWN = -1,
    JN_MAX_RANK = 16 /* of tensors in memory; checked with a status, never silently */
};

typedef struct jn_type {
    uint8_t kind;  /* janus_kind */
    uint8_t dtype; /* janus_dtype; tensor and acc only */
    int16_t rank;  /* tensor and acc only */
    const int64_t *dims;
    const struct jn_subgraph *frame_of; /* frame only */
} jn_type;

static inline int64_t jn_dim_symbol(int64_t i) { return -2 - i; }
static inline bool jn_dim_known(int64_t d) { return d >= 0; }

bool jn_type_equal(const jn_type *a, const jn_type *b);
/* Every dim known. */
bool jn_type_static(const jn_type *t);
/* Number of elements; -1 when unknown or too large for int64. */
int64_t jn_type_numel(const jn_type *t);
/* Least upper bound (design, section 6: constant -> dims -> unknown dims -> unknown rank).  False
 * when kinds or dtypes differ.  `dims` must hold max(a->rank, b->rank) entries. */
bool jn_type_join(const jn_type *a, const jn_type *b, jn_type *out, int64_t *dims);
/* Whether a value of type `a` may stand where `b` is asked for (b is equal or wider). */
bool jn_type_fits(const jn_type *a, const jn_type *b);
void jn_type_print(jn_str *s, const jn_type *t);

/* Element size in bytes; name ("f32"); class tests. */
size_t jn_dtype_size(janus_dtype d);
const char *jn_dtype_name(janus_dtype d);
bool jn_dtype_parse(const char *name, size_t n, janus_dtype *out);
static inline bool jn_dtype_is_float(int d) {
    return d == JANUS_F32 || d == JANUS_F64 || d == JANUS_F16 || d == JANUS_BF16;
}
static inline bool jn_dtype_is_int(int d) {
    return d == JANUS_I32 || d == JANUS_I64 || d == JANUS_U8;
}

static inline jn_type jn_tensor_type(janus_dtype dtype, int rank, const int64_t *dims) {
    return (jn_type){JANUS_KIND_TENSOR, (uint8_t)dtype, (int16_t)rank, dims, 0};
}
static inline jn_type jn_scalar_type(janus_kind kind) {
    return (jn_type){(uint8_t)kind, 0, 0, 0, 0};
}

#endif
