/* The text form, read (docs/ir.md has the grammar).
 *
 * Three rounds over the text: the first takes the names of the SubGraphs, the second their
 * parameters and results (whose types may name SubGraphs), the third builds the bodies, so that
 * text may use what stands further down. Result types in the text are optional; given ones may be
 * wider than inferred.  At the end everything is verified, which is when the members of frames are
 * checked too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/text/parse_internal.h"
#include "graph/text/text.h"

static void skip_lines(parser *p) {
    while (p->lex.token == JN_TOK_LINE)
        jn_lex_next(&p->lex);
}

static janus_status need_line_end(parser *p) {
    if (p->lex.token != JN_TOK_LINE && !at_char(p, '}') && p->lex.token != JN_TOK_END)
        return jn_lex_error(&p->lex, "expected the end of the line");
    skip_lines(p);
    return JANUS_OK;
}

static janus_status need_number(parser *p, uint32_t *out) {
    int64_t v;
    if (p->lex.token != JN_TOK_WORD || !jn_parse_int64(p->lex.start, p->lex.n, &v) || v < 0 ||
        v > UINT32_MAX)
        return jn_lex_error(&p->lex, "expected a number");
    *out = (uint32_t)v;
    jn_lex_next(&p->lex);
    return JANUS_OK;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static janus_status add_value(parser *p, const char *name, size_t n, jn_value v) {
    value_name *e;
    HASH_FIND(hh, p->values, name, n, e);
    if (e)
        return jn_lex_error(&p->lex, "%%%.*s is defined twice", (int)(n < 100 ? n : 100), name);
    e = jn_arena_zalloc(&p->names, sizeof *e);
    const char *own = e ? jn_arena_strndup(&p->names, name, n) : NULL;
    if (!own)
        return JN_NO_MEMORY();
    e->name = own;
    e->value = v;
    HASH_ADD_KEYPTR(hh, p->values, own, n, e);
    return e->hh.tbl ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status parse_value(parser *p, jn_value *out) {
    size_t n;
    value_name *e;
    if (at_word(p, "_")) {
        *out = JN_VALUE_NONE;
        jn_lex_next(&p->lex);
        return JANUS_OK;
    }
    if (p->lex.token != JN_TOK_VALUE)
        return jn_lex_error(&p->lex, "expected a value (%%name or _)");
    const char *name = jn_lex_name(&p->lex, &n);
    HASH_FIND(hh, p->values, name, n, e);
    if (!e)
        return jn_lex_error(&p->lex, "%%%.*s is not defined above", (int)(n < 100 ? n : 100), name);
    *out = e->value;
    jn_lex_next(&p->lex);
    return JANUS_OK;
}

typedef struct value_list {
    JN_VEC(jn_value) v;
} value_list;

static bool at_value(const parser *p) { return p->lex.token == JN_TOK_VALUE || at_word(p, "_"); }

static janus_status parse_values(parser *p, value_list *out) {
    if (!at_value(p))
        return JANUS_OK;
    do {
        jn_value v;
        JN_TRY(parse_value(p, &v));
        if (!jn_vec_push(&out->v, v))
            return JN_NO_MEMORY();
    } while (skip_char(p, ','));
    return JANUS_OK;
}

/* ---- one line of a body -----------------------------------------------------------------------
 */

typedef struct node_line {
    jn_lexer start; /* of the op, for messages; owns no memory */
    const jn_op *op;
    value_list in;
    jn_subgraph *subs[2];
    char *attrs; /* in scratch */
    type_list types;
    jn_loc loc;
} node_line;

