/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of JN_LARGE bytes and more, kept when they are freed: for graph/base/alloc.c only. */
#ifndef JN_BASE_LARGE_H
#define JN_BASE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

enum { JN_LARGE = 1 << 16 };

/* 64-byte aligned; size at least JN_LARGE and a multiple of 64. */
void *jn_large_alloc(size_t size);
/* A 64-byte aligned block of the C library, of any size; NULL is none. */
void jn_large_free(void *p);
/* Bytes that are held; gives them back. */
size_t jn_large_held(void);
void jn_large_trim(void);

#endif
