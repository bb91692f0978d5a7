/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attribute structs of all ops, made from their rows: janus_conv2d_attrs has a member per ATTR
 * field after `struct_size`.  include/janus_ops.h has the same structs spelled out for C users.
 */
#ifndef JN_OPS_ATTRS_H
#define JN_OPS_ATTRS_H

#include "include/janus.h"

#define JN_ATTR_T_INT int64_t
#define JN_ATTR_T_BOOL int64_t
#define JN_ATTR_T_DTYPE int64_t
#define JN_ATTR_T_FLOAT double
#define JN_ATTR_T_INTS janus_ints
#define JN_ATTR_T_STR const char *
#define JN_ATTR_T_DATA janus_data

#define ATTR(kind, name, ...) JN_ATTR_T_##kind name;
#define OP_NAMED(id, name, ...)                                                                    \
    typedef struct janus_##id##_attrs {                                                            \
        size_t struct_size;                                                                        \
        __VA_ARGS__                                                                                \
    } janus_##id##_attrs;
#include "ops/ops.def"

#endif
