/* The module as JSON, for viewers and scripts.
 *
 *     {"subgraphs": [{"name", "params": [{"name", "type", "shared"}], "result_types": [type],
 *       "nodes": [{"id", "op", "in": [[node, result] | null], "out": [type], "attrs": text,
 *                  "subs": [name], "loc": [file, line, col]}],
 *       "results": [[node, result]], "saved": [[node, result, is_frame]],
 *       "primal": name, "grad": name}]}
 *
 * Types and attributes are texts as in the .jir form, which knows nan and inf; what is absent is
 * left out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/draw/draw.h"
#include "graph/ir/ir.h"

#include <string.h>

static void string(jn_str *s, const char *text) { jn_str_quote(s, text, strlen(text)); }

static void key(jn_str *s, const char *name) {
    string(s, name);
    jn_str_putc(s, ':');
}

static void comma(jn_str *s, size_t i) {
    if (i)
        jn_str_putc(s, ',');
}

static void text_of(jn_str *s, jn_str *text) {
    jn_str_quote(s, text->data ? text->data : "", text->n);
    s->broken |= text->broken;
    jn_str_free(text);
}

static void type(jn_str *s, const jn_type *t) {
    jn_str text = {0};
    jn_type_print(&text, t);
    text_of(s, &text);
}

static void types(jn_str *s, const jn_type *const *t, size_t n) {
    jn_str_putc(s, '[');
    for (size_t i = 0; i < n; i++) {
        comma(s, i);
        type(s, t[i]);
    }
    jn_str_putc(s, ']');
}

static void values(jn_str *s, const jn_value *v, size_t n) {
    jn_str_putc(s, '[');
    for (size_t i = 0; i < n; i++) {
        comma(s, i);
        if (jn_value_is_none(v[i]))
            jn_str_append(s, "null");
        else
            jn_str_printf(s, "[%u,%u]", v[i].node, v[i].index);
    }
    jn_str_putc(s, ']');
}

static void node(jn_str *s, const jn_node *n) {
    jn_str attrs = {0};
    jn_str_printf(s, "\n   {\"id\":%u,\"op\":", n->id);
    string(s, n->op->name);
    jn_str_append(s, ",\"in\":");
    values(s, n->in, n->n_in);
    jn_str_append(s, ",\"out\":");
    types(s, n->out, n->n_out);
    jn_attrs_print(n->op, n->attrs, &attrs);
    if (attrs.n) {
        jn_str_append(s, ",\"attrs\":");
        text_of(s, &attrs);
    }
    s->broken |= attrs.broken;
    unsigned n_subs = jn_op_n_subs(n->op);
    for (unsigned i = 0; i < n_subs; i++) {
        jn_str_append(s, i ? "," : ",\"subs\":[");
        string(s, n->subs[i]->name);
    }
    jn_str_append(s, n_subs ? "]" : "");
    if (n->loc.file) {
        jn_str_append(s, ",\"loc\":[");
        string(s, n->loc.file);
        jn_str_printf(s, ",%u,%u]", n->loc.line, n->loc.col);
    }
    jn_str_putc(s, '}');
}

static void params(jn_str *s, const jn_subgraph *g) {
    jn_str_putc(s, '[');
    for (size_t i = 0; i < g->params.n; i++) {
        const jn_param *p = &g->params.data[i];
        comma(s, i);
        jn_str_putc(s, '{');
        key(s, "name");
        string(s, p->name);
        jn_str_append(s, ",\"type\":");
        type(s, p->type);
        jn_str_append(s, p->shared ? ",\"shared\":true}" : ",\"shared\":false}");
    }
    jn_str_putc(s, ']');
}

static void link(jn_str *s, const char *name, const jn_subgraph *to) {
    if (!to)
        return;
    jn_str_append(s, ",\n  ");
    key(s, name);
    string(s, to->name);
}

static void subgraph(jn_str *s, const jn_subgraph *g) {
    jn_str_append(s, "\n {");
    key(s, "name");
    string(s, g->name);
    jn_str_append(s, g->defined ? ",\"defined\":true,\n  " : ",\"defined\":false,\n  ");
    key(s, "params");
    params(s, g);
    jn_str_append(s, ",\n  \"result_types\":");
    types(s, g->result_types.data, g->result_types.n);
    jn_str_append(s, ",\n  \"nodes\":[");
    for (size_t i = 1; i < g->nodes.n; i++) {
        comma(s, i - 1);
        node(s, g->nodes.data[i]);
    }
    jn_str_append(s, "],\n  \"results\":");
    values(s, g->results.data, g->results.n);
    jn_str_append(s, ",\n  \"saved\":[");
    for (size_t i = 0; i < g->saved.n; i++) {
        const jn_saved *m = &g->saved.data[i];
        comma(s, i);
        jn_str_printf(s, "[%u,%u,%s]", m->value.node, m->value.index, m->frame ? "true" : "false");
    }
    jn_str_putc(s, ']');
    link(s, "primal", g->primal);
    link(s, "grad", g->grad);
    jn_str_putc(s, '}');
}

void jn_print_json(const janus_module *m, jn_str *s) {
    jn_str_append(s, "{\"subgraphs\":[");
    for (size_t i = 0; i < m->subs.n; i++) {
        comma(s, i);
        subgraph(s, m->subs.data[i]);
    }
    jn_str_append(s, "]}\n");
}