static janus_status parse_attrs(parser *p, node_line *n) {
    const jn_op *op = n->op;
    bool *given = jn_arena_zalloc(&p->scratch, 256);
    if (op->attr_size && !(n->attrs = jn_arena_zalloc(&p->scratch, op->attr_size)))
        return JN_NO_MEMORY();
    if (!given)
        return JN_NO_MEMORY();
    if (op->attr_size)
        JN_TRY(jn_attrs_default(op, n->attrs));
    if (skip_char(p, '{')) {
        do {
            const char *text;
            size_t len;
            const jn_attr_spec *spec =
                p->lex.token == JN_TOK_WORD ? jn_attr_find(op, p->lex.start, p->lex.n) : NULL;
            if (!spec)
                return jn_lex_error(&p->lex, "expected an attribute of %s", op->name);
            jn_lex_next(&p->lex);
            if (!at_char(p, '='))
                return jn_lex_error(&p->lex, "expected '='");
            jn_lex_next(&p->lex);
            jn_lexer before = p->lex;
            jn_lex_raw(&p->lex, &text, &len);
            before.quoted = (jn_str){0};
            janus_status st = jn_attr_parse(spec, text, len, &p->scratch, n->attrs);
            if (st == JANUS_NO_MEMORY)
                return st;
            if (st != JANUS_OK)
                return jn_lex_error(&before, "%s", janus_last_error()->message);
            if (spec - op->attrs < 256)
                given[spec - op->attrs] = true;
        } while (skip_char(p, ','));
        JN_TRY(need_char(p, '}'));
    }
    for (int i = 0; op->attr_size && op->attrs[i].name; i++) {
        if (!op->attrs[i].dflt && !given[i])
            return jn_lex_error(&n->start, "%s: attribute %s is required", op->name,
                                op->attrs[i].name);
    }
    return JANUS_OK;
}

static janus_status parse_call(parser *p, node_line *n) {
    if (n->op->role == JN_ROLE_IF || n->op->role == JN_ROLE_FOREACH) {
        jn_value v;
        JN_TRY(parse_value(p, &v));
        if (!jn_vec_push(&n->in.v, v))
            return JN_NO_MEMORY();
        JN_TRY(need_char(p, ','));
    }
    for (unsigned i = 0; i < jn_op_n_subs(n->op); i++) {
        if (i)
            JN_TRY(need_char(p, ','));
        JN_TRY(jn_parse_sub_name(p, &n->subs[i]));
    }
    JN_TRY(need_char(p, '('));
    JN_TRY(parse_values(p, &n->in));
    return need_char(p, ')');
}

static janus_status parse_loc(parser *p, jn_loc *out) {
    size_t n;
    if (p->lex.token != JN_TOK_SUB || p->lex.c != '"')
        return JANUS_OK;
    const char *file = jn_lex_name(&p->lex, &n);
    if (!(out->file = jn_module_intern_str(p->m, file)))
        return JN_NO_MEMORY();
    jn_lex_next(&p->lex);
    JN_TRY(need_char(p, ':'));
    JN_TRY(need_number(p, &out->line));
    JN_TRY(need_char(p, ':'));
    return need_number(p, &out->col);
}

/* Wraps an error of the builder with the position of the line. */
static janus_status at_line(const node_line *n, janus_status st) {
    return st == JANUS_OK || st == JANUS_NO_MEMORY
               ? st
               : jn_lex_error(&n->start, "%s", janus_last_error()->message);
}

static janus_status parse_const(parser *p, node_line *n, janus_kind kind, jn_value *out) {
    const char *text;
    size_t len;
    janus_scalar v = {0};
    jn_lexer before = p->lex;
    before.quoted = (jn_str){0};
    jn_lex_raw(&p->lex, &text, &len);
    bool ok = kind == JANUS_KIND_FLOAT ? jn_parse_double(text, len, &v.f)
              : kind == JANUS_KIND_INT ? jn_parse_int64(text, len, &v.i)
                                       : (len == 4 && !memcmp(text, "true", 4)) ||
                                             (len == 5 && !memcmp(text, "false", 5));
    if (!ok)
        return jn_lex_error(&before, "expected a constant, got '%.*s'", (int)(len < 60 ? len : 60),
                            text);
    if (kind == JANUS_KIND_BOOL)
        v.i = *text == 't';
    JN_TRY(parse_loc(p, &n->loc));
    return at_line(n, jn_build_scalar(p->g, kind, v, n->loc, out));
}

