/* A module as one HTML page that needs nothing else: the text form with links from calls to what
 * they call, uses lit up with their definition, and the drawing when there is one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/graph_internal.h"

static const char head[] =
    "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>janus</title><style>\n"
    "body{margin:0;font:13px/1.5 monospace;display:flex;height:100vh}\n"
    "nav{padding:1em;overflow:auto;background:#f4f4f4;max-width:22em;flex:none}\n"
    "nav a{display:block}main{padding:1em;overflow:auto;flex:1}\n"
    "a{color:#b06000;text-decoration:none}a:hover{text-decoration:underline}\n"
    "pre{margin:0 0 1em}.v{color:#1b4f8a;cursor:default}.on{background:#ffe9a8}\n"
    ".loc{color:#999}svg{max-width:100%;height:auto}\n"
    "</style></head><body>\n";

static const char tail[] =
    "<script>\n"
    "document.querySelectorAll('pre').forEach(p=>p.addEventListener('mouseover',e=>{\n"
    "  const t=e.target.dataset.v;\n"
    "  p.querySelectorAll('.v').forEach(x=>x.classList.toggle('on',t!==undefined&&"
    "x.dataset.v===t));\n"
    "}));\n"
    "</script></body></html>\n";

static void escape(jn_str *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        switch (text[i]) {
        case '<':
            jn_str_append(s, "&lt;");
            break;
        case '>':
            jn_str_append(s, "&gt;");
            break;
        case '&':
            jn_str_append(s, "&amp;");
            break;
        case '"':
            jn_str_append(s, "&quot;");
            break;
        default:
            jn_str_putc(s, text[i]);
        }
    }
}

/* Length of a quoted string, or of a name, at the start of the text. */
static size_t word_length(const char *text, size_t n) {
    size_t i = 0;
    if (n && text[0] == '"') {
        for (i = 1; i < n && text[i] != '"'; i++)
            i += text[i] == '\\' && i + 1 < n;
        return i < n ? i + 1 : n;
    }
    while (i < n && jn_is_name_char(text[i]))
        i++;
    return i;
}

/* What stands behind '@' is a SubGraph, or, quoted and followed by a line number, a position. */
static void at_sign(jn_str *s, const janus_module *m, const char *text, size_t n) {
    jn_str name = {0};
    if (n > 1 && text[1] == '"')
        jn_str_unquote(&name, text + 1, n - 1);
    else
        jn_str_appendn(&name, text + 1, n - 1);
    s->broken |= name.broken;
    const jn_subgraph *g = name.data ? jn_module_find(m, name.data, name.n) : NULL;
    if (g)
        jn_str_printf(s, "<a href=\"#g%u\">", g->index);
    else
        jn_str_append(s, "<span class=\"loc\">");
    escape(s, text, n);
    jn_str_append(s, g ? "</a>" : "</span>");
    jn_str_free(&name);
}

static void listing(jn_str *s, const janus_module *m, const char *text, size_t n) {
    for (size_t i = 0, len; i < n; i += len) {
        len = 1;
        if (text[i] == '"') {
            len = word_length(text + i, n - i);
            escape(s, text + i, len);
        } else if (text[i] == '%') {
            len += word_length(text + i + 1, n - i - 1);
            jn_str_append(s, "<span class=\"v\" data-v=\"");
            escape(s, text + i, len);
            jn_str_append(s, "\">");
            escape(s, text + i, len);
            jn_str_append(s, "</span>");
        } else if (text[i] == '@') {
            len += word_length(text + i + 1, n - i - 1);
            at_sign(s, m, text + i, len);
        } else {
            escape(s, text + i, 1);
        }
    }
}

void jn_print_html(const janus_module *m, const char *svg, jn_str *s) {
    jn_str text = {0};
    jn_str_append(s, head);
    jn_str_append(s, "<nav>\n");
    for (size_t i = 0; i < m->subs.n; i++) {
        text.n = 0;
        jn_str_name(&text, '@', m->subs.data[i]->name);
        jn_str_printf(s, "<a href=\"#g%zu\">", i);
        escape(s, text.data ? text.data : "", text.n);
        jn_str_append(s, "</a>\n");
    }
    jn_str_append(s, "</nav><main>\n");
    for (size_t i = 0; i < m->subs.n; i++) {
        text.n = 0;
        jn_print_subgraph(m->subs.data[i], &text);
        jn_str_printf(s, "<pre id=\"g%zu\">", i);
        listing(s, m, text.data ? text.data : "", text.n);
        jn_str_append(s, "</pre>\n");
    }
    s->broken |= text.broken;
    jn_str_free(&text);
    if (svg)
        jn_str_append(s, svg);
    jn_str_append(s, "</main>\n");
    jn_str_append(s, tail);
}
