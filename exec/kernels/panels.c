/* SPDX-License-Identifier: Apache-2.0 */
/* Panels that are kept from run to run: see exec/kernels/panels.h. */
#include "config.h"

#include "exec/kernels/panels.h"

#include "exec/kernels/kernels.h"
#include "exec/store/store.h"

typedef struct weight {
    uint32_t arg;
    bool calm;       /* this run has found it as the one before had */
    uint16_t unseen; /* the storage's counts of writes when it was last looked at */
    uint32_t version;
} weight;

struct jn_panels {
    jn_packs packs; /* pack[i]: of the argument of weight[i], where that was last; its panels */
    weight weight[JN_MOST_PACKS];
};

static void drop(jn_pack *pack) {
    jn_free_aligned(pack->panels);
    pack->panels = NULL;
}

void jn_panels_look(jn_panels *p, const jn_arg *args, const uint8_t *known) {
    for (uint32_t i = 0; i < p->packs.n; i++) {
        weight *w = &p->weight[i];
        jn_pack *pack = &p->packs.pack[i];
        bool same = known && known[w->arg] == JN_KNOWN_TENSOR;
        w->calm = false;
        if (!same && args[w->arg].kind != JANUS_KIND_TENSOR) {
            drop(pack);
            pack->b = NULL;
            continue;
        }
        janus_tensor *t = args[w->arg].t;
        const jn_storage *s = t->storage;
        const char *data = jn_tensor_ready_data(t);
        w->calm = same && data && data == pack->b && s->version == w->version &&
                  s->unseen == w->unseen && !jn_storage_open(s);
        if (w->calm)
            continue;
        drop(pack);
        pack->b = data;
        w->version = s->version;
        w->unseen = s->unseen;
    }
}

const jn_packs *jn_panels_kept(const jn_panels *p) { return p ? &p->packs : NULL; }

void jn_panels_leave(jn_panels **of, uint32_t arg, jn_pack *pack) {
    if (!*of && !(*of = jn_calloc(1, sizeof **of)))
        return;
    jn_panels *p = *of;
    for (uint32_t i = 0; i < p->packs.n; i++) {
        jn_pack *at = &p->packs.pack[i];
        if (p->weight[i].arg != arg || at->n != pack->n || at->k != pack->k ||
            at->b_row != pack->b_row || at->b_col != pack->b_col)
            continue;
        if (p->weight[i].calm && !at->panels) {
            at->panels = pack->panels;
            pack->panels = NULL;
        }
        return;
    }
    if (p->packs.n == JN_MOST_PACKS)
        return;
    p->weight[p->packs.n] = (weight){.arg = arg};
    p->packs.pack[p->packs.n] = *pack;
    p->packs.pack[p->packs.n].b = p->packs.pack[p->packs.n].panels = NULL;
    p->packs.n++;
}

void jn_panels_free(jn_panels *p) {
    for (uint32_t i = 0; p && i < p->packs.n; i++)
        drop(&p->packs.pack[i]);
    jn_free(p);
}