/* Builds the node; given types must be as wide as the inferred ones. */
static janus_status build_line(parser *p, node_line *n, unsigned n_results) {
    jn_type *types;
    unsigned n_out;
    jn_node *node;
    size_t n_given = n->types.v.n;
    if (n_given && n_given != n_results)
        return jn_lex_error(&n->start, "%u results, %zu types", n_results, n_given);
    if (n_given && n->op->role == JN_ROLE_SAVED) {
        /* The body that it looks into may not have been read yet: verified at the end. */
        types = n->types.v.data;
        n_out = (unsigned)n_given;
    } else {
        JN_TRY(at_line(n, jn_infer_node(p->g, n->op, n->in.v.data, (unsigned)n->in.v.n, n->attrs,
                                        n->subs, &p->scratch, n_results, &types, &n_out)));
        for (unsigned i = 0; i < n_given; i++) {
            if (!jn_type_fits(&types[i], &n->types.v.data[i]))
                return jn_lex_error(&n->start, "%s: result %u is %s here, but was inferred as %s",
                                    n->op->name, i, jn_type_text_of(&n->types.v.data[i]).s,
                                    jn_type_text_of(&types[i]).s);
            types[i] = n->types.v.data[i];
        }
    }
    return jn_append_node(p->g, n->op, n->in.v.data, (unsigned)n->in.v.n, n->attrs, n->subs, n->loc,
                          types, n_out, &node);
}

static janus_status parse_op(parser *p, node_line *n, unsigned n_results) {
    static const struct {
        const char *word;
        janus_kind kind;
    } consts[] = {{"int", JANUS_KIND_INT}, {"float", JANUS_KIND_FLOAT}, {"bool", JANUS_KIND_BOOL}};
    n->start = p->lex;
    n->start.quoted = (jn_str){0};
    if (p->lex.token != JN_TOK_WORD)
        return jn_lex_error(&p->lex, "expected an op");
    for (size_t i = 0; i < 3; i++) {
        jn_value v;
        if (!skip_word(p, consts[i].word))
            continue;
        if (n_results != 1)
            return jn_lex_error(&n->start, "a constant has one result");
        return parse_const(p, n, consts[i].kind, &v);
    }
    if (!(n->op = jn_op_find(p->lex.start, p->lex.n)))
        return jn_lex_error(&p->lex, "there is no op named %.*s",
                            (int)(p->lex.n < 60 ? p->lex.n : 60), p->lex.start);
    jn_lex_next(&p->lex);
    JN_TRY(jn_op_n_subs(n->op) ? parse_call(p, n) : parse_values(p, &n->in));
    JN_TRY(parse_attrs(p, n));
    if (skip_char(p, ':'))
        JN_TRY(jn_parse_types(p, &n->types));
    JN_TRY(parse_loc(p, &n->loc));
    return build_line(p, n, n_results);
}

/* "%a, %b = op ..." or "op ...": names are bound once the node stands. */
static janus_status parse_node(parser *p) {
    node_line n = {0};
    JN_VEC(value_name) results = {0};
    janus_status st = JANUS_OK;
    jn_lexer first = p->lex;
    first.quoted = (jn_str){0};
    if (p->lex.token == JN_TOK_VALUE) {
        do {
            size_t len;
            if (p->lex.token != JN_TOK_VALUE)
                JN_GO(jn_lex_error(&p->lex, "expected a value"), done);
            const char *name = jn_lex_name(&p->lex, &len);
            value_name r = {.name = jn_arena_strndup(&p->scratch, name, len)};
            if (!r.name || !jn_vec_push(&results, r))
                JN_GO(JN_NO_MEMORY(), done);
            jn_lex_next(&p->lex);
        } while (skip_char(p, ','));
        JN_GO(need_char(p, '='), done);
    }
    JN_GO(parse_op(p, &n, (unsigned)results.n), done);
    jn_lexer now = p->lex;
    for (unsigned i = 0; i < results.n; i++) {
        p->lex = first; /* a name taken already is reported where it stands */
        const char *name = results.data[i].name;
        st = add_value(p, name, strlen(name), (jn_value){(uint32_t)p->g->nodes.n - 1, i});
        p->lex = now;
        if (st != JANUS_OK)
            goto done;
    }
    st = need_line_end(p);
done:
    jn_vec_free(&results);
    jn_vec_free(&n.in.v);
    jn_vec_free(&n.types.v);
    jn_arena_reset(&p->scratch);
    return st;
}

/* ---- SubGraphs --------------------------------------------------------------------------------
 */

static janus_status parse_saved(parser *p) {
    do {
        jn_saved s = {0};
        if (skip_word(p, "frame")) {
            s.frame = true;
            if (skip_char(p, '#')) {
                JN_TRY(need_number(p, &s.value.node));
                if (s.value.node >= p->g->nodes.n)
                    return jn_lex_error(&p->lex, "there is no node #%u", s.value.node);
            } else {
                JN_TRY(parse_value(p, &s.value));
                s.value.index = 0;
            }
        } else {
            JN_TRY(parse_value(p, &s.value));
        }
        if (!jn_vec_push(&p->g->saved, s))
            return JN_NO_MEMORY();
    } while (skip_char(p, ','));
    return need_line_end(p);
}

