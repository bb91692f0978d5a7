/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes: named, compile-time constants of a node, kept in the op's own C struct.
 *
 * Everything (defaults, parse, print, compare, hash, copy) is generic over the op's attr specs:
 * type and offset.  A struct begins with `size_t struct_size` so that callers compiled against an
 * older header keep working; NULL stands for "all defaults".
 */
#ifndef JN_GRAPH_ATTR_H
#define JN_GRAPH_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/base/arena.h"
#include "graph/base/status.h"
#include "graph/base/str.h"

typedef enum jn_attr_kind {
    JN_ATTR_INT,   /* int64_t */
    JN_ATTR_FLOAT, /* double */
    JN_ATTR_BOOL,  /* int64_t, 0 or 1 */
    JN_ATTR_DTYPE, /* int64_t, janus_dtype; -1: not given ("none") */
    JN_ATTR_INTS,  /* janus_ints */
    JN_ATTR_STR,   /* const char *, NUL-terminated; NULL: not given */
    JN_ATTR_DATA   /* janus_data: a small constant tensor's bytes (dtype, dims, data) */
} jn_attr_kind;

enum { JN_MAX_INTS = 16 }; /* entries of a list: one per dim, at most */

typedef struct jn_attr_spec {
    const char *name; /* NULL ends the list */
    jn_attr_kind kind;
    size_t offset;
    const char *dflt; /* default in text form; NULL: required */
    int64_t lo, hi;   /* INT, and each number of INTS: the range it is in */
} jn_attr_spec;

struct jn_op;

/* Fills `attrs` (op->attr_size bytes) with the defaults. */
janus_status jn_attrs_default(const struct jn_op *op, void *attrs);
/* The same, borrowed for the life of the process; NULL for ops without attributes. */
janus_status jn_attrs_defaults(const struct jn_op *op, const void **out);
/* NULL: the op has no attribute of that name. */
const jn_attr_spec *jn_attr_find(const struct jn_op *op, const char *name, size_t n);
/* Deep copy into the arena; NULL `attrs` gives the defaults. Ops without attributes give NULL. */
janus_status jn_attrs_copy(const struct jn_op *op, const void *attrs, jn_arena *arena,
                           const void **out);
/* Whether all numbers are in the ranges of the op's row, and lists not too long: JANUS_INDEX for an
 * axis, else JANUS_INVALID_ARGUMENT.  `attrs` is complete. */
janus_status jn_attrs_check(const struct jn_op *op, const void *attrs);
bool jn_attrs_equal(const struct jn_op *op, const void *a, const void *b);
uint64_t jn_attrs_hash(const struct jn_op *op, const void *attrs);
/* Prints "{name=value, ...}" without defaults; nothing at all when all are defaults. */
void jn_attrs_print(const struct jn_op *op, const void *attrs, jn_str *s);
/* Parses one value text (not the braces) into the attribute's place in `attrs`. */
janus_status jn_attr_parse(const jn_attr_spec *spec, const char *text, size_t n, jn_arena *arena,
                           void *attrs);

#endif
