/* SPDX-License-Identifier: Apache-2.0 */
/* Files, JSON by libcjson, and the safetensors format: a length, a JSON header, raw bytes. */
#include "config.h"

#include "exec/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

janus_status jn_file_read(const char *folder, const char *name, char **out, size_t *out_n) {
    jn_str path = {0};
    jn_str_append(&path, folder);
    jn_str_putc(&path, '/');
    jn_str_append(&path, name);
    if (!jn_str_ok(&path)) {
        jn_str_free(&path);
        return JN_NO_MEMORY();
    }
    FILE *f = fopen(path.data, "rb");
    JN_VEC(char) all = {0};
    janus_status st = JANUS_OK;
    if (!f)
        st = jn_error(JANUS_NOT_FOUND, "%s: %s", path.data, strerror(errno));
    while (st == JANUS_OK && !feof(f)) {
        if (!jn_vec_reserve(&all, all.n + 65536)) {
            st = JN_NO_MEMORY();
            break;
        }
        all.n += fread(all.data + all.n, 1, all.cap - all.n, f);
        if (ferror(f)) /* a folder can be opened, but not read */
            st = jn_error(JANUS_NOT_FOUND, "%s: %s", path.data, strerror(errno));
    }
    if (f)
        (void)fclose(f);
    jn_str_free(&path);
    if (st != JANUS_OK) {
        jn_vec_free(&all);
        return st;
    }
    *out = all.data;
    *out_n = all.n;
    return JANUS_OK;
}

#ifdef HAVE_CJSON
#include <cjson/cJSON.h>

janus_status jn_json_parse(jn_bytes text, const char *name, cJSON **out) {
    /* It ends strings at a NUL: two names could become one. */
    if (memchr(text.data, 0, text.n))
        return jn_error(JANUS_PARSE, "%s: there is a NUL byte", name);
    for (size_t i = 0; i + 5 < text.n; i++)
        if (text.data[i] == '\\' && memcmp(text.data + i + 1, "u0000", 5) == 0)
            return jn_error(JANUS_PARSE, "%s: there is a NUL in a string", name);
    const char *end = text.data;
    cJSON *o = cJSON_ParseWithLengthOpts(text.data, text.n, &end, false);
    if (!o)
        return jn_error(JANUS_PARSE, "%s: damaged at byte %zu", name, (size_t)(end - text.data));
    for (; end < text.data + text.n; end++)
        if (!strchr(" \t\r\n", *end)) {
            cJSON_Delete(o);
            return jn_error(JANUS_PARSE, "%s: something follows its end", name);
        }
    *out = o;
    return JANUS_OK;
}

bool jn_json_index(const cJSON *o, uint64_t limit, uint64_t *out) {
    enum { EXACT = 53 }; /* bits of a double */
    if (!cJSON_IsNumber(o) || !(o->valuedouble >= 0) ||
        o->valuedouble > (double)((uint64_t)1 << EXACT) ||
        o->valuedouble != (double)(uint64_t)o->valuedouble || (uint64_t)o->valuedouble > limit)
        return false;
    *out = (uint64_t)o->valuedouble;
    return true;
}

