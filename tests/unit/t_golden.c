/* Golden files: what is read and printed, reported and drawn, against texts under tests/golden.
 *
 *     ir/NAME.jir     printed again, the same bytes
 *     bad/NAME.jir    refused with the message in NAME.err
 *     pass/NAME.jir   its first line names the pass, the result is NAME.out
 *     dot/NAME.jir    drawn as NAME.dot and written as NAME.json
 *
 * With JANUS_UPDATE_GOLDEN=1 the expected texts are written instead (make update-golden).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "tests/unit/check.h"

static const char *root(void) {
    const char *srcdir = getenv("srcdir");
    return srcdir ? srcdir : "..";
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t n = 0, cap = 1 << 20;
    char *text = malloc(cap + 1);
    n = fread(text, 1, cap, f);
    text[n] = 0;
    fclose(f);
    return text;
}

/* Compares with, or writes, the golden file. */
static void expect(const char *path, const char *text) {
    if (getenv("JANUS_UPDATE_GOLDEN")) {
        FILE *f = fopen(path, "wb");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fputs(text, f);
        fclose(f);
        return;
    }
    char *want = read_file(path);
    bool same = want && !strcmp(want, text);
    if (!same)
        fprintf(stderr, "%s differs; got:\n%s\n", path, text);
    CU_ASSERT_TRUE(same);
    free(want);
}

typedef void (*case_fn)(const char *folder, const char *name, const char *text);

static unsigned for_each(const char *kind, case_fn run) {
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/tests/golden/%s", root(), kind);
    DIR *d = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    unsigned n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".jir"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        char *text = read_file(path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        *dot = 0;
        run(folder, e->d_name, text);
        free(text);
        n++;
    }
    closedir(d);
    return n;
}

static janus_module *parse(const char *name, const char *text) {
    janus_module *m = NULL;
    if (jn_parse_module(text, strlen(text), name, &m) != JANUS_OK)
        fprintf(stderr, "%s\n", janus_last_error()->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static char *print(const janus_module *m) {
    char *text = NULL;
    CU_ASSERT_EQUAL_FATAL(janus_module_print(m, &text), JANUS_OK);
    return text;
}

static void same_bytes(const char *folder, const char *name, const char *text) {
    (void)folder;
    janus_module *m = parse(name, text);
    char *again = print(m);
    if (strcmp(again, text))
        fprintf(stderr, "%s printed as:\n%s\n", name, again);
    CU_ASSERT_STRING_EQUAL(again, text);
    janus_free(again);
    jn_module_release(m);
}

static void reported(const char *folder, const char *name, const char *text) {
    char path[1024], file[256], message[600];
    janus_module *m = NULL;
    snprintf(file, sizeof file, "%s.jir", name);
    CU_ASSERT_EQUAL(jn_parse_module(text, strlen(text), file, &m), JANUS_PARSE);
    CU_ASSERT_PTR_NULL(m);
    snprintf(path, sizeof path, "%s/%s.err", folder, name);
    snprintf(message, sizeof message, "%s\n", janus_last_error()->message);
    expect(path, message);
}

static janus_status run_pass(janus_module *m, const char *pass) {
    if (!strcmp(pass, "optimize"))
        return jn_optimize(m);
    for (size_t i = 0; i < m->subs.n; i++) {
        jn_subgraph *g = m->subs.data[i];
        if (!strcmp(pass, "fold"))
            JN_TRY(jn_pass_fold(g));
        else if (!strcmp(pass, "cse"))
            JN_TRY(jn_pass_cse(g));
        else if (!strcmp(pass, "dce"))
            JN_TRY(jn_pass_dce(g));
        else if (!strcmp(pass, "inline"))
            JN_TRY(jn_pass_inline(g, 10));
        else
            return JANUS_NOT_FOUND;
    }
    return JANUS_OK;
}

static void passed(const char *folder, const char *name, const char *text) {
    char path[1024], pass[32] = "";
    sscanf(text, "// %31s", pass);
    janus_module *m = parse(name, text);
    CU_ASSERT_EQUAL_FATAL(run_pass(m, pass), JANUS_OK);
    CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
    char *after = print(m);
    snprintf(path, sizeof path, "%s/%s.out", folder, name);
    expect(path, after);
    /* What a pass leaves is text like any other, and running it again changes nothing. */
    same_bytes(folder, name, after);
    CU_ASSERT_EQUAL(run_pass(m, pass), JANUS_OK);
    char *twice = print(m);
    CU_ASSERT_STRING_EQUAL(twice, after);
    janus_free(twice);
    janus_free(after);
    jn_module_release(m);
}

static void drawn(const char *folder, const char *name, const char *text) {
    char path[1024], *out = NULL;
    janus_module *m = parse(name, text);
    CU_ASSERT_EQUAL_FATAL(janus_module_dot(m, &out), JANUS_OK);
    snprintf(path, sizeof path, "%s/%s.dot", folder, name);
    expect(path, out);
    janus_free(out);
    CU_ASSERT_EQUAL_FATAL(janus_module_json(m, &out), JANUS_OK);
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    expect(path, out);
    janus_free(out);
    jn_module_release(m);
}

static void texts_round_trip(void) { CU_ASSERT(for_each("ir", same_bytes) >= 4); }
static void errors_are_reported(void) { CU_ASSERT(for_each("bad", reported) >= 20); }
static void passes_do_what_they_say(void) { CU_ASSERT(for_each("pass", passed) >= 5); }
static void drawings_are_stable(void) { CU_ASSERT(for_each("dot", drawn) >= 1); }

/* The program that the documentation shows is one. */
static void documentation_is_right(void) {
    char path[512];
    snprintf(path, sizeof path, "%s/docs/ir.md", root());
    char *text = read_file(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *start = strstr(text, "```\nmodule {"), *end = start ? strstr(start + 4, "```") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    *end = 0;
    janus_module *m = parse("docs/ir.md", start + 4);
    CU_ASSERT_EQUAL(jn_module_freeze(m), JANUS_OK);
    jn_module_release(m);
    free(text);
}

JN_TEST_MAIN("golden", {"texts round trip", texts_round_trip},
             {"errors are reported", errors_are_reported},
             {"passes do what they say", passes_do_what_they_say},
             {"drawings are stable", drawings_are_stable},
             {"the documentation's program is one", documentation_is_right})
