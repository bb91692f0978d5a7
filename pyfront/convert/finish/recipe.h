/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the graph becomes recipes that make it at commit. */
#ifndef JPY_CONVERT_FINISH_RECIPE_H
#define JPY_CONVERT_FINISH_RECIPE_H

#include "pyfront/convert/core/core.h"
#include "pyfront/convert/core/list.h"

typedef struct jcv_finishing {
    jpy_entry *e;
    JCV_LIST(const void *) ids; /* address of what has an identity -> its recipe id, place + 1 */
    JCV_LIST(jcv_rec *) escaped;
    JCV_LIST(void *) making; /* what is made here and whose recipes are being written */
} jcv_finishing;

/* Zeroed, as long as the entry. */
void *jcv_entry_alloc(jcv *c, jpy_entry *e, size_t size);
/* The number of the graph's result that it is. */
uint32_t jcv_add_result(jcv *c, jcv_val *v);
/* What makes the value at commit. */
jpy_recipe *jcv_recipe(jcv *c, jcv_finishing *f, jcv_av *a);

/* finish.c: pairs that are written to a dict, all of it where it is whole. */
jcv_av *jcv_written_pairs(jcv *c, jcv_av *d);

/* hold.c: what c->left holds is handed over, after all recipes of what else leaves. */
void jcv_hand_over(jcv *c, jcv_finishing *f);

#endif
