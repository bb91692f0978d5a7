/* SPDX-License-Identifier: Apache-2.0 */
/* Running a chain: all of its nodes on one tile after the other, ranges of tiles on threads. */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/alloc.h"

enum {
    RANGE_WORK = 1 << 17, /* elements computed that pay for another thread */
    FEW_SUMS = 64
};

typedef struct job {
    const jn_chain *c;
    const jn_segment *seg;
    const jn_operands *data;
    uint32_t *flags;
    float *sums; /* per sum, per tile */
} job;

/* The element that a single-element operand is, n times. */
static void spread(char *to, const char *from, size_t size, int64_t n) {
    size_t bytes = size * (size_t)n, done = size;
    memcpy(to, from, size);
    for (; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

/* A view that lies elsewhere in each tile. */
typedef struct moving {
    jn_view *view;
    int64_t step;
} moving;

/* The data of each view at the first tile of the range; how many move from tile to tile. */
static uint32_t point(const job *j, jn_view *views, moving *moves, char *memory, int64_t first) {
    const jn_chain *c = j->c;
    uint32_t n = 0;
    for (uint32_t l = 0; l < c->n; l++)
        for (uint32_t i = 0; i < c->link[l].n_views; i++, views++) {
            const jn_chain_view *v = &c->link[l].view[i];
            *views = v->view;
            if (v->kind == JN_CHAIN_BUFFER)
                views->data = memory + (size_t)v->index * c->buffer_bytes;
            else if (v->kind == JN_CHAIN_SPREAD)
                views->data = memory + (size_t)(c->n_buffers + v->index) * c->buffer_bytes;
            else if (v->kind != JN_CHAIN_REGISTER)
                views->data = jn_operand_data(j->seg, j->data, &v->src);
            if (v->kind == JN_CHAIN_MOVES && v->step) {
                views->data = (char *)views->data + first * v->step;
                moves[n++] = (moving){views, v->step};
            }
        }
    return n;
}

static void shorten(const jn_chain *c, jn_view *views) {
    for (uint32_t l = 0; l < c->n; l++)
        for (uint32_t i = 0; i < c->link[l].n_views; i++, views++) {
            void *data = views->data;
            *views = c->link[l].view[i].rest;
            views->data = data;
        }
}

/* ---- programs ----------------------------------------------------------------------------------
 */

/* A thread's: the steps with the places of their operands. */
typedef struct running {
    jn_step *step;
    char *registers, *slots; /* blocks of JN_STEP_BLOCK_MOST elements */
} running;

enum { BLOCK_BYTES = JN_STEP_BLOCK_MOST * 4 };

static size_t program_bytes(const jn_program *p) {
    size_t steps = (p->n_steps * sizeof *p->step + 63) & ~(size_t)63;
    return steps + (size_t)(p->n_registers + p->n_slots) * BLOCK_BYTES;
}

static running begin_program(const jn_program *p, const jn_view *views, char *memory) {
    size_t steps = (p->n_steps * sizeof *p->step + 63) & ~(size_t)63;
    running r = {(jn_step *)(void *)memory, memory + steps, NULL};
    r.slots = r.registers + (size_t)p->n_registers * BLOCK_BYTES;
    memcpy(r.step, p->step, p->n_steps * sizeof *p->step);
    memset(r.slots, 0, (size_t)p->n_slots * BLOCK_BYTES);
    for (uint32_t i = 0; i < p->n_operands; i++) {
        const jn_step_operand *o = &p->operand[i];
        jn_step *s = &r.step[o->step];
        if (o->place == JN_PLACE_NUMBER)
            jn_step_set_number(s, &views[o->index]);
        else if (o->place == JN_PLACE_VIEW)
            s->stride[o->operand] = o->size;
        else
            s->data[o->operand] = o->place == JN_PLACE_SPREAD
                                      ? views[o->index].data
                                      : r.registers + (size_t)o->index * BLOCK_BYTES;
    }
    return r;
}

/* The program on a tile of n elements.  What is left of a last block lies in slots for its time. */
static void run_program(const jn_program *p, running *r, const jn_view *views, int64_t n) {
    int64_t block = jn_step_block(), whole = n / block, rest = n % block;
    for (uint32_t i = 0; i < p->n_moving; i++) {
        const jn_step_operand *o = &p->operand[i];
        r->step[o->step].data[o->operand] = views[o->index].data;
    }
    jn_steps_run(r->step, whole);
    if (!rest)
        return;
    for (int after = 0; after < 2; after++) {
        for (uint32_t i = 0; i < p->n_moving; i++) {
            const jn_step_operand *o = &p->operand[i];
            char *slot = r->slots + (size_t)o->slot * BLOCK_BYTES;
            char *at = (char *)views[o->index].data + whole * block * o->size;
            r->step[o->step].data[o->operand] = slot;
            if (o->writes == after)
                memcpy(after ? at : slot, after ? slot : at, (size_t)rest * o->size);
        }
        if (!after)
            jn_steps_run(r->step, 1);
    }
}

/* ---- tiles -------------------------------------------------------------------------------------
 */

static void run_kernels(const job *j, const jn_part *part, const jn_view *views) {
    const jn_chain *c = j->c;
    for (uint32_t l = part->first; l < part->first + part->n; l++) {
        const jn_vnode *vn = c->link[l].vn;
        const jn_view *v = views + c->link[l].first_view;
        jn_kargs k = {.in = v,
                      .out = v + vn->n_in,
                      .n_in = vn->n_in,
                      .n_out = vn->n_out,
                      .attrs = vn->attrs,
                      .flags = j->flags,
                      .par = &jn_par_serial};
        c->link[l].kernel(&k);
    }
}

static void sum_tile(const job *j, const jn_link *l, const jn_view *views, int64_t tile,
                     int64_t n) {
    j->sums[l->sum * j->c->tiles + tile] = jn_sum_block(views[l->first_view].data, n);
}

static size_t programs_bytes(const jn_chain *c) {
    size_t bytes = 0;
    for (uint32_t p = 0; p < c->n_parts; p++)
        if (c->part[p].program)
            bytes += program_bytes(c->part[p].program);
    return (bytes + c->n_parts * sizeof(running) + 63) & ~(size_t)63;
}

static void run_tiles(void *arg, int64_t begin, int64_t end) {
    const job *j = arg;
    const jn_chain *c = j->c;
    size_t buffers = (size_t)(c->n_buffers + c->n_spread) * c->buffer_bytes;
    size_t programs = programs_bytes(c);
    char *memory =
        jn_alloc_aligned(buffers + programs + c->n_views * (sizeof(jn_view) + sizeof(moving)) + 64);
    if (!memory) {
        __atomic_fetch_or(j->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
        return;
    }
    jn_view *views = (jn_view *)(void *)(memory + buffers + programs);
    moving *moves = (moving *)(void *)(views + c->n_views);
    uint32_t n_moves = point(j, views, moves, memory, begin);
    for (uint32_t k = 0; k < c->n_spread; k++) {
        const jn_chain_view *v = &c->spread[k];
        spread(memory + (size_t)(c->n_buffers + v->index) * c->buffer_bytes,
               jn_operand_data(j->seg, j->data, &v->src), jn_dtype_size((janus_dtype)v->view.dtype),
               c->spread_numel);
    }
    char *at = memory + buffers;
    running *running_of = (running *)(void *)(at + programs) - c->n_parts;
    for (uint32_t p = 0; p < c->n_parts; p++)
        if (c->part[p].program) {
            running_of[p] = begin_program(c->part[p].program, views, at);
            at += program_bytes(c->part[p].program);
        }
    for (int64_t t = begin; t < end; t++) {
        bool last = t == c->tiles - 1;
        if (last && c->rest != c->tile)
            shorten(c, views);
        int64_t n = c->numel / c->rows * (last ? c->rest : c->tile);
        for (uint32_t p = 0; p < c->n_parts; p++)
            if (c->part[p].program)
                run_program(c->part[p].program, &running_of[p], views, n);
            else if (c->link[c->part[p].first].sums)
                sum_tile(j, &c->link[c->part[p].first], views, t, n);
            else
                run_kernels(j, &c->part[p], views);
        for (uint32_t i = 0; i < n_moves; i++)
            moves[i].view->data = (char *)moves[i].view->data + moves[i].step;
    }
    jn_free_aligned(memory);
}

void jn_chain_run(const jn_chain *c, const jn_segment *seg, const jn_operands *data,
                  const jn_par *par, uint32_t *flags) {
    float few[FEW_SUMS];
    size_t n_sums = c->n_sums * (size_t)c->tiles;
    job j = {c, seg, data, flags, n_sums > FEW_SUMS ? jn_alloc(n_sums * sizeof(float)) : few};
    int64_t work = (int64_t)c->n * (c->numel / c->tiles + 1);
    if (!j.sums) {
        *flags |= JN_KFLAG_MEMORY;
        return;
    }
    par->run(par, c->tiles, RANGE_WORK / work + 1, run_tiles, &j);
    for (uint32_t l = c->n - c->n_sums; l < c->n; l++) {
        const jn_chain_view *to = &c->link[l].view[1];
        const float *sums = j.sums + c->link[l].sum * c->tiles;
        if (to->kind == JN_CHAIN_FIXED)
            jn_sum_finish(c->link[l].vn->op, sums, c->numel,
                          (float *)(void *)jn_operand_data(seg, data, &to->src));
    }
    if (j.sums != few)
        jn_free(j.sums);
}
