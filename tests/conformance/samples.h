/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample applications of ops, at least one per row that computes (a suite checks it).
 *
 * Operands are text: f[2,3] floats in (-2, 2), p[...] floats in (0.5, 2), u[...] floats in (0, 1),
 * o[...] floats in (1.2, 2.7), s[...] special floats (NaN, infinities, zeros), n[...] integers in
 * -5..5, b[...] bools, i[...]<N integers in 0..N-1, t<...> with the same inside: with transposed
 * strides, #3 #2.5 #true scalars, _ absent.
 */
#ifndef JN_TESTS_CONFORMANCE_SAMPLES_H
#define JN_TESTS_CONFORMANCE_SAMPLES_H

#include "tests/conformance/interp.h"

enum {
    NO_GRAD = 1, /* rule not checked here: not differentiable at the sample, or no float operand */
    NO_GRAD2 = 2 /* second order is zero almost everywhere or not smooth */
};

typedef struct sample {
    const char *op, *operands, *attrs;
    int flags;
    double tol; /* relative, on f32; 0: 1e-5 */
} sample;

extern const sample samples[];
extern const unsigned n_samples;

/* Makes the operands (floats of dtype `fdt`), deterministic in `seed`; returns their number, -1
 * when the text is wrong. */
int sample_operands(tape *t, const sample *s, int fdt, uint64_t seed, val **out);
/* The attributes, NULL when the op has none. */
janus_status sample_attrs(tape *t, const sample *s, const jn_op *op, void **out);

#endif