/* ---- safetensors -------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    janus_dtype dtype;
} dtypes[] = {{"F32", JANUS_F32}, {"F64", JANUS_F64}, {"F16", JANUS_F16}, {"BF16", JANUS_BF16},
              {"I64", JANUS_I64}, {"I32", JANUS_I32}, {"U8", JANUS_U8},   {"BOOL", JANUS_BOOL}};

typedef struct entry {
    jn_stored t;
    uint64_t begin;
} entry;

static janus_status damaged(const char *file, const char *tensor, const char *how) {
    return jn_error(JANUS_PARSE, "%s: tensor %.100s: %s", file, tensor, how);
}

static janus_status read_entry(const cJSON *o, jn_bytes body, const char *file, entry *out) {
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(o, "dtype"),
                *shape = cJSON_GetObjectItemCaseSensitive(o, "shape"),
                *place = cJSON_GetObjectItemCaseSensitive(o, "data_offsets"), *one;
    uint64_t end, n;
    size_t found = 0;
    if (!cJSON_IsString(dtype) || !cJSON_IsArray(shape) || !cJSON_IsArray(place) || !place->child ||
        !place->child->next || place->child->next->next ||
        !jn_json_index(place->child, body.n, &out->begin) ||
        !jn_json_index(place->child->next, body.n, &end) || end < out->begin)
        return damaged(file, o->string, "its entry in the header is damaged");
    for (; found < sizeof dtypes / sizeof *dtypes; found++)
        if (strcmp(dtypes[found].name, dtype->valuestring) == 0)
            break;
    if (found == sizeof dtypes / sizeof *dtypes)
        return damaged(file, o->string, "of a type that janus does not have");
    jn_stored *t = &out->t;
    *t = (jn_stored){.name = o->string, .bytes = body.data + out->begin};
    t->type = jn_tensor_type(dtypes[found].dtype, 0, NULL); /* dims are set when it stays put */
    size_t bytes = jn_dtype_size(dtypes[found].dtype);
    cJSON_ArrayForEach(one, shape) {
        if (t->type.rank == JN_MAX_RANK)
            return damaged(file, o->string, "it has too many dims");
        if (!jn_json_index(one, INT64_MAX, &n))
            return damaged(file, o->string, "its entry in the header is damaged");
        t->dims[t->type.rank++] = (int64_t)n;
        if (!jn_mul_size(bytes, n, &bytes))
            return damaged(file, o->string, "it does not fit its place in the file");
    }
    t->n = (size_t)(end - out->begin);
    if (t->n != bytes)
        return damaged(file, o->string, "it does not fit its place in the file");
    return JANUS_OK;
}

static int by_place(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->t.n < y->t.n ? -1 : x->t.n > y->t.n; /* one without elements comes first */
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static janus_status twice(const cJSON *header, const char *file) {
    JN_VEC(const char *) names = {0};
    const cJSON *one;
    janus_status st = JANUS_OK;
    cJSON_ArrayForEach(one, header) if (!jn_vec_push(&names, one->string)) st = JN_NO_MEMORY();
    if (st == JANUS_OK && names.n)
        qsort(names.data, names.n, sizeof *names.data, by_name);
    for (size_t i = 1; i < names.n && st == JANUS_OK; i++)
        if (strcmp(names.data[i - 1], names.data[i]) == 0)
            st = damaged(file, names.data[i], "it is there twice");
    jn_vec_free(&names);
    return st;
}

static janus_status take_entries(const cJSON *header, jn_bytes body, const char *file,
                                 janus_status (*take)(void *user, const jn_stored *t), void *user) {
    JN_VEC(entry) all = {0};
    const cJSON *one;
    janus_status st = twice(header, file);
    cJSON_ArrayForEach(one, header) {
        entry e;
        if (st != JANUS_OK || strcmp(one->string, "__metadata__") == 0)
            continue;
        st = read_entry(one, body, file, &e);
        if (st == JANUS_OK && !jn_vec_push(&all, e))
            st = JN_NO_MEMORY();
    }
    if (st == JANUS_OK && all.n)
        qsort(all.data, all.n, sizeof *all.data, by_place);
    uint64_t at = 0;
    for (size_t i = 0; i < all.n && st == JANUS_OK; i++) {
        jn_stored *t = &all.data[i].t;
        t->type.dims = t->dims;
        if (all.data[i].begin != at)
            st = damaged(file, t->name, "there is a gap before it, or another one in its place");
        else
            st = take(user, t);
        at += t->n;
    }
    if (st == JANUS_OK && at != body.n)
        st = jn_error(JANUS_PARSE, "%s: %zu bytes belong to no tensor", file, body.n - (size_t)at);
    jn_vec_free(&all);
    return st;
}

janus_status jn_safetensors_read(jn_bytes file, const char *name,
                                 janus_status (*take)(void *user, const jn_stored *t), void *user) {
    uint64_t n = 0;
    for (unsigned i = 0; i < 8 && file.n >= 8; i++)
        n |= (uint64_t)(unsigned char)file.data[i] << (8 * i);
    if (file.n < 8 || n > file.n - 8 || n == 0 || file.data[8] != '{')
        return jn_error(JANUS_PARSE, "%s: not a safetensors file", name);
    cJSON *header;
    JN_TRY(jn_json_parse((jn_bytes){file.data + 8, (size_t)n}, name, &header));
    jn_bytes body = {file.data + 8 + n, file.n - 8 - (size_t)n};
    janus_status st = take_entries(header, body, name, take, user);
    cJSON_Delete(header);
    return st;
}
#endif
