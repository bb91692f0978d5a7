/* SPDX-License-Identifier: Apache-2.0 */
/* An export's signature says what the parameters and results of its @main are. */
#include "config.h"

#include "exec/model/model.h"
#include "graph/text/text.h"

#include <string.h>

#ifdef HAVE_CJSON
#include <cjson/cJSON.h>

enum { FORMAT = 2, FORMAT_OF_PARTS = 3, DEEPEST = 200 };

typedef struct reading {
    const char *folder;
    janus_model *m;
    janus_weights *shared;
    cJSON *signature;
} reading;

static janus_status damaged(const reading *r, const char *what) {
    return jn_error(JANUS_PARSE, "%s/signature.json: %s is damaged", r->folder, what);
}

static const cJSON *member(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static const char *kept(const reading *r, const char *text) {
    return text ? jn_arena_strdup(&r->m->arena, text) : NULL;
}

static janus_type public_type(const jn_type *t) {
    return (janus_type){(janus_kind)t->kind, (janus_dtype)t->dtype, t->rank, t->dims, NULL};
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

/* A bool, int or float; an int that JSON would round, infinity and NaN are texts. */
static bool number_of(const cJSON *o, janus_kind kind, janus_scalar *out) {
    const char *text = cJSON_GetStringValue(o);
    double whole = 9007199254740992.0; /* all up to it are exact */
    if (kind == JANUS_KIND_BOOL) {
        out->i = cJSON_IsTrue(o);
        return cJSON_IsBool(o);
    }
    if (kind == JANUS_KIND_FLOAT) {
        out->f = o->valuedouble;
        return cJSON_IsNumber(o) || (text && jn_parse_double(text, strlen(text), &out->f));
    }
    if (kind != JANUS_KIND_INT)
        return false;
    if (text)
        return jn_parse_int64(text, strlen(text), &out->i);
    if (!cJSON_IsNumber(o) || !(o->valuedouble >= -whole && o->valuedouble <= whole))
        return false;
    out->i = (int64_t)o->valuedouble;
    return (double)out->i == o->valuedouble;
}

/* {"int": 3}, {"float": "inf"}, {"bool": true}, {"text": "x"} or {}: None. */
static janus_status constant(const reading *r, const cJSON *o, janus_kind *kind,
                             janus_scalar *value) {
    static const struct {
        const char *name;
        janus_kind kind;
    } kinds[] = {{"int", JANUS_KIND_INT}, {"float", JANUS_KIND_FLOAT}, {"bool", JANUS_KIND_BOOL}};
    *kind = JANUS_KIND_NONE;
    *value = (janus_scalar){0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cJSON *one = member(o, kinds[i].name);
        if (one && number_of(one, kinds[i].kind, value))
            *kind = kinds[i].kind;
        else if (one && !cJSON_IsString(one)) /* an int of more than 64 bits is text */
            return damaged(r, "a constant");
    }
    return cJSON_IsObject(o) ? JANUS_OK : damaged(r, "a constant");
}

/* The number of a type: beyond what JSON has exactly, so what it is above JANUS_TYPE_TOKEN. */
static bool token_of(const cJSON *o, int64_t *out) {
    uint64_t n;
    bool is = jn_json_index(o, UINT32_MAX, &n);
    *out = is ? JANUS_TYPE_TOKEN + (int64_t)n : 0;
    return is;
}

/* ---- arguments ---------------------------------------------------------------------------------
 */

/* ["janus.float32", [2, 3]] */
static janus_status like(const reading *r, const cJSON *o, janus_type *out) {
    static const struct {
        const char *name;
        janus_dtype dtype;
    } dtypes[] = {{"float32", JANUS_F32},   {"float64", JANUS_F64}, {"float16", JANUS_F16},
                  {"bfloat16", JANUS_BF16}, {"int64", JANUS_I64},   {"int32", JANUS_I32},
                  {"uint8", JANUS_U8},      {"bool", JANUS_BOOL}};
    const cJSON *name = cJSON_IsArray(o) ? o->child : NULL, *shape = name ? name->next : NULL, *one;
    int64_t dims[JN_MAX_RANK];
    uint64_t n;
    const char *dot = cJSON_IsString(name) ? strrchr(name->valuestring, '.') : NULL;
    *out = (janus_type){.kind = JANUS_KIND_NONE};
    for (size_t i = 0; dot && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dot + 1, dtypes[i].name) == 0)
            *out = (janus_type){.kind = JANUS_KIND_TENSOR, .dtype = dtypes[i].dtype};
    if (out->kind != JANUS_KIND_TENSOR || !cJSON_IsArray(shape))
        return damaged(r, "the type of an argument");
    cJSON_ArrayForEach(one, shape) {
        if (out->rank == JN_MAX_RANK || !jn_json_index(one, INT64_MAX, &n))
            return damaged(r, "the type of an argument");
        dims[out->rank++] = (int64_t)n;
    }
    out->dims = jn_arena_dup(&r->m->arena, dims, (size_t)out->rank * sizeof *dims);
    return out->dims || !out->rank ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status read_arguments(const reading *r) {
    const cJSON *list = member(r->signature, "arguments"), *one;
    if (!cJSON_IsArray(list))
        return damaged(r, "\"arguments\"");
    cJSON_ArrayForEach(one, list) {
        jn_model_argument a = {.param = -1};
        const cJSON *keyword = member(one, "keyword"), *value = member(one, "value"),
                    *type = member(one, "like"), *object = member(one, "object");
        if (!cJSON_IsObject(one) || !(cJSON_IsString(keyword) || cJSON_IsNull(keyword)))
            return damaged(r, "an argument");
        char number[32];
        jn_str text = {0};
        jn_str_printf(&text, "%zu", r->m->arguments.n); /* it has no name: its place */
        if (jn_str_ok(&text) && text.n < sizeof number)
            memcpy(number, text.data, text.n + 1);
        else
            number[0] = 0;
        jn_str_free(&text);
        a.name = kept(r, cJSON_IsString(keyword) ? keyword->valuestring : number);
        if (type)
            JN_TRY(like(r, type, &a.type));
        else if (value)
            JN_TRY(constant(r, value, &a.type.kind, &a.value));
        a.fixed = type || value;
        if (object && !token_of(object, &a.object))
            return damaged(r, "an argument");
        if (!a.name || !jn_vec_push(&r->m->arguments, a))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

/* ---- objects -----------------------------------------------------------------------------------
 */

static janus_status read_names(const reading *r) {
    const cJSON *one, *attributes = member(r->signature, "attributes"),
                      *types = member(r->signature, "types");
    janus_model *m = r->m;
    cJSON_ArrayForEach(one, attributes) {
        jn_model_name n = {kept(r, cJSON_GetStringValue(one)), (int64_t)m->attributes.n};
        if (!cJSON_IsString(one))
            return damaged(r, "\"attributes\"");
        if (!n.name || !jn_vec_push(&m->attributes, n))
            return JN_NO_MEMORY();
    }
    cJSON_ArrayForEach(one, types) {
        const cJSON *name = member(one, "name");
        jn_model_name n = {kept(r, cJSON_GetStringValue(name)), 0};
        if (!cJSON_IsString(name) || !token_of(member(one, "token"), &n.number))
            return damaged(r, "\"types\"");
        if (!n.name || !jn_vec_push(&m->types, n))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

/* ---- parameters --------------------------------------------------------------------------------
 */

static janus_status take_weight(void *user, const jn_stored *t) {
    const reading *r = user;
    jn_model_weight w = {.name = kept(r, t->name)};
    if (!w.name || !jn_vec_reserve(&r->m->weights, r->m->weights.n + 1))
        return JN_NO_MEMORY();
    JN_TRY(jn_weights_get(r->shared, t, &w.t));
    (void)jn_vec_push(&r->m->weights, w);
    return JANUS_OK;
}

static janus_status weight_param(const reading *r, const char *name, const jn_param *p,
                                 jn_model_param *out) {
    janus_tensor *t = janus_model_weight(r->m, name);
    if (!t)
        return jn_error(JANUS_PARSE, "%s: weights.safetensors has no %.100s", r->folder, name);
    jn_type have = jn_tensor_type((janus_dtype)t->dtype, t->rank, t->dims);
    if (p->type->kind != JANUS_KIND_TENSOR || !jn_type_fits(&have, p->type))
        return jn_error(p->type->kind == JANUS_KIND_TENSOR && p->type->dtype != have.dtype
                            ? JANUS_DTYPE
                            : JANUS_SHAPE,
                        "%s: the weight %.100s does not fit the graph", r->folder, name);
    out->value = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = t};
    return JANUS_OK;
}

static janus_status read_inputs(const reading *r) {
    janus_model *m = r->m;
    const cJSON *list = member(r->signature, "inputs"), *one;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != m->main->params.n)
        return damaged(r, "\"inputs\"");
    cJSON_ArrayForEach(one, list) {
        const jn_param *p = &m->main->params.data[m->params.n];
        jn_model_param in = {.argument = -1, .state = -1};
        const cJSON *weight = member(one, "weight"), *number = member(one, "number"),
                    *argument = member(one, "argument"), *state = member(one, "state"),
                    *text = member(one, "text");
        uint64_t place;
        if (cJSON_IsString(weight)) {
            JN_TRY(weight_param(r, weight->valuestring, p, &in));
        } else if (number) {
            in.value.kind = (janus_kind)p->type->kind;
            if (!number_of(number, in.value.kind, &in.value.s))
                return damaged(r, "a number");
        } else if (text) { /* an object of the program, as what it reads is */
            const char *mine = kept(r, cJSON_GetStringValue(text));
            if (!cJSON_IsString(text) || p->type->kind != JANUS_KIND_OBJECT)
                return damaged(r, "an input");
            if (!mine)
                return JN_NO_MEMORY();
            in.value = (janus_arg){.kind = JANUS_KIND_OBJECT, .o = (janus_object)(uintptr_t)mine};
        } else if (state) {
            if (!jn_json_index(state, INT32_MAX, &place))
                return damaged(r, "an input");
            in.state = (int32_t)place; /* read_states sees whether there is one */
        } else {
            jn_model_argument *a = m->arguments.data;
            if (!m->arguments.n || !jn_json_index(argument, m->arguments.n - 1, &place) ||
                a[place].param >= 0 || a[place].fixed)
                return damaged(r, "an input");
            if (p->type->kind < JANUS_KIND_TENSOR || p->type->kind > JANUS_KIND_OBJECT)
                return damaged(r, "an input");
            a[place].param = (int32_t)m->params.n;
            a[place].type = public_type(p->type);
            in.argument = (int32_t)place;
        }
        if (!jn_vec_push(&m->params, in))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

/* ---- results -----------------------------------------------------------------------------------
 */

/* ["result", 0], ["argument", 0], ["input", 0], ["constant", {...}] */
static janus_status read_leaf(const reading *r, const char *kind, const cJSON *what,
                              jn_model_result *one) {
    const struct {
        const char *name;
        jn_model_from from;
        size_t n;
    } places[] = {{"result", JN_FROM_RESULT, r->m->main->results.n},
                  {"argument", JN_FROM_ARGUMENT, r->m->arguments.n},
                  {"input", JN_FROM_INPUT, r->m->params.n}};
    if (strcmp(kind, "constant") == 0)
        return constant(r, what, &one->value.kind, &one->value.s);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t slot;
        if (strcmp(kind, places[i].name) != 0)
            continue;
        if (!places[i].n || !jn_json_index(what, places[i].n - 1, &slot))
            break;
        one->from = places[i].from;
        one->slot = (uint32_t)slot;
        if (one->from == JN_FROM_INPUT && r->m->params.data[slot].argument >= 0) {
            one->from = JN_FROM_ARGUMENT; /* which is it */
            one->slot = (uint32_t)r->m->params.data[slot].argument;
        }
        return JANUS_OK;
    }
    return damaged(r, "\"result\"");
}

/* ["result", 0], ["constant", {...}], ["tuple" | "list" | "dict", [...]] */
static janus_status read_result(const reading *r, const cJSON *o, jn_str *path, int deep) {
    const cJSON *kind = cJSON_IsArray(o) ? o->child : NULL, *what = kind ? kind->next : NULL, *one;
    if (!cJSON_IsString(kind) || !what || what->next || deep > DEEPEST)
        return damaged(r, "\"result\"");
    if (!cJSON_IsArray(what)) {
        jn_model_result leaf = {.name = kept(r, path->n ? path->data : "")};
        JN_TRY(read_leaf(r, kind->valuestring, what, &leaf));
        return leaf.name && jn_vec_push(&r->m->results, leaf) ? JANUS_OK : JN_NO_MEMORY();
    }
    bool dict = strcmp(kind->valuestring, "dict") == 0;
    const size_t n = path->n;
    size_t i = 0;
    for (one = what->child; one; one = one->next, i++) {
        if (dict) {
            const cJSON *mark = cJSON_IsArray(one) ? one->child : NULL,
                        *key = mark ? member(mark->next, "text") : NULL;
            if (!cJSON_IsString(key) || !(one = one->next))
                return damaged(r, "\"result\"");
            if (n)
                jn_str_putc(path, '.');
            jn_str_append(path, key->valuestring);
        } else {
            jn_str_printf(path, "[%zu]", i);
        }
        if (!jn_str_ok(path))
            return JN_NO_MEMORY();
        JN_TRY(read_result(r, one, path, deep + 1));
        path->n = n;
        path->data[n] = 0;
    }
    return JANUS_OK;
}

/* ---- state -------------------------------------------------------------------------------------
 */

/* What it begins with, by the parameter that has it. */
static janus_status first_value(const reading *r, const cJSON *o, uint32_t param, janus_arg *out) {
    const jn_param *p = &r->m->main->params.data[param];
    const cJSON *weight = member(o, "weight"), *number = member(o, "number");
    jn_model_param w;
    if (cJSON_IsString(weight)) {
        JN_TRY(weight_param(r, weight->valuestring, p, &w));
        *out = w.value;
        return JANUS_OK;
    }
    out->kind = (janus_kind)p->type->kind;
    return number_of(number, out->kind, &out->s) ? JANUS_OK : damaged(r, "\"state\"");
}

static janus_status read_states(const reading *r) {
    janus_model *m = r->m;
    const cJSON *one;
    cJSON_ArrayForEach(one, member(r->signature, "state")) {
        const cJSON *name = member(one, "name"), *value = member(one, "value"),
                    *when = member(one, "when"), *kind = cJSON_IsArray(value) ? value->child : NULL;
        jn_model_state s = {.when = -1, .written = cJSON_IsTrue(member(one, "written"))};
        uint64_t place;
        if (!cJSON_IsString(name) || !cJSON_IsString(kind) || !kind->next)
            return damaged(r, "\"state\"");
        if (strcmp(kind->valuestring, "constant") != 0 && cJSON_IsArray(kind->next))
            return jn_error(JANUS_UNSUPPORTED, "%s: the state %.100s is a container", r->folder,
                            name->valuestring);
        JN_TRY(read_leaf(r, kind->valuestring, kind->next, &s.next));
        if (when && !cJSON_IsNull(when)) {
            if (!jn_json_index(when, INT32_MAX, &place) || place >= m->main->results.n ||
                m->main->result_types.data[place]->kind != JANUS_KIND_BOOL)
                return damaged(r, "\"state\"");
            s.when = (int32_t)place;
        }
        for (size_t i = 0; i < m->params.n; i++)
            if (m->params.data[i].state == (int32_t)m->states.n)
                JN_TRY(first_value(r, one, (uint32_t)i, &s.first));
        s.next.name = kept(r, name->valuestring);
        if (!s.next.name || !jn_vec_push(&m->states, s))
            return JN_NO_MEMORY();
    }
    for (size_t i = 0; i < m->params.n; i++)
        if (m->params.data[i].state >= (int32_t)m->states.n)
            return damaged(r, "an input");
    return JANUS_OK;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static janus_status read_signature(const reading *r) {
    uint64_t format;
    if (jn_json_index(member(r->signature, "format"), FORMAT_OF_PARTS, &format) &&
        format == FORMAT_OF_PARTS)
        return jn_error(JANUS_UNSUPPORTED,
                        "%s: the graph takes parts of its arguments for granted: only "
                        "janus.load_graph, in Python, checks them",
                        r->folder);
    if (!jn_json_index(member(r->signature, "format"), FORMAT, &format) || format == 0)
        return jn_error(JANUS_PARSE, "%s/signature.json is of no known format", r->folder);
    JN_TRY(read_names(r));
    JN_TRY(read_arguments(r));
    JN_TRY(read_inputs(r));
    jn_str path = {0};
    janus_status st = read_result(r, member(r->signature, "result"), &path, 0);
    jn_str_free(&path);
    return st == JANUS_OK ? read_states(r) : st;
}

static janus_status read_all(reading *r, jn_bytes graph, jn_bytes signature, jn_bytes weights) {
    janus_model *m = r->m;
    JN_TRY(jn_parse_module(graph.data, graph.n, "graph.jir", &m->module));
    m->main = jn_module_find(m->module, "main", 4);
    if (!m->main || !m->main->defined)
        return jn_error(JANUS_PARSE, "%s/graph.jir: there is no @main", r->folder);
    JN_TRY(jn_json_parse(signature, "signature.json", &r->signature));
    JN_TRY(jn_safetensors_read(weights, "weights.safetensors", take_weight, r));
    JN_TRY(read_signature(r));
    return jn_model_freeze(m);
}

janus_status jn_model_read(const char *folder, jn_bytes graph, jn_bytes signature, jn_bytes weights,
                           janus_weights *shared, janus_model **out) {
    reading r = {folder, jn_calloc(1, sizeof *r.m), shared, NULL};
    if (!r.m)
        return JN_NO_MEMORY();
    atomic_init(&r.m->refs, 1);
    jn_arena_init(&r.m->arena, 0);
    janus_status st = read_all(&r, graph, signature, weights);
    cJSON_Delete(r.signature);
    if (st != JANUS_OK) {
        janus_model_release(r.m);
        return st;
    }
    *out = r.m;
    return JANUS_OK;
}
#else
janus_status jn_model_read(const char *folder, jn_bytes graph, jn_bytes signature, jn_bytes weights,
                           janus_weights *shared, janus_model **out) {
    (void)graph, (void)signature, (void)weights, (void)shared, (void)out;
    return jn_error(JANUS_UNSUPPORTED, "%s: janus was built without libcjson, which reads models",
                    folder);
}
#endif

janus_status janus_module_load(const char *folder, janus_weights *weights,
                               janus_model **out_model) {
    if (!folder || !out_model)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_module_load: %s is NULL",
                        folder ? "out_model" : "folder");
    static const char *const names[3] = {"graph.jir", "signature.json", "weights.safetensors"};
    char *text[3] = {NULL, NULL, NULL};
    size_t n[3] = {0, 0, 0};
    janus_status st = JANUS_OK;
    for (int i = 0; i < 3 && st == JANUS_OK; i++)
        st = jn_file_read(folder, names[i], &text[i], &n[i]);
    if (st == JANUS_OK)
        st = jn_model_read(folder, (jn_bytes){text[0], n[0]}, (jn_bytes){text[1], n[1]},
                           (jn_bytes){text[2], n[2]}, weights, out_model);
    for (int i = 0; i < 3; i++)
        jn_free(text[i]);
    return st;
}

void janus_model_retain(janus_model *m) {
    if (m)
        atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void janus_model_release(janus_model *m) {
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < m->weights.n; i++)
        janus_tensor_release(m->weights.data[i].t);
    jn_vec_free(&m->weights);
    jn_vec_free(&m->states);
    jn_vec_free(&m->arguments);
    jn_vec_free(&m->params);
    jn_vec_free(&m->results);
    jn_vec_free(&m->attributes);
    jn_vec_free(&m->types);
    jn_module_release(m->module);
    jn_arena_free(&m->arena);
    jn_free(m);
}
