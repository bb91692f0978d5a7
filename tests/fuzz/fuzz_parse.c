/* Fuzzing the text form: any bytes may be given to the parser; what it accepts prints and reads
 * back as the same bytes, survives optimisation, can be drawn, differentiated and run.
 *
 * An entry for libFuzzer (make tests/fuzz/fuzz_parse_libfuzzer with clang); tests/fuzz/replay.c
 * makes a plain program of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "tests/fuzz/exercise.h"
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
    jn_print_html(m, NULL, NULL, &s);
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

enum { MAX_PARAMS = 16, MOST_ELEMENTS = 4096 };

/* An argument of that type, of sizes that agree where symbols say so.  False: none can be made. */
static bool argument(fuzz_rng *r, const jn_type *t, janus_arg *out) {
    int64_t dims[JN_MAX_RANK], n = 1;
    int rank = t->rank < 0 ? 2 : t->rank;
    *out = (janus_arg){.kind = (janus_kind)t->kind};
    if (t->kind == JANUS_KIND_INT || t->kind == JANUS_KIND_FLOAT || t->kind == JANUS_KIND_BOOL) {
        out->s = fuzz_scalar(r, out->kind);
        return true;
    }
    if (t->kind != JANUS_KIND_TENSOR || rank > 6)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t d = t->rank < 0 ? JN_DIM_UNKNOWN : t->dims[i];
        dims[i] = d >= 0 ? d : d == JN_DIM_UNKNOWN ? fuzz_below(r, 4) : 2 - d % 3;
        if (dims[i] > MOST_ELEMENTS || (n *= dims[i]) > MOST_ELEMENTS)
            return false;
    }
    out->t = fuzz_tensor(r, (janus_dtype)t->dtype, rank, dims);
    return out->t != NULL;
}

/* Each SubGraph that takes tensors and numbers. */
static void run_all(const janus_module *m, const char *text, size_t size) {
    static fuzz_rng r = {88172645463325252u};
    fuzz_counts counts = {0};
    if (!fuzz_once_in(&r, 8)) /* not all, for they take time */
        return;
    (void)janus_set_num_threads(1);
    for (size_t s = 0; s < m->subs.n && s < 4; s++) {
        const jn_subgraph *f = m->subs.data[s];
        janus_arg args[MAX_PARAMS];
        unsigned n = 0;
        bool ok = f->defined && f->params.n <= MAX_PARAMS;
        for (; ok && n < f->params.n; n += ok)
            ok = argument(&r, f->params.data[n].type, &args[n]);
        if (ok)
            fuzz_exercise(text, size, f->name, args, n, &counts);
        fuzz_release(args, n);
    }
    must(counts.wrong == 0);
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
    if (whole)
        run_all(m, (const char *)data, size);
    (void)jn_module_freeze(m); /* shared parameters may be wrong */
    jn_module_release(m);
    return 0;
}
