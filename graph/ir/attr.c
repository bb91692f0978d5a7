/* Attributes, generic over the specs of the op's row.
 *
 * The default struct of an op is made once, on first use, and kept for the life of the process
 * (eager calls copy it all the time).  Attribute structs inside janus are always complete; those
 * that come from outside may be shorter (an older header) and are completed by jn_attrs_copy.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/attr.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "graph/base/hash.h"
#include "graph/ir/data_text.h"
#include "graph/ir/op.h"

/* ---- one value --------------------------------------------------------------------------------
 */

static size_t size_of(jn_attr_kind kind) {
    switch (kind) {
    case JN_ATTR_INT:
    case JN_ATTR_BOOL:
    case JN_ATTR_DTYPE:
        return sizeof(int64_t);
    case JN_ATTR_FLOAT:
        return sizeof(double);
    case JN_ATTR_INTS:
        return sizeof(janus_ints);
    case JN_ATTR_STR:
        return sizeof(const char *);
    case JN_ATTR_DATA:
        return sizeof(janus_data);
    }
    return 0;
}

static const char *kind_text(jn_attr_kind kind) {
    static const char *const texts[] = {"an integer", "a number",           "true or false",
                                        "a dtype",    "a list of integers", "a quoted string",
                                        "a tensor"};
    return texts[kind];
}

static bool value_equal(jn_attr_kind kind, const void *a, const void *b) {
    if (kind == JN_ATTR_INTS) {
        const janus_ints *x = a, *y = b;
        return x->n == y->n && (!x->n || !memcmp(x->data, y->data, x->n * sizeof(int64_t)));
    }
    if (kind == JN_ATTR_STR) {
        const char *x = *(const char *const *)a, *y = *(const char *const *)b;
        return x == y || (x && y && !strcmp(x, y));
    }
    if (kind == JN_ATTR_DATA)
        return jn_data_equal(a, b);
    return !memcmp(a, b, size_of(kind)); /* floats by bits: nan equals itself, 0.0 is not -0.0 */
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n) {
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ c[i]) * UINT64_C(0x100000001b3);
    return jn_hash_mix(h, n);
}

static uint64_t value_hash(jn_attr_kind kind, const void *a, uint64_t h) {
    if (kind == JN_ATTR_INTS) {
        const janus_ints *x = a;
        return hash_bytes(h, x->data, x->n * sizeof(int64_t));
    }
    if (kind == JN_ATTR_STR) {
        const char *x = *(const char *const *)a;
        return x ? hash_bytes(h, x, strlen(x)) : jn_hash_mix(h, 1);
    }
    if (kind == JN_ATTR_DATA) {
        const janus_data *x = a;
        h = jn_hash_mix(h, (uint64_t)x->dtype);
        h = hash_bytes(h, x->dims, (size_t)(x->rank > 0 ? x->rank : 0) * sizeof(int64_t));
        return hash_bytes(h, x->bytes, jn_data_bytes(x));
    }
    return hash_bytes(h, a, size_of(kind));
}

static janus_status value_copy(const jn_op *op, const jn_attr_spec *spec, const void *from,
                               jn_arena *arena, void *to) {
    if (spec->kind == JN_ATTR_INTS) {
        janus_ints x = *(const janus_ints *)from;
        if (x.n && !(x.data = jn_arena_dup(arena, x.data, x.n * sizeof(int64_t))))
            return JN_NO_MEMORY();
        *(janus_ints *)to = x;
    } else if (spec->kind == JN_ATTR_STR) {
        const char *x = *(const char *const *)from;
        if (x && !(x = jn_arena_strdup(arena, x)))
            return JN_NO_MEMORY();
        *(const char **)to = x;
    } else if (spec->kind == JN_ATTR_DATA) {
        janus_status st = jn_data_copy(from, arena, to);
        if (st != JANUS_OK)
            jn_error_context("in attribute %s of %s", spec->name, op->name);
        return st;
    } else {
        memcpy(to, from, size_of(spec->kind));
    }
    return JANUS_OK;
}