static janus_status parse_return(parser *p, const jn_lexer *at) {
    value_list v = {0};
    janus_status st = parse_values(p, &v);
    if (st == JANUS_OK) {
        st = jn_subgraph_define(p->g, v.v.data, (unsigned)v.v.n);
        if (st != JANUS_OK && st != JANUS_NO_MEMORY)
            st = jn_lex_error(at, "%s", janus_last_error()->message);
    }
    jn_vec_free(&v.v);
    return st == JANUS_OK ? need_line_end(p) : st;
}

static janus_status parse_body(parser *p) {
    skip_lines(p);
    for (;;) {
        jn_lexer at = p->lex;
        at.quoted = (jn_str){0};
        if (skip_char(p, '}'))
            return p->g->defined ? JANUS_OK : jn_lex_error(&at, "a body ends with return");
        if (p->g->defined)
            return jn_lex_error(&p->lex, "nothing may follow return");
        if (skip_word(p, "return"))
            JN_TRY(parse_return(p, &at));
        else if (skip_word(p, "saved"))
            JN_TRY(parse_saved(p));
        else if (p->lex.token == JN_TOK_END)
            return jn_lex_error(&p->lex, "expected '}'");
        else
            JN_TRY(parse_node(p));
    }
}

static janus_status skip_body(parser *p) {
    for (int depth = 1; depth;) {
        if (p->lex.token == JN_TOK_END)
            return jn_lex_error(&p->lex, "expected '}'");
        depth += at_char(p, '{') - at_char(p, '}');
        jn_lex_next(&p->lex);
    }
    return JANUS_OK;
}

/* Declares parameter `i`, or binds its name for the body. */
static janus_status parse_param(parser *p, unsigned i, bool declare) {
    bool shared = skip_word(p, "shared");
    jn_type t;
    jn_value v = {0, i};
    size_t n;
    if (p->lex.token != JN_TOK_VALUE)
        return jn_lex_error(&p->lex, "expected a parameter (%%name: type)");
    const char *text = jn_lex_name(&p->lex, &n), *name = jn_arena_strndup(&p->scratch, text, n);
    if (!name)
        return JN_NO_MEMORY();
    if (!declare)
        JN_TRY(add_value(p, name, n, v));
    jn_lex_next(&p->lex);
    JN_TRY(need_char(p, ':'));
    JN_TRY(jn_parse_type(p, &t));
    return declare ? jn_subgraph_add_param(p->g, name, &t, shared, &v) : JANUS_OK;
}

static janus_status parse_result_types(parser *p, type_list *out) {
    if (!skip_char(p, '(')) {
        jn_type t;
        JN_TRY(jn_parse_type(p, &t));
        return jn_vec_push(&out->v, t) ? JANUS_OK : JN_NO_MEMORY();
    }
    if (skip_char(p, ')'))
        return JANUS_OK;
    JN_TRY(jn_parse_types(p, out));
    return need_char(p, ')');
}

/* Parameters, results and links: declared in one round, passed over in the next. */
static janus_status parse_header(parser *p, bool declare) {
    type_list results = {0};
    janus_status st = JANUS_OK;
    jn_subgraph *other;
    JN_TRY(need_char(p, '('));
    if (!skip_char(p, ')')) {
        unsigned i = 0;
        do {
            JN_TRY(parse_param(p, i++, declare));
        } while (skip_char(p, ','));
        JN_TRY(need_char(p, ')'));
    }
    if (p->lex.token != JN_TOK_ARROW)
        return jn_lex_error(&p->lex, "expected '->'");
    jn_lex_next(&p->lex);
    JN_GO(parse_result_types(p, &results), done);
    const jn_type **types = jn_arena_alloc(&p->scratch, results.v.n * sizeof *types);
    if (!types)
        JN_GO(JN_NO_MEMORY(), done);
    for (size_t i = 0; i < results.v.n; i++)
        types[i] = &results.v.data[i];
    if (declare)
        JN_GO(jn_subgraph_set_result_types(p->g, types, (unsigned)results.v.n), done);
    if (skip_word(p, "primal")) {
        JN_GO(jn_parse_sub_name(p, &other), done);
        p->g->primal = other;
    }
    if (skip_word(p, "grad")) {
        JN_GO(jn_parse_sub_name(p, &other), done);
        p->g->grad = other;
    }
    if (skip_word(p, "checkpoint"))
        p->g->checkpoint = true;
done:
    jn_vec_free(&results.v);
    return st;
}

