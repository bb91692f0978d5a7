/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter-based generator: Philox4x32-10.
 *
 * The state is (seed, offset), both 64 bits: seed is the key, offset the low half of the 128-bit
 * counter.  Element i of a draw uses word i % 4 of counter offset + i / 4 (and, where 64 bits are
 * needed, the same word of the counter whose high half is 1) and nothing else, so elements can be
 * computed in any order.
 */
#ifndef JN_OPS_RNG_H
#define JN_OPS_RNG_H

#include <stdint.h>

/* How far a draw of n elements advances the offset. */
static inline int64_t jn_rng_draws(int64_t n) { return n / 4 + (n % 4 != 0); }

/* The four words of the counter {counter, high} under key `seed`. */
static inline void jn_philox(uint64_t seed, uint64_t counter, uint64_t high, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = (uint32_t)high,
             c3 = (uint32_t)(high >> 32), k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* A number in [0, 1): from one word 24 bits, exact in f32; from two 53 bits. */
static inline double jn_uniform24(uint32_t w) { return (double)(w >> 8) * 0x1p-24; }
static inline double jn_uniform53(uint32_t hi, uint32_t lo) {
    return (double)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53;
}

#endif