static void value_print(jn_attr_kind kind, const void *a, jn_str *s) {
    switch (kind) {
    case JN_ATTR_INT:
        jn_str_printf(s, "%lld", (long long)*(const int64_t *)a);
        return;
    case JN_ATTR_FLOAT:
        jn_str_double(s, *(const double *)a);
        return;
    case JN_ATTR_BOOL:
        jn_str_append(s, *(const int64_t *)a ? "true" : "false");
        return;
    case JN_ATTR_DTYPE: {
        int64_t d = *(const int64_t *)a;
        jn_str_append(s, d < 0 ? "none" : jn_dtype_name((janus_dtype)d));
        return;
    }
    case JN_ATTR_INTS: {
        const janus_ints *x = a;
        jn_str_putc(s, '[');
        for (size_t i = 0; i < x->n; i++)
            jn_str_printf(s, i ? ",%lld" : "%lld", (long long)x->data[i]);
        jn_str_putc(s, ']');
        return;
    }
    case JN_ATTR_STR: {
        const char *x = *(const char *const *)a;
        if (x)
            jn_str_quote(s, x, strlen(x));
        else
            jn_str_append(s, "none");
        return;
    }
    case JN_ATTR_DATA:
        jn_data_print(a, s);
        return;
    }
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

static bool is_word(const char *text, size_t n, const char *word) {
    return n == strlen(word) && !memcmp(text, word, n);
}

/* "1,2" in rows, "[1,2]" in texts; blanks may follow commas. */
static janus_status parse_ints(const char *text, size_t n, jn_arena *arena, janus_ints *out,
                               bool *ok) {
    *ok = false;
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']')
        text++, n -= 2;
    size_t count = n > 0;
    for (size_t i = 0; i < n; i++)
        count += text[i] == ',';
    int64_t *data = NULL;
    if (count > JN_MAX_INTS)
        return JANUS_OK;
    if (count && !(data = jn_arena_alloc(arena, count * sizeof *data)))
        return JN_NO_MEMORY();
    for (size_t i = 0, at = 0; i < count; i++) {
        while (at < n && text[at] == ' ')
            at++;
        const char *comma = memchr(text + at, ',', n - at);
        size_t len = comma ? (size_t)(comma - text) - at : n - at;
        if (!jn_parse_int64(text + at, len, &data[i]))
            return JANUS_OK;
        at += len + 1;
    }
    *out = (janus_ints){data, count};
    *ok = true;
    return JANUS_OK;
}

static janus_status parse_str(const char *text, size_t n, jn_arena *arena, const char **out,
                              bool *ok) {
    jn_str s = {0};
    janus_status st = JANUS_OK;
    *ok = true;
    if (is_word(text, n, "none")) {
        *out = NULL;
        return JANUS_OK;
    }
    if (n && text[0] == '"')
        *ok = jn_str_unquote(&s, text, n) == n;
    else
        jn_str_appendn(&s, text, n);
    if (!jn_str_ok(&s) || (*ok && !(*out = jn_arena_strndup(arena, s.data ? s.data : "", s.n))))
        st = JN_NO_MEMORY();
    jn_str_free(&s);
    return st;
}

janus_status jn_attr_parse(const jn_attr_spec *spec, const char *text, size_t n, jn_arena *arena,
                           void *attrs) {
    void *to = (char *)attrs + spec->offset;
    janus_dtype dtype;
    bool ok = false;
    switch (spec->kind) {
    case JN_ATTR_INT:
        ok = jn_parse_int64(text, n, to);
        break;
    case JN_ATTR_FLOAT:
        ok = jn_parse_double(text, n, to);
        break;
    case JN_ATTR_BOOL:
        ok = is_word(text, n, "true") || is_word(text, n, "false") || is_word(text, n, "1") ||
             is_word(text, n, "0");
        if (ok)
            *(int64_t *)to = *text == 't' || *text == '1';
        break;
    case JN_ATTR_DTYPE:
        ok = is_word(text, n, "none");
        if (ok)
            *(int64_t *)to = -1;
        else if ((ok = jn_dtype_parse(text, n, &dtype)))
            *(int64_t *)to = dtype;
        break;
    case JN_ATTR_INTS:
        JN_TRY(parse_ints(text, n, arena, to, &ok));
        break;
    case JN_ATTR_STR:
        JN_TRY(parse_str(text, n, arena, to, &ok));
        break;
    case JN_ATTR_DATA:
        JN_TRY(jn_data_parse(text, n, arena, to, &ok));
        break;
    }
    if (!ok)
        return jn_error(JANUS_INVALID_ARGUMENT, "attribute %s: expected %s, got '%.*s'", spec->name,
                        kind_text(spec->kind), n < 60 ? (int)n : 60, text);
    return JANUS_OK;
}