enum { ROUND_NAMES, ROUND_HEADERS, ROUND_BODIES, N_ROUNDS };

static janus_status parse_sub(parser *p, int round) {
    size_t n;
    if (!skip_word(p, "sub"))
        return jn_lex_error(&p->lex, "expected 'sub' or '}'");
    if (p->lex.token != JN_TOK_SUB)
        return jn_lex_error(&p->lex, "expected a SubGraph (@name)");
    const char *text = jn_lex_name(&p->lex, &n);
    if (round == ROUND_NAMES) {
        if (n == 0 || jn_module_find(p->m, text, n))
            return jn_lex_error(&p->lex, "@%.*s is declared twice", (int)(n < 100 ? n : 100), text);
        char *name = jn_arena_strndup(&p->scratch, text, n);
        if (!name)
            return JN_NO_MEMORY();
        JN_TRY(jn_subgraph_declare(p->m, name, &p->g));
        /* Headers name other SubGraphs in frame types: passed over until all names are known. */
        while (!at_char(p, '{') && p->lex.token != JN_TOK_LINE && p->lex.token != JN_TOK_END)
            jn_lex_next(&p->lex);
    } else {
        p->g = jn_module_find(p->m, text, n);
        jn_lex_next(&p->lex);
        JN_TRY(parse_header(p, round == ROUND_HEADERS));
    }
    jn_arena_reset(&p->scratch);
    if (!skip_char(p, '{'))
        return need_line_end(p);
    if (round != ROUND_BODIES) {
        JN_TRY(skip_body(p));
        return need_line_end(p);
    }
    JN_TRY(parse_body(p));
    return need_line_end(p);
}

static janus_status parse_round(parser *p, int round) {
    skip_lines(p);
    if (!skip_word(p, "module"))
        return jn_lex_error(&p->lex, "expected 'module'");
    JN_TRY(need_char(p, '{'));
    skip_lines(p);
    while (!skip_char(p, '}')) {
        JN_TRY(parse_sub(p, round));
        HASH_CLEAR(hh, p->values);
        jn_arena_reset(&p->names);
    }
    skip_lines(p);
    if (p->lex.token != JN_TOK_END)
        return jn_lex_error(&p->lex, "nothing may follow the module");
    return JANUS_OK;
}

/* Bodies that were given must be right; declarations alone may stay declarations. */
static janus_status verify(const parser *p) {
    for (size_t i = 0; i < p->m->subs.n; i++) {
        const jn_subgraph *g = p->m->subs.data[i];
        if (g->defined && jn_verify_subgraph(g) != JANUS_OK) {
            const janus_error *e = janus_last_error();
            if (e->code == JANUS_NO_MEMORY)
                return e->code;
            return jn_error(JANUS_PARSE, "%.60s: @%.100s: %s%s%.100s", p->lex.name, g->name,
                            e->message, e->n_context ? ", " : "",
                            e->n_context ? e->context[0] : "");
        }
    }
    return JANUS_OK;
}

janus_status jn_parse_module(const char *text, size_t n, const char *name, janus_module **out) {
    parser p = {0};
    janus_status st;
    JN_TRY(jn_module_new(&p.m));
    jn_arena_init(&p.scratch, 0);
    jn_arena_init(&p.names, 0);
    for (int round = 0; round < N_ROUNDS; round++) {
        jn_lex_init(&p.lex, text, n, name);
        st = parse_round(&p, round);
        jn_lex_free(&p.lex);
        HASH_CLEAR(hh, p.values);
        jn_arena_reset(&p.names);
        if (st != JANUS_OK)
            goto failed;
    }
    JN_GO(verify(&p), failed);
    jn_arena_free(&p.scratch);
    jn_arena_free(&p.names);
    *out = p.m;
    return JANUS_OK;
failed:
    jn_arena_free(&p.scratch);
    jn_arena_free(&p.names);
    jn_module_release(p.m);
    return st;
}
