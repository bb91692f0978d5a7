/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an op does with operands of given types and strides, found once: the kernel, the results'
 * types, or the strides of a view.  Running a recipe costs an allocation per result and the kernel;
 * jn_eager() infers and selects in every call.  Recipes exist for small contiguous operands of few
 * dims; the others have work to do that hides what they would save.
 */
#ifndef JN_EXEC_RECIPE_H
#define JN_EXEC_RECIPE_H

#include "exec/eager/now.h"

enum {
    JN_RECIPE_IN = 8,
    JN_RECIPE_OUT = 3,
    JN_RECIPE_RANK = JN_LAYOUT_RANK,
    JN_RECIPE_NUMEL = 32768
};

typedef struct jn_recipe {
    const jn_op *op;
    jn_kernel_fn kernel; /* NULL: the result is a view of operand 0 */
    size_t workspace;
    uint16_t n_in, n_out;
    jn_layout out[JN_RECIPE_OUT];
    int64_t offset; /* of a view, in elements */
} jn_recipe;

/* Whether there is one for calls like this; the error record does not count.  `any_size`: also
 * where operands are large, but not the results. */
bool jn_recipe_make(jn_recipe *r, const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                    const void *attrs, unsigned n_out, bool any_size);
/* The results of jn_eager() for operands of the types and strides it was made for; scalars are
 * views of 0-d cells, `first` is operand 0 where it is a tensor. */
janus_status jn_recipe_run(jn_thread *me, const jn_recipe *r, const jn_view *in, const void *attrs,
                           janus_tensor *first, janus_tensor **out);
/* The kernel alone; `out`: views of the results' types, row-major. */
janus_status jn_recipe_compute(const jn_recipe *r, const jn_view *in, const jn_view *out,
                               const void *attrs);
/* Result 0 over `dst`, which has its type, is contiguous, and shares memory with no operand but
 * operand 0, where that is `dst` itself and the row says INPLACE0. */
janus_status jn_recipe_run_into(jn_thread *me, const jn_recipe *r, const jn_view *in,
                                const void *attrs, janus_tensor *dst);

#endif
