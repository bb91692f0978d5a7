/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable arrays: JN_VEC(type) declares {data, n, cap}; all-zero is an empty vector.
 *
 *     JN_VEC(int) v = {0};
 *     if (!jn_vec_push(&v, 42)) return JN_NO_MEMORY();
 *     jn_vec_free(&v);
 */
#ifndef JN_BASE_VEC_H
#define JN_BASE_VEC_H

#include "graph/base/alloc.h"

#define JN_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t n, cap;                                                                             \
    }

/* Grows *data to hold at least `need` items of `size` bytes; false when out of memory. */
bool jn_vec_grow(void **data, size_t *cap, size_t need, size_t size);

#define jn_vec_reserve(v, need)                                                                    \
    ((v)->cap >= (size_t)(need) ||                                                                 \
     jn_vec_grow((void **)&(v)->data, &(v)->cap, (size_t)(need), sizeof *(v)->data))
/* The item is computed first: it may push to the same vector, which moves. */
#define jn_vec_push(v, item)                                                                       \
    __extension__({                                                                                \
        __typeof__((v)->data[0]) jn_vec_item = (item);                                             \
        jn_vec_reserve((v), (v)->n + 1) ? ((v)->data[(v)->n++] = jn_vec_item, true) : false;       \
    })
#define jn_vec_pop(v) ((v)->data[--(v)->n])
#define jn_vec_last(v) ((v)->data[(v)->n - 1])
#define jn_vec_clear(v) ((void)((v)->n = 0))
#define jn_vec_free(v) (jn_free((v)->data), (v)->data = NULL, (v)->n = 0, (v)->cap = 0, (void)0)

#endif
