/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small blocks, so that an eager op pays for no malloc.
 *
 * Blocks are 64-byte aligned.  Up to JN_POOL_MAX bytes they come from chunks of the calling thread
 * (a block may be freed on another thread than it came from); larger ones go straight to
 * jn_alloc_aligned.  The size must be given again when freeing.  What counts and fails allocations
 * for tests (graph/base/parts.h) counts and fails each block.
 */
#ifndef JN_EXEC_POOL_H
#define JN_EXEC_POOL_H

#include <stddef.h>

enum { JN_POOL_MAX = 4096 };

struct jn_thread;
void *jn_pool_alloc(size_t size); /* uninitialised; NULL when out of memory */
/* The same where no block of jn_pool_alloc() lies: for what is made in turn with tensors of the
 * same size, and walked without them. */
void *jn_pool_alloc_apart(struct jn_thread *me, size_t size);
/* jn_pool_alloc() of who knows its thread. */
void *jn_pool_take(struct jn_thread *me, size_t size);
void jn_pool_free(void *p, size_t size);
/* Gives back the memory of which this thread, and threads that have ended, use nothing. */
void jn_pool_trim(void);
/* All memory that is kept for later and not in use goes back to the system: before something that
 * needs much, and comes seldom. */
void jn_memory_trim(void);

#endif
