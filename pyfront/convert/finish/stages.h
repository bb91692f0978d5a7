/* SPDX-License-Identifier: Apache-2.0 */
/* Main cut into stages: see gradient.c. */
#ifndef JCV_STAGES_H
#define JCV_STAGES_H

#include "pyfront/convert/finish/finish.h"

typedef JN_VEC(jn_value) jcv_value_list;

typedef struct jcv_staging {
    jpy_entry *e;
    jn_subgraph *g;           /* main */
    uint32_t *cut;            /* first node of each stage, then the end */
    unsigned n;               /* stages */
    bool exact;               /* contributions are added in the order of the tape */
    bool *active;             /* per node: it depends on a parameter that requires grad */
    bool **asked;             /* per stage and value that is read of it: gradients come to it */
    jn_subgraph **sub;        /* per stage */
    jcv_value_list *in, *out; /* per stage: what it reads from outside, what is read of it */
} jcv_staging;

enum { JCV_ANY_LEAF = UINT32_MAX };

static inline bool jcv_is_float_type(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(t->dtype);
}

/* Finds where main is cut. */
janus_status jcv_find_cuts(jcv_staging *s, jn_arena *a);
/* Marks the nodes that gradients flow through to parameter `param`; JCV_ANY_LEAF: any that requires
 * grad. */
void jcv_find_active(const jcv_staging *s, const jn_subgraph *g, uint32_t param, bool *active);
/* Of main in several stages, in exact numerics: what a stage hands on has a sum of its own; after
 * `active`. */
janus_status jcv_check_turns(const jcv_staging *s, jn_arena *a);
unsigned jcv_stage_of(const jcv_staging *s, jn_value v);
/* Keys of rows stay within a stage: a gradient of each is a run, which has the marks of its own
 * (docs/adr/0054-rows-of-lists.md). */
janus_status jcv_check_keys(const jcv_staging *s, jn_arena *a);
/* What each stage reads from outside and what others read of it. */
janus_status jcv_find_borders(jcv_staging *s);
/* Which of what a stage gives gets a gradient; after `active` and the borders. */
janus_status jcv_find_asked(jcv_staging *s, jn_arena *a);

#endif
