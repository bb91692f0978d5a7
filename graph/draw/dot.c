/* Drawing in Graphviz' language: a cluster per SubGraph, solid edges for values, dashed ones from a
 * call to what it calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/draw/draw.h"
#include "graph/ir/ir.h"

static const char *colour_of(const jn_op *op) {
    switch ((jn_role)op->role) {
    case JN_ROLE_COMPUTE:
        return "#dbe9f6";
    case JN_ROLE_SCALAR:
    case JN_ROLE_CONST:
        return "#f2f2f2";
    case JN_ROLE_INVOKE:
    case JN_ROLE_IF:
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
        return "#fde7c5";
    case JN_ROLE_SAVED:
    case JN_ROLE_GRAD:
    case JN_ROLE_ACC:
        return "#e6dcf2";
    case JN_ROLE_HOST:
    case JN_ROLE_RNG:
        return "#dff0d8";
    case JN_ROLE_ASSERT:
        return "#f6d5d5";
    case JN_ROLE_NOTE:
        break;
    }
    return "#ffffff";
}

static void label(jn_str *s, const jn_str *text) {
    jn_str_quote(s, text->data ? text->data : "", text->n);
    s->broken |= text->broken;
}

static void node_label(jn_str *s, const jn_node *n) {
    jn_str text = {0};
    janus_kind kind;
    janus_scalar v;
    if (!jn_const_value(n, &kind, &v)) {
        jn_str_append(&text, n->op->name);
        for (unsigned i = 0; i < jn_op_n_subs(n->op); i++) {
            jn_str_putc(&text, ' ');
            jn_str_name(&text, '@', n->subs[i]->name);
        }
        jn_str_putc(&text, ' ');
        jn_attrs_print(n->op, n->attrs, &text);
    } else if (kind == JANUS_KIND_FLOAT) {
        jn_str_double(&text, v.f);
    } else {
        jn_str_printf(&text, "%lld", (long long)v.i);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        jn_str_append(&text, i ? ", " : "\n");
        jn_type_print(&text, n->out[i]);
    }
    label(s, &text);
    jn_str_free(&text);
}

static void draw_node(jn_str *s, const jn_subgraph *g, const jn_node *n) {
    jn_str_printf(s, "    g%un%u [label=", g->index, n->id);
    node_label(s, n);
    jn_str_printf(s, ", fillcolor=\"%s\"", colour_of(n->op));
    if (n->loc.file) {
        jn_str text = {0};
        jn_str_printf(&text, "%s:%u:%u", n->loc.file, n->loc.line, n->loc.col);
        jn_str_append(s, ", tooltip=");
        label(s, &text);
        jn_str_free(&text);
    }
    jn_str_append(s, "];\n");
}

static void name_of(jn_str *s, const jn_subgraph *g, jn_value v) {
    if (v.node == 0)
        jn_str_printf(s, "g%up%u", g->index, v.index);
    else
        jn_str_printf(s, "g%un%u", g->index, v.node);
}

static void draw_edges(jn_str *s, const jn_subgraph *g, const jn_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (jn_value_is_none(n->in[i]))
            continue;
        jn_str_append(s, "    ");
        name_of(s, g, n->in[i]);
        jn_str_printf(s, " -> g%un%u", g->index, n->id);
        if (n->n_in > 1)
            jn_str_printf(s, " [headlabel=\"%u\"]", i);
        jn_str_append(s, ";\n");
    }
}

static void draw_subgraph(jn_str *s, const jn_subgraph *g) {
    jn_str text = {0};
    jn_str_printf(s, "  subgraph cluster_%u {\n    label=", g->index);
    jn_str_name(&text, '@', g->name);
    label(s, &text);
    jn_str_append(s, ";\n");
    /* The anchor of calls, also of a body that is not there yet. */
    jn_str_printf(s, "    g%ue [label=", g->index);
    label(s, &text);
    jn_str_append(s, ", shape=cds, fillcolor=\"#fde7c5\"];\n");
    for (uint32_t i = 0; i < g->params.n; i++) {
        text.n = 0;
        jn_str_append(&text, g->params.data[i].shared ? "shared " : "");
        jn_str_name(&text, '%', g->params.data[i].name);
        jn_str_putc(&text, '\n');
        jn_type_print(&text, g->params.data[i].type);
        jn_str_printf(s, "    g%up%u [shape=ellipse, label=", g->index, i);
        label(s, &text);
        jn_str_append(s, "];\n");
        jn_str_printf(s, "    g%ue -> g%up%u [style=invis];\n", g->index, g->index, i);
    }
    for (size_t i = 1; i < g->nodes.n; i++)
        draw_node(s, g, g->nodes.data[i]);
    for (size_t i = 1; i < g->nodes.n; i++)
        draw_edges(s, g, g->nodes.data[i]);
    for (uint32_t i = 0; i < g->results.n; i++) {
        jn_str_printf(s, "    g%ur%u [shape=ellipse, label=\"return %u\"];\n    ", g->index, i, i);
        name_of(s, g, g->results.data[i]);
        jn_str_printf(s, " -> g%ur%u;\n", g->index, i);
    }
    jn_str_append(s, "  }\n");
    jn_str_free(&text);
}

void jn_print_dot(const janus_module *m, jn_str *s) {
    jn_str_append(s,
                  "digraph janus {\n"
                  "  node [shape=box, style=filled, fillcolor=\"#ffffff\", fontname=\"Helvetica\", "
                  "fontsize=10];\n"
                  "  edge [fontname=\"Helvetica\", fontsize=8];\n");
    for (size_t i = 0; i < m->subs.n; i++)
        draw_subgraph(s, m->subs.data[i]);
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n; k++) {
            const jn_node *n = g->nodes.data[k];
            for (unsigned j = 0; j < jn_op_n_subs(n->op); j++)
                jn_str_printf(s, "  g%un%u -> g%ue [style=dashed, color=\"#b06000\"];\n", g->index,
                              n->id, n->subs[j]->index);
        }
    }
    jn_str_append(s, "}\n");
}
