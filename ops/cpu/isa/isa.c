/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the instruction set, once: see ops/cpu/isa.h. */
#include "config.h"

#include "ops/cpu/isa.h"

#include <stdlib.h>
#include <string.h>

jn_isa_table jn_isa;

static void fill_generic(jn_isa_table *t) {
    t->name = "generic";
#define X(name) jn_isa_fill_##name##_generic(t);
    JN_ISA_FILLS(X)
#undef X
}

#ifdef __x86_64__
static void fill_avx2(jn_isa_table *t) {
    t->name = "avx2";
#define X(name) jn_isa_fill_##name##_avx2(t);
    JN_ISA_FILLS(X)
#undef X
}

static void fill_avx512(jn_isa_table *t) {
    t->name = "avx512";
#define X(name) jn_isa_fill_##name##_avx512(t);
    JN_ISA_FILLS(X)
#undef X
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

bool jn_isa_use(const char *name) {
    void (*fill)(jn_isa_table *) = strcmp(name, "generic") == 0 ? fill_generic : NULL;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (strcmp(name, "avx512") == 0 && has_avx512())
        fill = fill_avx512;
    else if (strcmp(name, "avx2") == 0 && has_avx2())
        fill = fill_avx2;
#endif
    if (!fill)
        return false;
    memset(&jn_isa, 0, sizeof jn_isa);
    fill(&jn_isa);
    return true;
}

__attribute__((constructor)) static void choose(void) {
    const char *asked = getenv("JANUS_ISA");
    if (asked && jn_isa_use(asked))
        return;
    if (!jn_isa_use("avx512") && !jn_isa_use("avx2"))
        jn_isa_use("generic");
}
