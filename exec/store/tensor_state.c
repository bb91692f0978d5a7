/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages whose elements are not there, and where elements lie in a storage.
 *
 * All proxies have one address, of memory that cannot be read or written: code that got hold of it
 * past the accessors stops there instead of computing with what it finds.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/store/tensor.h"
#include "exec/store/tensor_rows.h"

_Thread_local bool jn_proxy_asked;
janus_status (*jn_storage_settle)(jn_storage *s);
janus_status (*jn_storage_viewed)(janus_tensor *base, int64_t offset, janus_tensor *view);
jn_storage jn_storage_of_cells = {.refs = 1};
char jn_exported;

uint32_t jn_storage_print(const jn_storage *s) {
    enum { LANES = 4 };
    const uint64_t by = 0x9e3779b97f4a7c15u;
    const char *p = s->raw, *end = p + s->bytes;
    uint64_t h[LANES] = {1, 2, 3, 4}, w;
    for (; end - p >= (ptrdiff_t)(LANES * sizeof w); p += LANES * sizeof w)
        for (int k = 0; k < LANES; k++) {
            memcpy(&w, p + (size_t)k * sizeof w, sizeof w);
            h[k] = ((h[k] ^ w) * by) ^ (h[k] >> 29);
        }
    for (; p < end; p++)
        h[0] = (h[0] ^ (unsigned char)*p) * by;
    uint64_t all = h[0];
    for (int k = 1; k < LANES; k++)
        all = (all ^ (h[k] >> 31) ^ h[k]) * by;
    uint32_t print = (uint32_t)(all >> 32);
    return print > JN_PRINT_WANTED ? print : print + JN_PRINT_WANTED + 1;
}

janus_status jn_tensor_settle(janus_tensor *t) {
    switch ((jn_storage_state)t->storage->state) {
    case JN_STORAGE_READY:
        return JANUS_OK;
    case JN_STORAGE_ROWS:
        return jn_tensor_fill(t);
    case JN_STORAGE_PENDING:
    case JN_STORAGE_LENT:
        return jn_storage_settle(t->storage);
    case JN_STORAGE_PROXY:
        break;
    }
    jn_proxy_asked = true;
    return jn_error(JANUS_UNSUPPORTED, "the elements of a tensor are needed before the graph runs");
}

int64_t jn_tensor_distance(const janus_tensor *from, const janus_tensor *to) {
    return (to->raw - from->raw) / (int64_t)jn_dtype_size((janus_dtype)from->dtype);
}

int64_t jn_tensor_offset(const janus_tensor *t) {
    return (t->raw - (char *)t->storage->raw) / (int64_t)jn_dtype_size((janus_dtype)t->dtype);
}

enum { NOWHERE_BYTES = 1 << 16 };
static void *nowhere;

static void reserve_nowhere(void) {
    void *p =
        mmap(NULL, NOWHERE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED)
        nowhere = p;
}

char *jn_nowhere(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, reserve_nowhere);
    return nowhere;
}

janus_status jn_tensor_proxy(janus_dtype dtype, int rank, const int64_t *dims,
                             const int64_t *strides, void (*release)(void *user), void *user,
                             janus_tensor **out) {
    char *nowhere_at = jn_nowhere();
    if (!nowhere_at)
        return JN_NO_MEMORY();
    JN_TRY(janus_tensor_wrap(dtype, rank, dims, strides, nowhere_at, release, user, out));
    (*out)->storage->state = JN_STORAGE_PROXY;
    return JANUS_OK;
}
