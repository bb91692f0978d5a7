/* Fuzzing the text form: any bytes may be given to the parser; what it accepts prints and reads
 * back as the same bytes, survives optimisation and can be drawn.
 *
 * An entry for libFuzzer (make tests/fuzz/fuzz_parse_libfuzzer with clang); tests/fuzz/replay.c
 * makes a plain program of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/pass.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_folders[] = {"golden/ir", "golden/bad", "golden/pass", "fuzz/corpus", NULL};

static void must(bool ok) {
    if (!ok)
        abort(); /* a fuzzer's way to say so */
}

static void draw(const janus_module *m) {
    jn_str s = {0};
    jn_print_dot(m, &s);
    jn_print_json(m, &s);
    jn_print_html(m, NULL, &s);
    must(jn_str_ok(&s));
    jn_str_free(&s);
}

static void same_again(const janus_module *m) {
    jn_str first = {0}, second = {0};
    janus_module *again = NULL;
    jn_print_module(m, &first);
    must(jn_parse_module(first.data, first.n, "again", &again) == JANUS_OK);
    jn_print_module(again, &second);
    must(first.n == second.n && !memcmp(first.data, second.data, first.n));
    jn_module_release(again);
    jn_str_free(&first);
    jn_str_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    janus_module *m = NULL;
    if (jn_parse_module((const char *)data, size, "fuzz", &m) != JANUS_OK) {
        must(janus_last_error()->message[0] != 0);
        return 0;
    }
    same_again(m);
    draw(m);
    bool whole = jn_verify_module(m) == JANUS_OK;
    if (jn_optimize(m) == JANUS_OK && whole) {
        must(jn_verify_module(m) == JANUS_OK);
        same_again(m);
    }
    (void)jn_module_freeze(m); /* shared parameters may be wrong */
    jn_module_release(m);
    return 0;
}
