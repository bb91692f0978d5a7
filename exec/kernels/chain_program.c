/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a chain as a program of steps (ops/steps.h).
 *
 * The accumulator holds what the last step computed.  Steps are put in an order in which the next
 * one reads it, if there is one; what is read later on is stored into a register, a block of
 * scratch, when the accumulator is needed for something else.  What leaves the program is stored
 * where it belongs, and read there.
 */
#include "config.h"

#include <string.h>

#include "exec/kernels/chain.h"
#include "graph/base/status.h"

/* A link, or a tensor of bools that is read as a mask. */
typedef struct item {
    const jn_link *link;           /* NULL: a tensor of bools */
    const jn_chain_view *tensor;   /* which, then */
    uint32_t view;                 /* the tensor's, or what a link writes if it leaves */
    uint32_t in[JN_STEP_OPERANDS]; /* items; jn_nobody: the view of the link's operand */
    uint8_t n_in;
    bool mask, leaves, stored, done;
    uint32_t uses; /* operands of items to come */
    uint32_t reg;  /* where it is stored; jn_nobody: in the view that it leaves to */
} item;

typedef struct writer {
    jn_program *p;
    item *item;
    uint32_t n, held;       /* held: the item in the accumulator, or jn_nobody */
    uint32_t *idle, n_idle; /* registers */
    uint32_t *slot_of, first_view;
} writer;

static void add_operand(writer *w, jn_operand_place place, uint8_t operand, uint32_t index,
                        uint8_t size, bool writes) {
    jn_step_operand o = {w->p->n_steps, index, 0, operand, (uint8_t)place, size, writes};
    if (place == JN_PLACE_VIEW) {
        uint32_t *slot = &w->slot_of[index - w->first_view];
        if (*slot == jn_nobody)
            *slot = w->p->n_slots++;
        o.slot = *slot;
    }
    w->p->operand[w->p->n_operands++] = o;
}

static void add_move(writer *w, jn_step_move move) {
    jn_step_make_move(move, &w->p->step[w->p->n_steps++]);
}

/* What is in the accumulator goes into a register. */
static void keep_held(writer *w) {
    item *it = &w->item[w->held];
    it->reg = w->n_idle ? w->idle[--w->n_idle] : w->p->n_registers++;
    it->stored = true;
    add_operand(w, JN_PLACE_REGISTER, 0, it->reg, 4, true);
    add_move(w, JN_STEP_STORE);
}

static void let_go(writer *w, item *it) {
    if (--it->uses == 0 && it->stored && it->reg != jn_nobody)
        w->idle[w->n_idle++] = it->reg;
}

/* The operands of an item that are in the accumulator, as bits of a form that the op has. */
static unsigned find_form(const writer *w, const item *it, const jn_sig *sig, jn_step *step) {
    unsigned held = 0;
    for (unsigned k = 0; k < it->n_in; k++)
        if (w->held != jn_nobody && it->in[k] == w->held)
            held |= 1u << k;
    if (jn_step_make(sig, held, step))
        return held;
    held &= ~held + 1;
    if (jn_step_make(sig, held, step))
        return held;
    jn_step_make(sig, 0, step);
    return 0;
}

static void add_link_step(writer *w, item *it) {
    const jn_vnode *vn = it->link->vn;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    jn_step step;
    unsigned held = find_form(w, it, &sig, &step), in_held = 0;
    for (unsigned k = 0; k < it->n_in; k++)
        in_held += held >> k & 1;
    if (w->held != jn_nobody && !w->item[w->held].stored && w->item[w->held].uses > in_held)
        keep_held(w);
    for (unsigned k = 0; k < it->n_in; k++) {
        const jn_chain_view *v = &it->link->view[k];
        uint8_t size = (uint8_t)jn_dtype_size((janus_dtype)vn->in[k].dtype);
        if (held >> k & 1)
            continue;
        if (it->in[k] == jn_nobody)
            add_operand(w, v->kind == JN_CHAIN_SPREAD ? JN_PLACE_SPREAD : JN_PLACE_VIEW, (uint8_t)k,
                        it->link->first_view + k, size, false);
        else if (w->item[it->in[k]].reg == jn_nobody)
            add_operand(w, JN_PLACE_VIEW, (uint8_t)k, w->item[it->in[k]].view, size, false);
        else
            add_operand(w, JN_PLACE_REGISTER, (uint8_t)k, w->item[it->in[k]].reg, size, false);
    }
    int number = jn_step_number(vn->op);
    if (number >= 0)
        add_operand(w, JN_PLACE_NUMBER, 0, it->link->first_view + (uint32_t)number, 0, false);
    w->p->step[w->p->n_steps++] = step;
    for (unsigned k = 0; k < it->n_in; k++)
        if (it->in[k] != jn_nobody)
            let_go(w, &w->item[it->in[k]]);
}

