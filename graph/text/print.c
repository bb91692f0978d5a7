/* The text form, written (docs/ir.md has the grammar; graph/text/parse.c reads it).
 *
 * Every node is one line, also one without results: the n-th line of a body is node n, so names of
 * values are numbers and parse(print(m)) prints the same bytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"
#include "graph/text/text.h"

#include <string.h>

void jn_print_value(jn_str *s, const jn_subgraph *g, jn_value v) {
    if (jn_value_is_none(v))
        jn_str_putc(s, '_');
    else if (v.node == 0)
        jn_str_name(s, '%', v.index < g->params.n ? g->params.data[v.index].name : "?");
    else if (v.node < g->nodes.n && g->nodes.data[v.node]->n_out > 1)
        jn_str_printf(s, "%%%u.%u", v.node, v.index);
    else
        jn_str_printf(s, "%%%u", v.node);
}

static void print_values(jn_str *s, const jn_subgraph *g, const jn_value *v, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (i)
            jn_str_append(s, ", ");
        jn_print_value(s, g, v[i]);
    }
}

static void print_types(jn_str *s, const jn_type *const *types, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i)
            jn_str_append(s, ", ");
        jn_type_print(s, types[i]);
    }
}

static void print_const(jn_str *s, janus_kind kind, janus_scalar v) {
    if (kind == JANUS_KIND_FLOAT) {
        jn_str_append(s, "float ");
        jn_str_double(s, v.f);
    } else if (kind == JANUS_KIND_BOOL) {
        jn_str_append(s, v.i ? "bool true" : "bool false");
    } else {
        jn_str_printf(s, "int %lld", (long long)v.i);
    }
}

/* A call: the operand that decides, the SubGraphs, then the others in parentheses. */
static void print_call(jn_str *s, const jn_subgraph *g, const jn_node *n) {
    unsigned first = n->op->role == JN_ROLE_IF || n->op->role == JN_ROLE_FOREACH;
    const char *separator = " ";
    if (first && n->n_in) {
        jn_str_putc(s, ' ');
        jn_print_value(s, g, n->in[0]);
        separator = ", ";
    }
    for (unsigned i = 0; i < jn_op_n_subs(n->op); i++) {
        jn_str_append(s, separator);
        jn_str_name(s, '@', n->subs[i]->name);
        separator = ", ";
    }
    jn_str_putc(s, '(');
    if (n->n_in > first)
        print_values(s, g, n->in + first, n->n_in - first);
    jn_str_putc(s, ')');
}

static void print_node(jn_str *s, const jn_subgraph *g, const jn_node *n) {
    janus_kind kind;
    janus_scalar v;
    jn_str_append(s, "    ");
    for (unsigned i = 0; i < n->n_out; i++) {
        if (i)
            jn_str_append(s, ", ");
        jn_print_value(s, g, (jn_value){n->id, i});
    }
    if (n->n_out)
        jn_str_append(s, " = ");
    if (jn_const_value(n, &kind, &v)) {
        print_const(s, kind, v);
    } else {
        jn_str_append(s, n->op->name);
        if (jn_op_n_subs(n->op)) {
            print_call(s, g, n);
        } else if (n->n_in) {
            jn_str_putc(s, ' ');
            print_values(s, g, n->in, n->n_in);
        }
        size_t before = s->n;
        jn_str_putc(s, ' ');
        jn_attrs_print(n->op, n->attrs, s);
        if (s->n == before + 1 && jn_str_ok(s))
            s->data[--s->n] = 0;
        bool none = n->op->role == JN_ROLE_CONST && n->n_out && n->out[0]->kind == JANUS_KIND_NONE;
        if (n->n_out && !none) {
            jn_str_append(s, " : ");
            print_types(s, n->out, n->n_out);
        }
    }
    if (n->loc.file) {
        jn_str_append(s, " @");
        jn_str_quote(s, n->loc.file, strlen(n->loc.file));
        jn_str_printf(s, ":%u:%u", n->loc.line, n->loc.col);
    }
    jn_str_putc(s, '\n');
}

static void print_saved(jn_str *s, const jn_subgraph *g) {
    for (size_t i = 0; i < g->saved.n; i++) {
        const jn_saved *m = &g->saved.data[i];
        jn_str_append(s, i ? ", " : "    saved ");
        if (!m->frame)
            jn_print_value(s, g, m->value);
        else
            jn_str_printf(s, "frame #%u", m->value.node);
    }
    if (g->saved.n)
        jn_str_putc(s, '\n');
}

static void print_header(jn_str *s, const jn_subgraph *g) {
    jn_str_append(s, "  sub ");
    jn_str_name(s, '@', g->name);
    jn_str_putc(s, '(');
    for (size_t i = 0; i < g->params.n; i++) {
        const jn_param *p = &g->params.data[i];
        jn_str_append(s, i ? ", " : "");
        jn_str_append(s, p->shared ? "shared " : "");
        jn_str_name(s, '%', p->name);
        jn_str_append(s, ": ");
        jn_type_print(s, p->type);
    }
    jn_str_append(s, ") -> ");
    bool parens = g->result_types.n != 1;
    jn_str_append(s, parens ? "(" : "");
    print_types(s, g->result_types.data, g->result_types.n);
    jn_str_append(s, parens ? ")" : "");
    if (g->primal) {
        jn_str_append(s, " primal ");
        jn_str_name(s, '@', g->primal->name);
    }
    if (g->grad) {
        jn_str_append(s, " grad ");
        jn_str_name(s, '@', g->grad->name);
    }
    if (g->checkpoint)
        jn_str_append(s, " checkpoint");
}

void jn_print_subgraph(const jn_subgraph *g, jn_str *s) {
    print_header(s, g);
    if (!g->defined && g->nodes.n == 1) {
        jn_str_putc(s, '\n');
        return;
    }
    jn_str_append(s, " {\n");
    for (size_t i = 1; i < g->nodes.n; i++)
        print_node(s, g, g->nodes.data[i]);
    print_saved(s, g);
    if (g->defined) {
        jn_str_append(s, "    return");
        jn_str_append(s, g->results.n ? " " : "");
        print_values(s, g, g->results.data, (unsigned)g->results.n);
        jn_str_putc(s, '\n');
    }
    jn_str_append(s, "  }\n");
}

void jn_print_module(const janus_module *m, jn_str *s) {
    jn_str_append(s, "module {\n");
    for (size_t i = 0; i < m->subs.n; i++)
        jn_print_subgraph(m->subs.data[i], s);
    jn_str_append(s, "}\n");
}
