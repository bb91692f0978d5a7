/* Constant tensors as attributes: everything about their bytes and their text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/data_text.h"

#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/ir/type.h"

static bool numel_of(const janus_data *d, int64_t *out) {
    if ((unsigned)d->dtype >= JANUS_DTYPE_COUNT || d->rank < 0 || d->rank > JN_MAX_RANK ||
        (d->rank && !d->dims))
        return false;
    jn_type t = jn_tensor_type(d->dtype, d->rank, d->dims);
    *out = jn_type_numel(&t);
    size_t bytes;
    return *out >= 0 && jn_mul_size((size_t)*out, jn_dtype_size(d->dtype), &bytes);
}

size_t jn_data_bytes(const janus_data *d) {
    int64_t n;
    return numel_of(d, &n) ? (size_t)n * jn_dtype_size(d->dtype) : 0;
}

bool jn_data_equal(const janus_data *a, const janus_data *b) {
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    size_t n = jn_data_bytes(a);
    return !n || !memcmp(a->bytes, b->bytes, n);
}

janus_status jn_data_check(const janus_data *d) {
    int64_t n;
    if (!numel_of(d, &n) || (n && !d->bytes))
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "constant tensor: dtype, dims or bytes are not valid");
    return JANUS_OK;
}

janus_status jn_data_copy(const janus_data *from, jn_arena *arena, janus_data *out) {
    janus_data d = *from;
    JN_TRY(jn_data_check(&d));
    if (d.rank && !(d.dims = jn_arena_dup(arena, d.dims, (size_t)d.rank * sizeof(int64_t))))
        return JN_NO_MEMORY();
    if (!(d.bytes = jn_arena_dup(arena, d.bytes, jn_data_bytes(&d))))
        return JN_NO_MEMORY();
    *out = d;
    return JANUS_OK;
}

/* ---- elements ---------------------------------------------------------------------------------
 */

/* The element as an unsigned number of its size. */
static uint64_t bits_at(const char *p, size_t size) {
    uint64_t u64 = 0;
    uint32_t u32;
    uint16_t u16;
    if (size == 8)
        memcpy(&u64, p, 8);
    else if (size == 4)
        memcpy(&u32, p, 4), u64 = u32;
    else if (size == 2)
        memcpy(&u16, p, 2), u64 = u16;
    else
        u64 = (unsigned char)*p;
    return u64;
}

static void set_bits(char *p, size_t size, uint64_t bits) {
    uint32_t u32 = (uint32_t)bits;
    uint16_t u16 = (uint16_t)bits;
    if (size == 8)
        memcpy(p, &bits, 8);
    else if (size == 4)
        memcpy(p, &u32, 4);
    else if (size == 2)
        memcpy(p, &u16, 2);
    else
        *p = (char)bits;
}

static void print_element(janus_dtype dtype, const char *p, jn_str *s) {
    size_t size = jn_dtype_size(dtype);
    uint64_t bits = bits_at(p, size);
    float f;
    double d;
    switch (dtype) {
    case JANUS_F32:
        memcpy(&f, p, sizeof f);
        if (isnan(f))
            break;
        jn_str_float(s, f);
        return;
    case JANUS_F64:
        memcpy(&d, p, sizeof d);
        if (isnan(d))
            break;
        jn_str_double(s, d);
        return;
    case JANUS_I32:
        jn_str_printf(s, "%lld", (long long)(int32_t)bits);
        return;
    case JANUS_I64:
        jn_str_printf(s, "%lld", (long long)(int64_t)bits);
        return;
    case JANUS_BOOL:
    case JANUS_U8:
        jn_str_printf(s, "%llu", (unsigned long long)bits);
        return;
    case JANUS_F16:
    case JANUS_BF16:
        break;
    }
    jn_str_printf(s, "0x%llx", (unsigned long long)bits);
}