static void add_item(writer *w, uint32_t which) {
    item *it = &w->item[which];
    if (it->link) {
        add_link_step(w, it);
    } else {
        if (w->held != jn_nobody && !w->item[w->held].stored && w->item[w->held].uses)
            keep_held(w);
        add_operand(w, it->tensor->kind == JN_CHAIN_SPREAD ? JN_PLACE_SPREAD : JN_PLACE_VIEW, 0,
                    it->view, 1, false);
        add_move(w, JN_STEP_LOAD_MASK);
    }
    w->held = which;
    it->done = true;
    if (!it->leaves)
        return;
    add_operand(w, JN_PLACE_VIEW, 0, it->view, it->mask ? 1 : 4, true);
    add_move(w, it->mask ? JN_STEP_STORE_MASK : JN_STEP_STORE);
    it->stored = !it->mask;
}

/* The next item: one that reads the accumulator, which nobody reads afterwards if possible. */
static uint32_t choose(const writer *w) {
    uint32_t best = jn_nobody, best_rank = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const item *it = &w->item[i];
        uint32_t reads = 0;
        bool ready = !it->done;
        for (uint32_t k = 0; k < it->n_in && ready; k++) {
            ready = it->in[k] == jn_nobody || w->item[it->in[k]].done;
            reads += w->held != jn_nobody && it->in[k] == w->held;
        }
        uint32_t rank = !ready ? 0 : !reads ? 1 : w->item[w->held].uses > reads ? 2 : 3;
        if (rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* The item that reads a tensor of bools. */
static uint32_t mask_item(writer *w, uint32_t n_links, const jn_chain_view *tensor, uint32_t view) {
    for (uint32_t i = n_links; i < w->n; i++)
        if (jn_same_source(&w->item[i].tensor->src, &tensor->src))
            return i;
    w->item[w->n] = (item){.tensor = tensor, .view = view, .mask = true, .reg = jn_nobody};
    return w->n++;
}

static void make_items(writer *w, const jn_members *m, const jn_chain *c, const jn_part *part,
                       const uint32_t *producer) {
    w->n = part->n;
    for (uint32_t l = 0; l < part->n; l++) {
        const jn_link *link = &c->link[part->first + l];
        const jn_vnode *vn = link->vn;
        int number = jn_step_number(vn->op);
        item *it = &w->item[l];
        *it = (item){.link = link, .view = link->first_view + vn->n_in, .reg = jn_nobody};
        it->n_in = (uint8_t)(number < 0 ? vn->n_in : number);
        it->mask = vn->out[0].dtype == JANUS_BOOL;
        it->leaves = link->view[vn->n_in].kind != JN_CHAIN_REGISTER;
        for (uint32_t k = 0; k < it->n_in; k++) {
            const jn_chain_view *v = &link->view[k];
            bool whole;
            it->in[k] = jn_nobody;
            if (v->kind == JN_CHAIN_REGISTER)
                it->in[k] =
                    producer[jn_value_root(m->inst, jn_value_of(m->inst, &v->src), &whole)] -
                    part->first;
            else if (v->view.dtype == JANUS_BOOL)
                it->in[k] = mask_item(w, part->n, v, link->first_view + k);
            if (it->in[k] != jn_nobody)
                w->item[it->in[k]].uses++;
        }
    }
}

janus_status jn_chain_program(const jn_members *m, const jn_chain *c, jn_part *part,
                              const uint32_t *producer) {
    jn_program *p = part->program;
    const jn_link *last = &c->link[part->first + part->n - 1];
    uint32_t most = part->n * (JN_STEP_OPERANDS + 1); /* items */
    writer w = {.p = p, .held = jn_nobody, .first_view = c->link[part->first].first_view};
    uint32_t n_views = last->first_view + last->vn->n_in + 1u - w.first_view;
    p->step = jn_arena_zalloc(m->a, (3 * most + 1) * sizeof *p->step);
    p->operand = jn_arena_zalloc(m->a, 4 * (size_t)most * sizeof *p->operand);
    w.item = jn_arena_zalloc(m->a, most * sizeof *w.item);
    w.idle = jn_arena_alloc(m->a, most * sizeof *w.idle);
    w.slot_of = jn_arena_alloc(m->a, n_views * sizeof *w.slot_of);
    if (!p->step || !p->operand || !w.item || !w.idle || !w.slot_of)
        return JN_NO_MEMORY();
    memset(w.slot_of, 0xff, n_views * sizeof *w.slot_of);
    make_items(&w, m, c, part, producer);
    for (uint32_t next = choose(&w); next != jn_nobody; next = choose(&w))
        add_item(&w, next);
    add_move(&w, JN_STEP_END);
    return JANUS_OK;
}
