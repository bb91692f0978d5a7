/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uthash with our allocator and without its exit() on exhausted memory: after HASH_ADD the new
 * item's hh.tbl is NULL when the table could not grow, and the item is not in the table.
 */
#ifndef JN_BASE_HASH_H
#define JN_BASE_HASH_H

#include "graph/base/alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) jn_alloc(size)
#define uthash_free(p, size) jn_free(p)
#define uthash_nonfatal_oom(item) ((void)(item))
#include <uthash.h>

/* Mixes `v` into the running hash `h`. */
static inline uint64_t jn_hash_mix(uint64_t h, uint64_t v) {
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

#endif
