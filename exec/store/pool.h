/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free lists for small blocks, one set per thread, so that an eager op pays for no malloc.
 *
 * Blocks are 64-byte aligned.  Up to JN_POOL_MAX bytes they come from and go to the lists of the
 * calling thread (a block may be freed on another thread than it came from); larger ones go
 * straight to jn_alloc_aligned.  The size must be given again when freeing.
 */
#ifndef JN_EXEC_POOL_H
#define JN_EXEC_POOL_H

#include <stddef.h>

enum { JN_POOL_MAX = 4096 };

void *jn_pool_alloc(size_t size); /* uninitialised; NULL when out of memory */
void jn_pool_free(void *p, size_t size);
/* Gives this thread's cached blocks back. */
void jn_pool_trim(void);

#endif
