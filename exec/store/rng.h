/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random generator is two numbers: the seed and how much was drawn (ops/rng.h has the function of
 * both that gives the numbers).  A call that draws n elements takes the current offset and moves it
 * by jn_rng_draws(n), so eager and graph runs that draw the same draw equal numbers.
 */
#ifndef JN_EXEC_RNG_H
#define JN_EXEC_RNG_H

#include <stdint.h>

typedef struct jn_rng_state {
    uint64_t seed, offset;
} jn_rng_state;

#endif
