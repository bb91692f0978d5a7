/* Growth of JN_VEC arrays: doubling, with checked sizes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/vec.h"

bool jn_vec_grow(void **data, size_t *cap, size_t need, size_t size) {
    size_t n = *cap ? *cap : 8, bytes;
    while (n < need) {
        if (!jn_mul_size(n, 2, &n))
            return false;
    }
    if (!jn_mul_size(n, size, &bytes))
        return false;
    void *p = jn_realloc(*data, bytes);
    if (!p)
        return false;
    *data = p;
    *cap = n;
    return true;
}
