/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that grow in the arena of a conversion.
 *
 * Refusing is a longjmp, which passes by whatever would free a vector in automatic storage.  So the
 * converter's own lists have nothing to be freed: what they grow out of stays in the arena, which
 * is less than what they hold in the end.
 */
#ifndef JPY_CONVERT_CORE_LIST_H
#define JPY_CONVERT_CORE_LIST_H

#include "pyfront/convert/core/core.h"

#define JCV_LIST(T)                                                                                \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t n, cap;                                                                             \
    }

/* Room for one more item of `size` bytes; refuses when there is no memory. */
static inline void *jcv_list_room(jcv *c, void *data, size_t n, size_t *cap, size_t size) {
    if (n < *cap)
        return data;
    *cap = *cap ? 2 * *cap : 8;
    void *more = jcv_alloc(c, *cap * size);
    if (n)
        memcpy(more, data, n * size);
    return more;
}

/* Appends; the item is computed before the list grows. */
#define jcv_add(c, list, item)                                                                     \
    __extension__({                                                                                \
        __typeof__((list)->data[0]) jcv_item = (item);                                             \
        (list)->data = jcv_list_room((c), (list)->data, (list)->n, &(list)->cap, sizeof jcv_item); \
        (list)->data[(list)->n++] = jcv_item;                                                      \
    })

#endif
