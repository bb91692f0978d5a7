/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that many tensors share: the results of a group lie in one block, row behind row, and each
 * stays where it was computed.
 *
 * A slab is cut into units, and a unit is free again when nothing in it is held any more.  So a
 * small tensor that outlives all the others keeps the units that it touches and no more of them.
 * What is kept here and there leaves no long stretches: all slabs together have a bound, beyond
 * which there is nothing to be taken, and tensors get blocks of their own.
 * Taking is for one thread at a time; whoever holds something lets go of it on any thread.
 */
#ifndef JN_EXEC_SLAB_H
#define JN_EXEC_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { JN_SLAB_UNIT = 4096 };

typedef struct jn_slab {
    struct jn_slab *next;
    char *data;
    unsigned units;
    atomic_uint holds[]; /* per unit; 0: free */
} jn_slab;

/* Takes `bytes` bytes, which are held until jn_slabs_end(); NULL: there are none. */
char *jn_slabs_take(size_t bytes, jn_slab **of);
/* What has been taken is held no longer by the taker.  Slabs that are free as a whole are kept for
 * the next time, up to a bound. */
void jn_slabs_end(void);
/* A tensor's part of what was taken, and of what is held already. */
void jn_slab_hold(jn_slab *s, const char *p, size_t bytes);
void jn_slab_let_go(jn_slab *s, const char *p, size_t bytes);

#endif
