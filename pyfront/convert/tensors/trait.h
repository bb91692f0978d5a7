/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traits of values: what may be so of a tensor on some paths of the graph only, as that it requires
 * grad.
 */
#ifndef JPY_CONVERT_TENSORS_TRAIT_H
#define JPY_CONVERT_TENSORS_TRAIT_H

#include "pyfront/convert/tensors/tensors.h"

typedef struct jcv_trait {
    unsigned which; /* JCV_TRACKED, ... */
    /* Whether a value has it for what its node, or parameter of main, is; what an op computes else
     * has it if one of its operands has. */
    bool (*by_itself)(const jcv *c, const jcv_val *v);
    bool of_history; /* it is said of a history: a value without one counts as having it */
    bool by_number;  /* what is read back has it if its number is not 0 */
    bool branches;   /* a flag is made for what a branch of the function alone decides, too */
} jcv_trait;

/* Finds what all calls of recursions have in common.  To be called before the others, and again
 * when the graph has grown. */
void jcv_trait_survey(jcv *c, const jcv_trait *t);
/* Whether v has the trait whichever path is taken. */
bool jcv_trait_certain(jcv *c, const jcv_trait *t, jcv_val *v);
/* It was asserted. */
void jcv_trait_is(const jcv_trait *t, jcv_val *v);
/* A bool of the graph: whether v has it; NULL: *out_always says so. */
jcv_val *jcv_trait_flag(jcv *c, const jcv_trait *t, jcv_val *v, bool *out_always);

#endif