static bool parse_hex(const char *text, size_t n, uint64_t *out) {
    uint64_t v = 0;
    if (n < 3 || n > 18 || text[0] != '0' || text[1] != 'x')
        return false;
    for (size_t i = 2; i < n; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

static bool parse_element(janus_dtype dtype, const char *text, size_t n, char *p) {
    size_t size = jn_dtype_size(dtype);
    uint64_t bits;
    int64_t i;
    double d;
    if (parse_hex(text, n, &bits)) {
        set_bits(p, size, bits);
        return size == 8 || bits >> (8 * size) == 0;
    }
    switch (dtype) {
    case JANUS_F32:
        if (!jn_parse_double(text, n, &d))
            return false;
        memcpy(p, &(float){(float)d}, sizeof(float));
        return true;
    case JANUS_F64:
        if (!jn_parse_double(text, n, &d))
            return false;
        memcpy(p, &d, sizeof d);
        return true;
    case JANUS_I32:
        if (!jn_parse_int64(text, n, &i) || i < INT32_MIN || i > INT32_MAX)
            return false;
        break;
    case JANUS_I64:
        if (!jn_parse_int64(text, n, &i))
            return false;
        break;
    case JANUS_BOOL:
    case JANUS_U8:
        if (!jn_parse_int64(text, n, &i) || i < 0 || i > (dtype == JANUS_U8 ? 255 : 1))
            return false;
        break;
    default:
        return false;
    }
    set_bits(p, size, (uint64_t)i);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

void jn_data_print(const janus_data *d, jn_str *s) {
    int64_t n;
    if (!numel_of(d, &n)) {
        jn_str_append(s, "none");
        return;
    }
    jn_type t = jn_tensor_type(d->dtype, d->rank, d->dims);
    jn_type_print(s, &t);
    jn_str_putc(s, '(');
    for (int64_t i = 0; i < n; i++) {
        if (i)
            jn_str_putc(s, ',');
        print_element(d->dtype, (const char *)d->bytes + (size_t)i * jn_dtype_size(d->dtype), s);
    }
    jn_str_putc(s, ')');
}

/* The end of the item that starts at `at`: the next comma or `close`. */
static size_t item_end(const char *text, size_t n, size_t at, char close) {
    while (at < n && text[at] != ',' && text[at] != close)
        at++;
    return at;
}

static bool parse_head(const char *text, size_t n, int64_t *dims, janus_data *out, size_t *at) {
    const char *open = memchr(text, '[', n);
    if (!open || !jn_dtype_parse(text, (size_t)(open - text), &out->dtype))
        return false;
    *at = (size_t)(open - text) + 1;
    out->rank = 0;
    if (*at < n && text[*at] == ']') {
        ++*at;
        return true;
    }
    for (;;) {
        size_t end = item_end(text, n, *at, ']');
        if (end == n || out->rank == JN_MAX_RANK ||
            !jn_parse_int64(text + *at, end - *at, &dims[out->rank]) || dims[out->rank] < 0)
            return false;
        out->rank++;
        *at = end + 1;
        if (text[end] == ']')
            return true;
    }
}

janus_status jn_data_parse(const char *text, size_t n, jn_arena *arena, janus_data *out, bool *ok) {
    int64_t dims[JN_MAX_RANK], count;
    janus_data d = {.dims = dims};
    size_t at;
    *ok = false;
    if (!parse_head(text, n, dims, &d, &at) || !numel_of(&d, &count) || at >= n || text[at] != '(')
        return JANUS_OK;
    /* An element takes two characters at least: a size that the text cannot hold is refused here,
     * before memory is asked for. */
    if (count > (int64_t)(n / 2))
        return JANUS_OK;
    size_t size = jn_dtype_size(d.dtype);
    char *bytes = jn_arena_zalloc(arena, (size_t)count * size);
    int64_t *own = jn_arena_dup(arena, dims, (size_t)d.rank * sizeof *dims);
    if (!bytes || !own)
        return JN_NO_MEMORY();
    at++;
    for (int64_t i = 0; i < count; i++) {
        size_t end = item_end(text, n, at, ')');
        if (end == n || (text[end] == ')') != (i == count - 1) ||
            !parse_element(d.dtype, text + at, end - at, bytes + (size_t)i * size))
            return JANUS_OK;
        at = end + 1;
    }
    if (count == 0 && (at >= n || text[at++] != ')'))
        return JANUS_OK;
    if (at != n)
        return JANUS_OK;
    d.bytes = bytes;
    d.dims = own;
    *out = d;
    *ok = true;
    return JANUS_OK;
}
