/* SPDX-License-Identifier: Apache-2.0 */
/* Running a chain: all of its nodes on one tile after the other, ranges of tiles on threads. */
#include "config.h"

#include <string.h>

#include "exec/kernels/kernels.h"
#include "graph/base/alloc.h"

enum { RANGE_WORK = 1 << 17 /* elements computed that pay for another thread */ };

typedef struct job {
    const jn_chain *c;
    const jn_segment *seg;
    const jn_operands *data;
    uint32_t *flags;
} job;

/* The element that a single-element operand is, n times. */
static void spread(char *to, const char *from, size_t size, int64_t n) {
    size_t bytes = size * (size_t)n, done = size;
    memcpy(to, from, size);
    for (; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

static int64_t view_numel(const jn_view *v) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

/* The data of each view at the first tile of the range. */
static void point(const job *j, jn_view *views, int64_t *step, char *memory, int64_t first) {
    const jn_chain *c = j->c;
    for (uint32_t l = 0; l < c->n; l++)
        for (uint32_t i = 0; i <= c->link[l].vn->n_in; i++, views++, step++) {
            const jn_chain_view *v = &c->link[l].view[i];
            *views = v->view;
            *step = v->kind == JN_CHAIN_MOVES ? v->step : 0;
            if (v->kind == JN_CHAIN_BUFFER)
                views->data = memory + (size_t)v->index * c->buffer_bytes;
            else if (v->kind == JN_CHAIN_SPREAD)
                views->data = memory + (size_t)(c->n_buffers + v->index) * c->buffer_bytes;
            else
                views->data = jn_operand_data(j->seg, j->data, &v->src);
            if (*step)
                views->data = (char *)views->data + first * *step;
        }
}

static void shorten(const jn_chain *c, jn_view *views) {
    for (uint32_t l = 0; l < c->n; l++)
        for (uint32_t i = 0; i <= c->link[l].vn->n_in; i++, views++) {
            void *data = views->data;
            *views = c->link[l].view[i].rest;
            views->data = data;
        }
}

static void run_tiles(void *arg, int64_t begin, int64_t end) {
    const job *j = arg;
    const jn_chain *c = j->c;
    size_t buffers = (size_t)(c->n_buffers + c->n_spread) * c->buffer_bytes;
    char *memory =
        jn_alloc_aligned(buffers + c->n_views * (sizeof(jn_view) + sizeof(int64_t)) + 64);
    if (!memory) {
        __atomic_fetch_or(j->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
        return;
    }
    jn_view *views = (jn_view *)(void *)(memory + buffers);
    int64_t *step = (int64_t *)(void *)(views + c->n_views);
    point(j, views, step, memory, begin);
    for (uint32_t k = 0; k < c->n_spread; k++) {
        const jn_chain_view *v = &c->spread[k];
        spread(memory + (size_t)(c->n_buffers + v->index) * c->buffer_bytes,
               jn_operand_data(j->seg, j->data, &v->src), jn_dtype_size((janus_dtype)v->view.dtype),
               view_numel(&v->view));
    }
    for (int64_t t = begin; t < end; t++) {
        jn_view *v = views;
        if (t == c->tiles - 1 && c->rest != c->tile)
            shorten(c, views);
        for (uint32_t l = 0; l < c->n; l++) {
            const jn_vnode *vn = c->link[l].vn;
            jn_kargs k = {.in = v,
                          .out = v + vn->n_in,
                          .n_in = vn->n_in,
                          .n_out = 1,
                          .attrs = vn->attrs,
                          .flags = j->flags,
                          .par = &jn_par_serial};
            c->link[l].kernel(&k);
            v += vn->n_in + 1;
        }
        for (uint32_t i = 0; i < c->n_views; i++)
            views[i].data = (char *)views[i].data + step[i];
    }
    jn_free_aligned(memory);
}

void jn_chain_run(const jn_chain *c, const jn_segment *seg, const jn_operands *data,
                  const jn_par *par, uint32_t *flags) {
    job j = {c, seg, data, flags};
    int64_t work = (int64_t)c->n * (c->numel / c->tiles + 1);
    par->run(par, c->tiles, RANGE_WORK / work + 1, run_tiles, &j);
}
