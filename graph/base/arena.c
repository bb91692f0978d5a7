/* The bump allocator: a list of chunks, filled one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/arena.h"

#include <stdint.h>
#include <string.h>

#include "graph/base/alloc.h"

struct jn_arena_chunk {
    jn_arena_chunk *next;
    size_t size; /* of the memory after the header */
};

enum { HEADER = 16, ALIGN = 16, DEFAULT_CHUNK = 16 * 1024 };
_Static_assert(sizeof(jn_arena_chunk) <= HEADER, "chunk memory must stay 16-byte aligned");

static char *memory_of(jn_arena_chunk *c) { return (char *)c + HEADER; }

static void enter(jn_arena *a, jn_arena_chunk *c) {
    a->current = c;
    a->ptr = memory_of(c);
    a->end = a->ptr + c->size;
}

void jn_arena_init(jn_arena *a, size_t chunk_size) {
    *a = (jn_arena){.chunk_size = chunk_size ? chunk_size : DEFAULT_CHUNK};
}

/* Chunks after `current` are empty (left by a reset); one that is too small is skipped until the
 * next reset. */
static void *alloc_in_next_chunk(jn_arena *a, size_t size) {
    jn_arena_chunk *next = a->current ? a->current->next : a->first;
    while (next && next->size < size)
        next = next->next;
    if (!next) {
        size_t bytes = size > a->chunk_size ? size : a->chunk_size, total;
        if (!jn_add_size(bytes, HEADER, &total) || !(next = jn_alloc(total)))
            return NULL;
        next->size = bytes;
        a->bytes += total;
        if (a->current) {
            next->next = a->current->next;
            a->current->next = next;
        } else {
            next->next = a->first;
            a->first = next;
        }
    }
    enter(a, next);
    void *p = a->ptr;
    a->ptr += size;
    return p;
}

void *jn_arena_alloc(jn_arena *a, size_t size) {
    if (size > SIZE_MAX - 2 * ALIGN)
        return NULL;
    size = (size + !size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((size_t)(a->end - a->ptr) < size)
        return alloc_in_next_chunk(a, size);
    void *p = a->ptr;
    a->ptr += size;
    return p;
}

void *jn_arena_zalloc(jn_arena *a, size_t size) {
    void *p = jn_arena_alloc(a, size);
    return p ? memset(p, 0, size) : NULL;
}

void *jn_arena_dup(jn_arena *a, const void *p, size_t size) {
    void *copy = jn_arena_alloc(a, size);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

char *jn_arena_strdup(jn_arena *a, const char *s) { return jn_arena_strndup(a, s, strlen(s)); }

char *jn_arena_strndup(jn_arena *a, const char *s, size_t n) {
    char *copy = n == SIZE_MAX ? NULL : jn_arena_alloc(a, n + 1);
    if (copy) {
        memcpy(copy, s, n);
        copy[n] = 0;
    }
    return copy;
}

void jn_arena_reset(jn_arena *a) {
    if (a->first)
        enter(a, a->first);
}

void jn_arena_free(jn_arena *a) {
    for (jn_arena_chunk *c = a->first, *next; c; c = next) {
        next = c->next;
        jn_free(c);
    }
    jn_arena_init(a, a->chunk_size);
}
