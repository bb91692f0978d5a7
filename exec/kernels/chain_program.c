/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a chain as a program of steps (ops/steps.h).
 *
 * The accumulator holds what the last step computed.  Steps are put in an order in which the next
 * one reads it, if there is one; what is read later on is stored into a register, a block of
 * scratch, when the accumulator is needed for something else.  What leaves the program is stored
 * where it belongs, and read there.  Where a sum or a product reads what a cheap op makes of a
 * value in memory, that op is done on the way and is no step.
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
    const jn_link *changed; /* the link that changes operand `which` on the way; or NULL */
    uint8_t which, change;  /* jn_step_change */
    uint32_t uses;          /* operands of items to come */
    uint32_t reg;           /* where it is stored; jn_nobody: in the view that it leaves to */
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

/* The same of an item one of whose operands is changed, which is read from memory then. */
static unsigned find_changing_form(const writer *w, const item *it, jn_step *step) {
    unsigned other = 1u - it->which;
    bool held = w->held != jn_nobody && it->in[other] == w->held;
    jn_step_make_changing(it->link->vn->op, it->which, (jn_step_change)it->change, held, step);
    return held ? 1u << other : 0;
}

/* The link's operand that a changed one is of. */
static unsigned changed_operand(const jn_link *l) {
    unsigned what;
    jn_sig sig = {l->vn->op, l->vn->in, l->vn->out, l->vn->n_in, 1, l->vn->attrs};
    jn_step_change_of(&sig, &what);
    return what;
}

static void add_link_step(writer *w, item *it) {
    const jn_vnode *vn = it->link->vn;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    jn_step step;
    unsigned held = it->changed ? find_changing_form(w, it, &step) : find_form(w, it, &sig, &step);
    unsigned in_held = 0;
    for (unsigned k = 0; k < it->n_in; k++)
        in_held += held >> k & 1;
    if (w->held != jn_nobody && !w->item[w->held].stored && w->item[w->held].uses > in_held)
        keep_held(w);
    for (unsigned k = 0; k < it->n_in; k++) {
        const jn_link *of = it->changed && k == it->which ? it->changed : it->link;
        unsigned at = of == it->link ? k : changed_operand(of);
        const jn_chain_view *v = &of->view[at];
        uint8_t size = (uint8_t)jn_dtype_size((janus_dtype)vn->in[k].dtype);
        if (held >> k & 1)
            continue;
        if (it->in[k] == jn_nobody)
            add_operand(w, v->kind == JN_CHAIN_SPREAD ? JN_PLACE_SPREAD : JN_PLACE_VIEW, (uint8_t)k,
                        of->first_view + at, size, false);
        else if (w->item[it->in[k]].reg == jn_nobody)
            add_operand(w, JN_PLACE_VIEW, (uint8_t)k, w->item[it->in[k]].view, size, false);
        else
            add_operand(w, JN_PLACE_REGISTER, (uint8_t)k, w->item[it->in[k]].reg, size, false);
    }
    int number = jn_step_number(vn->op);
    if (number >= 0)
        add_operand(w, JN_PLACE_NUMBER, 0, it->link->first_view + (uint32_t)number, 0, false);
    if (it->changed && it->change == JN_STEP_SCALE)
        add_operand(w, JN_PLACE_NUMBER, 0,
                    it->changed->first_view + 1 - changed_operand(it->changed), 0, false);
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

/* Whether operand k of an item can be what `from`, which nobody else reads, makes of a value that
 * is in memory or will be, since others read it, too. */
static bool changes(const writer *w, const item *it, unsigned k, jn_step_change *change) {
    const item *from = it->in[k] == jn_nobody ? NULL : &w->item[it->in[k]];
    unsigned what;
    jn_step step;
    if (!from || !from->link || from->leaves || from->uses != 1 || from->changed ||
        it->in[1 - k] == jn_nobody || it->in[1 - k] == it->in[k])
        return false;
    const jn_vnode *vn = from->link->vn;
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, 1, vn->attrs};
    *change = jn_step_change_of(&sig, &what);
    if (*change == JN_STEP_CHANGES ||
        (*change == JN_STEP_SCALE && from->link->view[1 - what].kind != JN_CHAIN_SPREAD) ||
        !jn_step_make_changing(it->link->vn->op, k, *change, false, &step))
        return false;
    uint32_t source = from->in[what];
    return source == jn_nobody || w->item[source].leaves || w->item[source].uses > 1;
}

/* Items become a change of an operand of those that read them. */
static void find_changes(writer *w) {
    jn_step_change change;
    for (uint32_t i = 0; i < w->n; i++) {
        item *it = &w->item[i];
        bool two = it->link && it->n_in == 2 && !it->mask && !it->done;
        for (unsigned k = 2; two && !it->changed && k-- > 0;)
            if (changes(w, it, k, &change)) {
                item *from = &w->item[it->in[k]];
                it->changed = from->link;
                it->which = (uint8_t)k;
                it->change = (uint8_t)change;
                it->in[k] = from->in[changed_operand(from->link)];
                from->done = true;
            }
    }
}

/* Operands that are set for each tile come first. */
static void order_operands(jn_program *p) {
    for (uint32_t i = 0; i < p->n_operands; i++)
        if (p->operand[i].place == JN_PLACE_VIEW) {
            jn_step_operand o = p->operand[p->n_moving];
            p->operand[p->n_moving++] = p->operand[i];
            p->operand[i] = o;
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
    find_changes(&w);
    for (uint32_t next = choose(&w); next != jn_nobody; next = choose(&w))
        add_item(&w, next);
    add_move(&w, JN_STEP_END);
    order_operands(p);
    return JANUS_OK;
}
