/* Types: equality, the lattice, and their text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/type.h"

#include <string.h>

#include "graph/ir/ir.h"

typedef struct dtype_row {
    const char *name;
    size_t size;
} dtype_row;

static const dtype_row dtypes[JANUS_DTYPE_COUNT] = {
    [JANUS_F32] = {"f32", 4}, [JANUS_F64] = {"f64", 8},   [JANUS_I32] = {"i32", 4},
    [JANUS_I64] = {"i64", 8}, [JANUS_BOOL] = {"bool", 1}, [JANUS_U8] = {"u8", 1},
    [JANUS_F16] = {"f16", 2}, [JANUS_BF16] = {"bf16", 2},
};

size_t jn_dtype_size(janus_dtype d) { return dtypes[d].size; }
const char *jn_dtype_name(janus_dtype d) {
    return (unsigned)d < JANUS_DTYPE_COUNT ? dtypes[d].name : "dtype?";
}

bool jn_dtype_parse(const char *name, size_t n, janus_dtype *out) {
    for (int d = 0; d < JANUS_DTYPE_COUNT; d++) {
        if (strlen(dtypes[d].name) == n && !memcmp(dtypes[d].name, name, n)) {
            *out = (janus_dtype)d;
            return true;
        }
    }
    return false;
}

static bool has_dims(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR || t->kind == JANUS_KIND_ACC;
}

bool jn_type_equal(const jn_type *a, const jn_type *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->kind == JANUS_KIND_FRAME)
        return a->frame_of == b->frame_of;
    if (!has_dims(a))
        return true;
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

bool jn_type_static(const jn_type *t) {
    if (!has_dims(t))
        return true;
    if (t->rank < 0)
        return false;
    for (int i = 0; i < t->rank; i++) {
        if (!jn_dim_known(t->dims[i]))
            return false;
    }
    return true;
}

int64_t jn_type_numel(const jn_type *t) {
    int64_t n = 1;
    bool empty = false;
    if (!jn_type_static(t))
        return -1;
    if (!has_dims(t))
        return 1;
    for (int i = 0; i < t->rank; i++)
        empty |= t->dims[i] == 0;
    for (int i = 0; i < t->rank && !empty; i++) {
        if (__builtin_mul_overflow(n, t->dims[i], &n))
            return -1;
    }
    return empty ? 0 : n;
}

bool jn_type_join(const jn_type *a, const jn_type *b, jn_type *out, int64_t *dims) {
    if (a->kind != b->kind || (a->kind == JANUS_KIND_FRAME && a->frame_of != b->frame_of))
        return false;
    if (!has_dims(a)) {
        *out = *a;
        return true;
    }
    if (a->dtype != b->dtype)
        return false;
    bool same_rank = a->rank == b->rank && a->rank >= 0;
    for (int i = 0; same_rank && i < a->rank; i++)
        dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : JN_DIM_UNKNOWN;
    *out = *a;
    out->rank = same_rank ? a->rank : JN_RANK_UNKNOWN;
    out->dims = same_rank ? dims : NULL;
    return true;
}

/* A symbol where one is asked for takes any size: it names what comes, it does not demand. */
bool jn_type_fits(const jn_type *a, const jn_type *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind || (a->kind == JANUS_KIND_FRAME && a->frame_of != b->frame_of))
        return false;
    if (!has_dims(a))
        return true;
    if (a->dtype != b->dtype)
        return false;
    if (b->rank < 0)
        return true;
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (jn_dim_known(b->dims[i]) && a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

static void print_tensor(jn_str *s, const jn_type *t) {
    jn_str_append(s, jn_dtype_name((janus_dtype)t->dtype));
    jn_str_putc(s, '[');
    if (t->rank < 0)
        jn_str_putc(s, '*');
    for (int i = 0; i < t->rank; i++) {
        int64_t d = t->dims[i];
        if (i)
            jn_str_putc(s, ',');
        if (jn_dim_known(d))
            jn_str_printf(s, "%lld", (long long)d);
        else if (d == JN_DIM_UNKNOWN)
            jn_str_putc(s, '?');
        else
            jn_str_printf(s, "s%lld", (long long)(-2 - d));
    }
    jn_str_putc(s, ']');
}

void jn_type_print(jn_str *s, const jn_type *t) {
    switch ((janus_kind)t->kind) {
    case JANUS_KIND_NONE:
        jn_str_append(s, "none");
        return;
    case JANUS_KIND_TENSOR:
        print_tensor(s, t);
        return;
    case JANUS_KIND_INT:
        jn_str_append(s, "int");
        return;
    case JANUS_KIND_FLOAT:
        jn_str_append(s, "float");
        return;
    case JANUS_KIND_BOOL:
        jn_str_append(s, "bool");
        return;
    case JANUS_KIND_OBJECT:
        jn_str_append(s, "object");
        return;
    case JANUS_KIND_FRAME:
        jn_str_append(s, "frame<");
        jn_str_name(s, '@', t->frame_of ? t->frame_of->name : "?");
        jn_str_putc(s, '>');
        return;
    case JANUS_KIND_ACC:
        jn_str_append(s, "acc<");
        print_tensor(s, t);
        jn_str_putc(s, '>');
        return;
    }
    jn_str_append(s, "kind?");
}