/* ---- defaults ---------------------------------------------------------------------------------
 */

enum { MAX_OPS = 1024 };
static _Atomic(const void *) defaults[MAX_OPS]; /* by op id */
static pthread_mutex_t defaults_lock = PTHREAD_MUTEX_INITIALIZER;
/* Usually all there is fits here, so that no test sees a block that is never freed. */
static _Alignas(16) char defaults_room[32 * 1024];
static jn_arena defaults_arena = {
    .ptr = defaults_room, .end = defaults_room + sizeof defaults_room, .chunk_size = 4096};

static janus_status make_defaults(const jn_op *op, const void **out) {
    char *a = jn_arena_zalloc(&defaults_arena, op->attr_size);
    if (!a)
        return JN_NO_MEMORY();
    *(size_t *)a = op->attr_size;
    for (const jn_attr_spec *s = op->attrs; s->name; s++) {
        if (s->dflt)
            JN_TRY(jn_attr_parse(s, s->dflt, strlen(s->dflt), &defaults_arena, a));
        else if (s->kind == JN_ATTR_DTYPE)
            *(int64_t *)(a + s->offset) = -1;
    }
    *out = a;
    return JANUS_OK;
}

janus_status jn_attrs_defaults(const jn_op *op, const void **out) {
    if (!op->attr_size || op->id >= MAX_OPS) {
        *out = NULL;
        return op->attr_size
                   ? jn_error(JANUS_INTERNAL, "%s: op id %u is too large", op->name, op->id)
                   : JANUS_OK;
    }
    const void *a = atomic_load_explicit(&defaults[op->id], memory_order_acquire);
    if (JN_UNLIKELY(!a)) {
        janus_status st = JANUS_OK;
        pthread_mutex_lock(&defaults_lock);
        a = atomic_load(&defaults[op->id]);
        if (!a && (st = make_defaults(op, &a)) == JANUS_OK)
            atomic_store_explicit(&defaults[op->id], a, memory_order_release);
        pthread_mutex_unlock(&defaults_lock);
        JN_TRY(st);
    }
    *out = a;
    return JANUS_OK;
}

janus_status jn_attrs_default(const jn_op *op, void *attrs) {
    const void *a;
    JN_TRY(jn_attrs_defaults(op, &a));
    if (a)
        memcpy(attrs, a, op->attr_size);
    return JANUS_OK;
}

/* ---- whole structs ----------------------------------------------------------------------------
 */

const jn_attr_spec *jn_attr_find(const jn_op *op, const char *name, size_t n) {
    for (const jn_attr_spec *s = op->attrs; s && s->name; s++) {
        if (is_word(name, n, s->name))
            return s;
    }
    return NULL;
}

static janus_status check_number(const jn_op *op, const jn_attr_spec *s, int64_t v) {
    if (JN_LIKELY(v >= s->lo && v <= s->hi))
        return JANUS_OK;
    if (s->lo < 0 && s->hi == JN_MAX_INTS)
        return jn_error(JANUS_INDEX, "%s: axis %lld is out of range for at most %d dims", op->name,
                        (long long)v, JN_MAX_INTS);
    return jn_error(s->lo >= -2 && s->lo <= 0 ? JANUS_SHAPE : JANUS_INVALID_ARGUMENT,
                    "%s: %s %lld is out of range", op->name, s->name, (long long)v);
}

