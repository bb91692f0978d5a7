/* A module as one HTML page that needs nothing else: the viewer (graph/draw/viewer.html) with the
 * graph as JSON in it, its text form, and what the caller knows besides. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "graph/draw/draw.h"
#include "graph/text/text.h"

static const char *const page[] = {
#include "graph/draw/viewer_page.inc"
};

/* JSON inside a script element: a '<', which is in strings only, must not end it. */
static void embed(jn_str *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '<')
            jn_str_append(s, "\\u003c");
        else
            jn_str_putc(s, text[i]);
    }
}

static void embed_all(jn_str *s, const jn_str *text) {
    embed(s, text->data ? text->data : "", text->n);
    s->broken |= text->broken;
}

static void data(const janus_module *m, const char *schedule, const char *extra, jn_str *s) {
    jn_str json = {0}, text = {0}, quoted = {0};
    jn_print_json(m, &json);
    jn_print_module(m, &text);
    jn_str_quote(&quoted, text.data ? text.data : "", text.n);
    quoted.broken |= text.broken;
    jn_str_append(s, "{\"module\":");
    embed_all(s, &json);
    jn_str_append(s, ",\"text\":");
    embed_all(s, &quoted);
    if (schedule) {
        jn_str_append(s, ",\"plan\":");
        embed(s, schedule, strlen(schedule));
    }
    if (extra) {
        jn_str_append(s, ",\"extra\":");
        embed(s, extra, strlen(extra));
    }
    jn_str_putc(s, '}');
    jn_str_free(&json);
    jn_str_free(&text);
    jn_str_free(&quoted);
}

void jn_print_html(const janus_module *m, const char *schedule, const char *extra, jn_str *s) {
    static const char mark[] = "DATA</script>";
    for (size_t i = 0; i < sizeof page / sizeof *page; i++) {
        const char *at = strstr(page[i], mark);
        if (!at) {
            jn_str_append(s, page[i]);
            continue;
        }
        jn_str_appendn(s, page[i], (size_t)(at - page[i]));
        data(m, schedule, extra, s);
        jn_str_append(s, at + 4);
    }
}
