/* SPDX-License-Identifier: Apache-2.0 */
/* For whoever hands out memory in parts (exec/store/pool.c): tests count and fail the parts. */
#ifndef JN_BASE_PARTS_H
#define JN_BASE_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Memory that is handed out in parts: not counted, and none of them fails on purpose.  `align` is a
 * power of two; NULL when out of memory. */
void *jn_chunk_alloc(size_t size, size_t align);
void jn_chunk_free(void *p);
/* Whoever hands out parts of it asks for each whether allocations are watched (counted, or one is
 * to fail); if so, jn_alloc_count() counts one, false: it is the one that fails. */
extern atomic_int jn_alloc_mode;
enum { JN_ALLOC_UNSET, JN_ALLOC_PLAIN, JN_ALLOC_FULL };
static inline bool jn_alloc_watched(void) {
    return atomic_load_explicit(&jn_alloc_mode, memory_order_relaxed) == JN_ALLOC_FULL;
}
bool jn_alloc_count(void);
void jn_alloc_uncount(void);

#endif
