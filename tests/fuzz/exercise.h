/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is done with a module, done with one that a fuzzer made: optimised,
 * differentiated, run on the reference and the CPU device, and what they give compared.
 *
 * Runs are bounded in bytes and time.  What is wrong is printed to stderr and counted.
 */
#ifndef JN_TESTS_FUZZ_EXERCISE_H
#define JN_TESTS_FUZZ_EXERCISE_H

#include "graph/ir/ir.h"

/* Random numbers, from a seed other than 0. */
typedef struct fuzz_rng {
    uint64_t state;
} fuzz_rng;
uint64_t fuzz_random(fuzz_rng *r);
unsigned fuzz_below(fuzz_rng *r, unsigned n);
/* True once in n. */
static inline bool fuzz_once_in(fuzz_rng *r, unsigned n) { return fuzz_below(r, n) == 0; }

/* What was met; wrong: printed, and to be mended. */
typedef struct fuzz_counts {
    uint64_t modules, ran, raised, differentiated, wrong;
} fuzz_counts;

/* A tensor of these dims, strided in some way, of numbers that are mostly ordinary. */
janus_tensor *fuzz_tensor(fuzz_rng *r, janus_dtype dtype, int rank, const int64_t *dims);
janus_scalar fuzz_scalar(fuzz_rng *r, janus_kind kind);
void fuzz_release(janus_arg *a, unsigned n);

/* Runs `text`'s @name with these arguments everywhere, with and without optimisation, and its
 * gradient.  `args` fit the parameters or not: then every device says so. */
void fuzz_exercise(const char *text, size_t n, const char *name, const janus_arg *args,
                   unsigned n_args, fuzz_counts *counts);

#endif
