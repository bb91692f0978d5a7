/* SPDX-License-Identifier: Apache-2.0 */
/* The source files of a graph, as the viewer wants them. */
#include "config.h"

#include "tools/graph_view.h"

#include <stdio.h>
#include <string.h>

#include "graph/ir/ir.h"

enum { MOST_FILES = 32, MOST_BYTES = 1 << 20 };

static void quote(jn_str *out, const char *text) { jn_str_quote(out, text, strlen(text)); }

/* `"name":["line",...]`; nothing where the file cannot be read. */
static bool add_file(jn_str *out, const char *name, bool first) {
    FILE *f = fopen(name, "rb");
    if (!f)
        return false;
    jn_str_append(out, first ? "" : ",");
    quote(out, name);
    jn_str_append(out, ":[");
    char line[4096];
    size_t bytes = 0;
    for (bool any = false; bytes < MOST_BYTES && fgets(line, sizeof line, f); any = true) {
        size_t n = strlen(line);
        bytes += n + 1;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        jn_str_append(out, any ? "," : "");
        jn_str_quote(out, line, n);
    }
    jn_str_putc(out, ']');
    fclose(f);
    return true;
}

void graph_view_extra(const janus_module *m, const char *title, jn_str *out) {
    const char *seen[MOST_FILES];
    size_t n_seen = 0;
    bool any = false;
    jn_str_append(out, "{\"title\":");
    quote(out, title);
    jn_str_append(out, ",\"sources\":{");
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n && n_seen < MOST_FILES; k++) {
            const char *file = g->nodes.data[k]->loc.file;
            size_t j = 0;
            while (file && j < n_seen && strcmp(seen[j], file) != 0)
                j++;
            if (!file || j < n_seen)
                continue;
            seen[n_seen++] = file;
            any |= add_file(out, file, !any);
        }
    }
    jn_str_append(out, "}}");
}