static janus_status check_value(const jn_op *op, const jn_attr_spec *s, const void *at) {
    if (s->kind == JN_ATTR_INT)
        return check_number(op, s, *(const int64_t *)at);
    if (s->kind == JN_ATTR_DATA)
        return jn_data_check(at);
    if (s->kind != JN_ATTR_INTS)
        return JANUS_OK;
    const janus_ints *list = at;
    if (list->n > JN_MAX_INTS || (list->n && !list->data))
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: attribute %s: %s", op->name, s->name,
                        list->data ? "too many numbers" : "its numbers are NULL");
    for (size_t i = 0; i < list->n; i++)
        JN_TRY(check_number(op, s, list->data[i]));
    return JANUS_OK;
}

janus_status jn_attrs_check(const jn_op *op, const void *attrs) {
    for (const jn_attr_spec *s = op->attrs; op->has_ranges && s->name; s++)
        JN_TRY(check_value(op, s, (const char *)attrs + s->offset));
    return JANUS_OK;
}

janus_status jn_attrs_copy(const jn_op *op, const void *attrs, jn_arena *arena, const void **out) {
    if (!op->attr_size) {
        *out = NULL;
        return JANUS_OK;
    }
    size_t given = attrs ? *(const size_t *)attrs : 0;
    if (attrs && given < sizeof(size_t))
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: struct_size of the attributes is not set",
                        op->name);
    char *a = jn_arena_alloc(arena, op->attr_size);
    if (!a)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, a));
    for (const jn_attr_spec *s = op->attrs; s->name; s++) {
        bool there = s->offset + size_of(s->kind) <= given;
        const char *from = there ? (const char *)attrs + s->offset : NULL;
        if (!there) {
            if (!s->dflt)
                return jn_error(JANUS_INVALID_ARGUMENT, "%s: attribute %s is required", op->name,
                                s->name);
        } else if (s->kind != JN_ATTR_STR || *(const char *const *)from) {
            JN_TRY(check_value(op, s, from));
            /* A string that is not given stands for its default. */
            JN_TRY(value_copy(op, s, from, arena, a + s->offset));
        }
        if (s->kind == JN_ATTR_BOOL)
            *(int64_t *)(a + s->offset) = *(int64_t *)(a + s->offset) != 0;
        int64_t d = s->kind == JN_ATTR_DTYPE ? *(const int64_t *)(a + s->offset) : 0;
        if (d < -1 || d >= JANUS_DTYPE_COUNT)
            return jn_error(JANUS_INVALID_ARGUMENT, "%s: attribute %s: %lld is no dtype", op->name,
                            s->name, (long long)d);
    }
    *out = a;
    return JANUS_OK;
}

bool jn_attrs_equal(const jn_op *op, const void *a, const void *b) {
    if (a == b || !op->attr_size)
        return true;
    if ((!a && jn_attrs_defaults(op, &a)) || (!b && jn_attrs_defaults(op, &b)))
        return false;
    for (const jn_attr_spec *s = op->attrs; s->name; s++) {
        if (!value_equal(s->kind, (const char *)a + s->offset, (const char *)b + s->offset))
            return false;
    }
    return true;
}

uint64_t jn_attrs_hash(const jn_op *op, const void *attrs) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    if (!op->attr_size || (!attrs && jn_attrs_defaults(op, &attrs)))
        return h;
    for (const jn_attr_spec *s = op->attrs; s->name; s++)
        h = value_hash(s->kind, (const char *)attrs + s->offset, h);
    return h;
}

void jn_attrs_print(const jn_op *op, const void *attrs, jn_str *s) {
    const void *dflt;
    bool open = false;
    if (!op->attr_size || !attrs)
        return;
    if (jn_attrs_defaults(op, &dflt)) {
        s->broken = true;
        return;
    }
    for (const jn_attr_spec *p = op->attrs; p->name; p++) {
        const char *value = (const char *)attrs + p->offset;
        if (p->dflt && value_equal(p->kind, value, (const char *)dflt + p->offset))
            continue;
        jn_str_append(s, open ? ", " : "{");
        open = true;
        jn_str_append(s, p->name);
        jn_str_putc(s, '=');
        value_print(p->kind, value, s);
    }
    if (open)
        jn_str_putc(s, '}');
}
