/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inference rules share: making result types, arithmetic on dims that may be unknown or
 * symbols, and messages that name op and operand.
 *
 * Dims: >= 0 known, -1 unknown, <= -2 symbols (equal symbols are equal sizes).  Every function
 * gives the most that is known and fails only when no sizes could fit.
 */
#ifndef JN_OPS_INFER_UTIL_H
#define JN_OPS_INFER_UTIL_H

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rules.h"

/* Fails with "op: message". */
__attribute__((format(printf, 3, 4))) janus_status jn_infer_fail(jn_infer *c, janus_status code,
                                                                 const char *fmt, ...);
/* "op: operand 'name': expected <expected>, got <type>". */
janus_status jn_infer_expected(jn_infer *c, janus_status code, unsigned operand,
                               const char *expected);

/* Result i becomes a tensor; returns its dims to fill, NULL when out of memory or of too many dims
 * (the record is set). */
int64_t *jn_infer_tensor(jn_infer *c, unsigned i, int dtype, int rank);
/* Result i is a tensor of unknown rank. */
janus_status jn_infer_unknown(jn_infer *c, unsigned i, int dtype);
/* Result i has the dims of `like`. */
janus_status jn_infer_like(jn_infer *c, unsigned i, int dtype, const jn_type *like);
janus_status jn_infer_dims(jn_infer *c, unsigned i, int dtype, int rank, const int64_t *dims);
janus_status jn_infer_scalar(jn_infer *c, unsigned i, janus_kind kind);
/* Result i has the broadcast dims of n types (NULL entries are skipped). */
janus_status jn_infer_broadcast(jn_infer *c, unsigned i, int dtype, const jn_type *const *types,
                                unsigned n);

/* axis in [-rank, rank) -> [0, rank). */
janus_status jn_infer_axis(jn_infer *c, int64_t axis, int rank, int *out);
/* Which dims a `dims` attribute names; empty: all. */
janus_status jn_infer_dim_set(jn_infer *c, janus_ints dims, int rank, bool *set);
/* Operand has that rank, or its rank is unknown. */
janus_status jn_infer_want_rank(jn_infer *c, unsigned operand, int rank, const char *expected);

/* Whether a tensor of type t may have these dims; unknown ranks (`rank` -1) and dims may be any. */
bool jn_dims_agree(const jn_type *t, int rank, const int64_t *dims);
/* Fails unless the operand may have these dims, or those of `like`. */
janus_status jn_infer_want_dims(jn_infer *c, unsigned operand, int rank, const int64_t *dims,
                                const char *expected);
janus_status jn_infer_want_like(jn_infer *c, unsigned operand, const jn_type *like,
                                const char *expected);

/* One size for both, false when they cannot be equal. */
bool jn_dim_merge(int64_t a, int64_t b, int64_t *out);
bool jn_dim_broadcast(int64_t a, int64_t b, int64_t *out);
/* Sums and products; unknown where a term is. */
int64_t jn_dim_add(int64_t a, int64_t b);
int64_t jn_dim_mul(int64_t a, int64_t b);
/* Value of a constant int operand. */
static inline bool jn_infer_const(const jn_infer *c, unsigned i, int64_t *out) {
    if (!c->cv || i >= c->n_in || !c->cv[i])
        return false;
    *out = *c->cv[i];
    return true;
}
static inline bool jn_infer_has(const jn_infer *c, unsigned i) { return i < c->n_in && c->in[i]; }

#endif
