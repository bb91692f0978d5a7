/* Types in the text form, read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/text/parse_internal.h"

janus_status jn_parse_sub_name(parser *p, jn_subgraph **out) {
    size_t n;
    if (p->lex.token != JN_TOK_SUB)
        return jn_lex_error(&p->lex, "expected a SubGraph (@name)");
    const char *name = jn_lex_name(&p->lex, &n);
    if (!(*out = jn_module_find(p->m, name, n)))
        return jn_lex_error(&p->lex, "there is no SubGraph @%.*s", (int)(n < 100 ? n : 100), name);
    jn_lex_next(&p->lex);
    return JANUS_OK;
}

static janus_status parse_dim(parser *p, int64_t *out) {
    const jn_lexer *l = &p->lex;
    if (skip_char(p, '?')) {
        *out = JN_DIM_UNKNOWN;
        return JANUS_OK;
    }
    bool symbol = l->token == JN_TOK_WORD && l->n > 1 && *l->start == 's';
    int64_t v;
    if (l->token != JN_TOK_WORD || !jn_parse_int64(l->start + symbol, l->n - symbol, &v) || v < 0 ||
        (symbol && v >= INT32_MAX))
        return jn_lex_error(l, "expected a dim: a number, ? or a symbol such as s0");
    *out = symbol ? jn_dim_symbol(v) : v;
    jn_lex_next(&p->lex);
    return JANUS_OK;
}

static janus_status parse_tensor(parser *p, janus_kind kind, jn_type *out) {
    janus_dtype dtype;
    int64_t dims[JN_MAX_RANK];
    int rank = 0;
    if (p->lex.token != JN_TOK_WORD || !jn_dtype_parse(p->lex.start, p->lex.n, &dtype))
        return jn_lex_error(&p->lex, "expected a type");
    jn_lex_next(&p->lex);
    JN_TRY(need_char(p, '['));
    if (skip_char(p, '*')) {
        rank = JN_RANK_UNKNOWN;
        JN_TRY(need_char(p, ']'));
    } else if (!skip_char(p, ']')) {
        do {
            if (rank == JN_MAX_RANK)
                return jn_lex_error(&p->lex, "a tensor has at most %d dims", JN_MAX_RANK);
            JN_TRY(parse_dim(p, &dims[rank++]));
        } while (skip_char(p, ','));
        JN_TRY(need_char(p, ']'));
    }
    *out = jn_tensor_type(dtype, rank, NULL);
    out->kind = (uint8_t)kind;
    if (rank > 0 && !(out->dims = jn_arena_dup(&p->scratch, dims, (size_t)rank * sizeof *dims)))
        return JN_NO_MEMORY();
    return JANUS_OK;
}

janus_status jn_parse_type(parser *p, jn_type *out) {
    static const struct {
        const char *word;
        janus_kind kind;
    } plain[] = {{"int", JANUS_KIND_INT},
                 {"float", JANUS_KIND_FLOAT},
                 {"object", JANUS_KIND_OBJECT},
                 {"none", JANUS_KIND_NONE}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (skip_word(p, plain[i].word)) {
            *out = jn_scalar_type(plain[i].kind);
            return JANUS_OK;
        }
    }
    if (at_word(p, "bool")) { /* also a dtype: bool[3] */
        jn_lexer after = p->lex;
        after.quoted = (jn_str){0};
        jn_lex_next(&after);
        bool tensor = after.token == JN_TOK_CHAR && after.c == '[';
        jn_lex_free(&after);
        if (!tensor) {
            jn_lex_next(&p->lex);
            *out = jn_scalar_type(JANUS_KIND_BOOL);
            return JANUS_OK;
        }
    }
    if (skip_word(p, "acc")) {
        JN_TRY(need_char(p, '<'));
        JN_TRY(parse_tensor(p, JANUS_KIND_ACC, out));
        return need_char(p, '>');
    }
    if (skip_word(p, "frame")) {
        jn_subgraph *f;
        JN_TRY(need_char(p, '<'));
        JN_TRY(jn_parse_sub_name(p, &f));
        *out = (jn_type){.kind = JANUS_KIND_FRAME, .frame_of = f};
        return need_char(p, '>');
    }
    return parse_tensor(p, JANUS_KIND_TENSOR, out);
}

janus_status jn_parse_types(parser *p, type_list *out) {
    do {
        jn_type t;
        JN_TRY(jn_parse_type(p, &t));
        if (!jn_vec_push(&out->v, t))
            return JN_NO_MEMORY();
    } while (skip_char(p, ','));
    return JANUS_OK;
}
