/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bump allocator: graph construction and run-time records live in arenas and are freed all at once.
 * Not thread-safe; one owner.  Memory is 16-byte aligned.
 */
#ifndef JN_BASE_ARENA_H
#define JN_BASE_ARENA_H

#include <stddef.h>

typedef struct jn_arena_chunk jn_arena_chunk;
typedef struct jn_arena {
    jn_arena_chunk *first, *current;
    char *ptr, *end;
    size_t chunk_size;
    size_t bytes; /* of all chunks */
} jn_arena;

void jn_arena_init(jn_arena *a, size_t chunk_size /* 0: default 16 KiB */);
void *jn_arena_alloc(jn_arena *a, size_t size);  /* NULL when out of memory; uninitialised */
void *jn_arena_zalloc(jn_arena *a, size_t size); /* zeroed */
void *jn_arena_dup(jn_arena *a, const void *p, size_t size);
char *jn_arena_strdup(jn_arena *a, const char *s);
char *jn_arena_strndup(jn_arena *a, const char *s, size_t n);
void jn_arena_reset(jn_arena *a); /* keeps the chunks for reuse */
void jn_arena_free(jn_arena *a);

#endif
