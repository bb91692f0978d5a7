/* Fuzzing models: the three files of an export, joined by lines of four dashes, may hold any bytes;
 * they are loaded or refused with a message, and nothing is left behind.
 *
 * An entry for libFuzzer (make tests/fuzz/fuzz_model_libfuzzer with clang); tests/fuzz/replay.c
 * makes a plain program of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/model/model.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_folders[] = {"fuzz/models", NULL};

static void must(bool ok) {
    if (!ok)
        abort(); /* a fuzzer's way to say so */
}

/* What is in front of the next line of dashes, in a block of its own, so that a sanitizer sees
 * reading past the end; *rest goes behind it. */
static jn_bytes part(jn_bytes *rest) {
    static const char line[] = "\n----\n";
    const size_t n_line = sizeof line - 1;
    size_t n = 0, skip = rest->n;
    while (n + n_line <= rest->n && memcmp(rest->data + n, line, n_line) != 0)
        n++;
    if (n + n_line <= rest->n)
        skip = n + n_line;
    else
        n = rest->n;
    char *copy = malloc(n ? n : 1);
    must(copy != NULL);
    memcpy(copy, rest->data, n);
    *rest = (jn_bytes){rest->data + skip, rest->n - skip};
    return (jn_bytes){copy, n};
}

/* All that is said of a model can be asked for. */
static void look(const janus_model *m, janus_weights *w) {
    for (unsigned i = 0; i < janus_model_arguments(m); i++) {
        must(janus_model_argument(m, i) != NULL);
        (void)janus_model_argument_type(m, i);
    }
    for (unsigned i = 0; i < janus_model_results(m); i++) {
        must(janus_model_result(m, i) != NULL);
        (void)janus_model_result_type(m, i);
    }
    (void)janus_weights_bytes(w);
}

/* The same with each allocation failing in turn: refused, or loaded where it was not needed. */
static void without_memory(jn_bytes graph, jn_bytes signature, jn_bytes weights) {
    for (uint64_t n = 1, left = 0; left == 0; n++) {
        janus_model *m = NULL;
        janus_weights *w = NULL;
        must(janus_weights_new(&w) == JANUS_OK);
        (void)jn_alloc_fail_after(n);
        if (jn_model_read("fuzz", graph, signature, weights, w, &m) != JANUS_OK)
            must(m == NULL && janus_last_error()->message[0] != 0);
        left = jn_alloc_fail_after(0);
        janus_weights_release(w);
        janus_model_release(m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int walks = 40; /* not all, for they take time */
    jn_bytes rest = {(const char *)data, size}, graph = part(&rest), signature = part(&rest),
             weights = part(&rest);
    janus_model *m = NULL;
    janus_weights *w = NULL;
    must(janus_weights_new(&w) == JANUS_OK);
    if (jn_model_read("fuzz", graph, signature, weights, w, &m) == JANUS_OK)
        look(m, w);
    else
        must(m == NULL && janus_last_error()->message[0] != 0);
    if (m && walks-- > 0)
        without_memory(graph, signature, weights);
    janus_weights_release(w);
    janus_model_release(m);
    free((void *)graph.data);
    free((void *)signature.data);
    free((void *)weights.data);
    return 0;
}
