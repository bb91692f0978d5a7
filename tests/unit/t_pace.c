/* SPDX-License-Identifier: Apache-2.0 */
/* Which way parts of a list run: as took less, whatever each way takes and however that changes. */
#include "config.h"

#include "exec/kernels/pace.h"
#include "tests/unit/check.h"

/* Runs that take `turn` one after the other and `beside` beside each other, every `lost`-th of
 * these `long_` more; how many of them were beside each other. */
static int runs(jn_pace *p, int n, int64_t turn, int64_t beside, int lost, int64_t long_) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool b = p->beside;
        count += b;
        jn_pace_took(p, b ? beside + (lost && i % lost == 0 ? long_ : 0) : turn);
    }
    return count;
}

static void what_takes_less_is_taken(void) {
    for (int64_t turn = 1000; turn < 1000000; turn *= 3)
        for (int64_t beside = 500; beside < 2000000; beside *= 3) {
            jn_pace p = {0};
            int many = runs(&p, 20000, turn, beside, 0, 0);
            bool pays = (double)beside * 1.1 < (double)turn;
            CU_ASSERT(pays ? many > 19700 : many < 400);
        }
}

static void first_runs_are_not_measured(void) {
    jn_pace p = {0};
    runs(&p, 100, 40000, 25000, 0, 0);
    CU_ASSERT(p.beside);
    p = (jn_pace){0};
    int waking = 0;
    for (int i = 0; i < 40000; i++) {
        waking = p.beside ? waking + 1 : 0;
        jn_pace_took(&p, !p.beside ? 40000 : waking < 4 ? 4000000 : 25000);
    }
    CU_ASSERT(p.beside || p.n < 100);
}

static void a_core_that_is_lost_counts(void) {
    jn_pace p = {0}; /* seldom: 25 us and 3 ms of 20,000 */
    CU_ASSERT(runs(&p, 100000, 40000, 25000, 1000, 3000000) > 90000);
    p = (jn_pace){0}; /* often: more than is gained */
    CU_ASSERT(runs(&p, 100000, 40000, 25000, 50, 3000000) < 10000);
}

static void what_changes_is_found_out(void) {
    jn_pace p = {0};
    runs(&p, 5000, 40000, 80000, 0, 0);
    CU_ASSERT(runs(&p, 20000, 40000, 25000, 0, 0) > 8000);
    CU_ASSERT(runs(&p, 20000, 40000, 80000, 0, 0) < 1000);
    CU_ASSERT(runs(&p, 30000, 40000, 25000, 0, 0) > 15000);
    CU_ASSERT(runs(&p, 60000, 20000, 25000, 0, 0) < 20000); /* the other way got faster */
}

/* Where the first runs one after the other were long by chance, the other way does not stay. */
static void a_chance_is_not_believed(void) {
    for (int at = 0; at < 24; at++) {
        jn_pace p = {0};
        int beside = 0;
        for (int i = 0; i < 20000; i++) {
            beside += p.beside;
            jn_pace_took(&p, p.beside ? 80000 : i == at ? 4000000 : 40000);
        }
        CU_ASSERT(beside < 400);
    }
}

JN_TEST_MAIN("pace", {"what takes less is taken", what_takes_less_is_taken},
             {"first runs are not measured", first_runs_are_not_measured},
             {"a core that is lost counts", a_core_that_is_lost_counts},
             {"a chance is not believed", a_chance_is_not_believed},
             {"what changes is found out", what_changes_is_found_out})
