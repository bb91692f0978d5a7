/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of weights: see exec/kernels/kept.h. */
#include "config.h"

#include "exec/kernels/kept.h"

#include "exec/kernels/kernels.h"
#include "exec/store/store.h"

enum {
    CALM = 8,            /* runs after which a weight is believed to stay: turning it costs a few */
    MOST_BYTES = 1 << 20 /* of a list */
};

bool jn_kept_add(jn_kept *k, jn_arena *a, uint32_t arg, const jn_op *op, const jn_kargs *call,
                 const void **place) {
    size_t bytes = jn_kept_bytes(op, call);
    if (!bytes)
        return true;
    jn_kept_weight *w = NULL;
    for (size_t i = 0; i < k->weights.n && !w; i++)
        if (k->weights.data[i].arg == arg && k->weights.data[i].bytes == bytes)
            w = &k->weights.data[i];
    if (!w) {
        if (bytes > MOST_BYTES - k->bytes)
            return true;
        if (!jn_vec_push(&k->weights, ((jn_kept_weight){.arg = arg, .of = call, .bytes = bytes})))
            return false;
        w = &k->weights.data[k->weights.n - 1];
        k->bytes += bytes;
    }
    jn_kept_place *p = jn_arena_alloc(a, sizeof *p);
    if (!p)
        return false;
    *p = (jn_kept_place){place, w->places};
    w->places = p;
    return true;
}

static void use(jn_kept_weight *w, const void *kept) {
    for (jn_kept_place *p = w->places; p; p = p->next)
        *p->place = kept;
    w->in_use = kept != NULL;
}

void jn_kept_look(jn_kept *k, const jn_arg *args, const uint8_t *known) {
    for (size_t i = 0; i < k->weights.n; i++) {
        jn_kept_weight *w = &k->weights.data[i];
        janus_tensor *t = args[w->arg].t;
        const jn_storage *s = t->storage;
        const char *data = jn_tensor_ready_data(t);
        if (JN_LIKELY(known && known[w->arg] == JN_KNOWN_TENSOR && s->version == w->version &&
                      s->unseen == w->unseen && data == w->data && !jn_storage_open(s))) {
            if (JN_LIKELY(w->in_use) || w->calm < CALM) {
                w->calm += w->calm < CALM;
                continue;
            }
            if (!w->kept && !(w->kept = jn_alloc_aligned(w->bytes))) {
                w->calm = 0; /* without it, it is slower */
                continue;
            }
            jn_keep(w->of, data, w->kept);
            use(w, w->kept);
            continue;
        }
        if (w->in_use)
            use(w, NULL);
        w->calm = 0;
        w->version = s->version;
        w->unseen = s->unseen;
        w->data = data;
    }
}

void jn_kept_free(jn_kept *k) {
    for (size_t i = 0; i < k->weights.n; i++)
        jn_free_aligned(k->weights.data[i].kept);
    jn_vec_free(&k->weights);
}
