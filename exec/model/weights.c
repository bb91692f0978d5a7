/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors by content: models that are loaded with one set of weights share equal ones. */
#include "config.h"

#include "exec/model/model.h"

#include <string.h>

#include "graph/base/hash.h"

typedef struct kept {
    uint64_t hash; /* of type, dims and bytes; two contents of one hash: the later is not shared */
    janus_tensor *t;
    UT_hash_handle hh;
} kept;

struct janus_weights {
    kept *all;
    uint64_t bytes;
};

janus_status janus_weights_new(janus_weights **out_weights) {
    if (!out_weights)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_weights_new: out_weights is NULL");
    janus_weights *w = jn_calloc(1, sizeof *w);
    if (!w)
        return JN_NO_MEMORY();
    *out_weights = w;
    return JANUS_OK;
}

void janus_weights_release(janus_weights *w) {
    kept *k = NULL, *next = NULL;
    if (!w)
        return;
    HASH_ITER(hh, w->all, k, next) {
        HASH_DEL(w->all, k);
        janus_tensor_release(k->t);
        jn_free(k);
    }
    jn_free(w);
}

uint64_t janus_weights_bytes(const janus_weights *w) { return w ? w->bytes : 0; }

static uint64_t hash_of(const jn_stored *t) {
    uint64_t h = jn_hash_mix(t->type.dtype, (uint64_t)t->type.rank), word;
    for (int i = 0; i < t->type.rank; i++)
        h = jn_hash_mix(h, (uint64_t)t->dims[i]);
    size_t i = 0;
    for (; i + 8 <= t->n; i += 8) {
        memcpy(&word, t->bytes + i, 8);
        h = jn_hash_mix(h, word);
    }
    for (; i < t->n; i++)
        h = jn_hash_mix(h, (unsigned char)t->bytes[i]);
    return h;
}

static bool same(const jn_stored *t, const janus_tensor *have) {
    return have->dtype == t->type.dtype && have->rank == t->type.rank &&
           memcmp(have->dims, t->dims, (size_t)t->type.rank * sizeof *t->dims) == 0 &&
           (t->n == 0 || memcmp(jn_tensor_ready_data(have), t->bytes, t->n) == 0);
}

janus_status jn_weights_get(janus_weights *w, const jn_stored *t, janus_tensor **out) {
    uint64_t hash = w ? hash_of(t) : 0;
    kept *k = NULL;
    if (w)
        HASH_FIND(hh, w->all, &hash, sizeof hash, k);
    if (k && same(t, k->t)) {
        janus_tensor_retain(k->t);
        *out = k->t;
        return JANUS_OK;
    }
    janus_tensor *made;
    JN_TRY(
        janus_tensor_from_data((janus_dtype)t->type.dtype, t->type.rank, t->dims, t->bytes, &made));
    if (w && !k) {
        k = jn_calloc(1, sizeof *k);
        if (k) {
            k->hash = hash;
            k->t = made;
            HASH_ADD(hh, w->all, hash, sizeof k->hash, k);
        }
        if (!k || !k->hh.tbl) {
            jn_free(k);
            janus_tensor_release(made);
            return JN_NO_MEMORY();
        }
        janus_tensor_retain(made);
        w->bytes += t->n;
    }
    *out = made;
    return JANUS_OK;
}
