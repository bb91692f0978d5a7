/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches: both arms run on copies of the state, and what they leave is merged.
 *
 * A branch that cannot be converted, or leads nowhere yet (a recursion whose result is not known),
 * becomes an assertion that it is not taken, as long as the other one works.
 */
#include "pyfront/convert/heap/heap.h"
#include "pyfront/run/run.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/tensors/tensors.h"

typedef struct arm {
    jcv_ctx *ctx;
    jcv_out out;
    jcv_state state;
    jcv_throw thrown;
    bool raises;     /* it was thrown since CPython raises there */
    bool itself;     /* it was refused for what is in no SubGraph of it */
    const char *why; /* it was refused, and where */
    jn_loc at;
} arm;

void jcv_splice(jcv *c, jcv_ctx *from) {
    jcv_ctx *to = c->ctx;
    for (size_t i = 0; i < from->nodes.n; i++) {
        jcv_node *n = from->nodes.data[i];
        for (unsigned k = 0; k < n->n_out; k++)
            n->out[k].ctx = to;
        for (int k = 0; k < 2; k++)
            if (n->subs[k] && n->subs[k]->parent == from)
                n->subs[k]->parent = to;
        if (!jn_vec_push(&to->nodes, n))
            jcv_refuse(c, "out of memory");
    }
    for (size_t i = c->ctxs.n; i-- > 0 && c->ctxs.data[i] != from;) /* made since it was */
        if (c->ctxs.data[i]->parent == from)
            c->ctxs.data[i]->parent = to;
    for (jcv_rec *r = c->recs; r; r = r->next)
        if (r->ctx == from)
            r->ctx = to;
    jn_vec_clear(&from->nodes);
    from->spliced = to;
}

static bool is_function(const jpy_tree *n, const void *arg) {
    (void)arg;
    return n->kind == JPY_DEF || n->kind == JPY_LAMBDA || n->kind == JPY_GENEXP;
}

bool jcv_makes_functions(const jpy_tree *n) { return jpy_tree_any(n, is_function, NULL); }

/* Marks the variables of a function that both arms return from: nobody reads them again, unless a
 * function made inside does. */
static bool *dead_variables(jcv *c, const arm *arms, size_t n_slots) {
    const jcv_frame *f = c->frame;
    if (arms[0].out != OUT_RETURN || c->boundary != JCV_END_FUNC || f->comprehension ||
        f->def->kind != JPY_DEF || f->def->fn->generator)
        return NULL;
    for (unsigned i = 0; i < f->def->x.n; i++)
        if (jcv_makes_functions(f->def->x.v[i]))
            return NULL;
    bool *dead = jcv_alloc(c, n_slots + 1);
    for (unsigned i = 0; i < f->n; i++)
        if (f->slots[i] < n_slots)
            dead[f->slots[i]] = true;
    return dead;
}

/* The SubGraph that has computed a value; main's of what is none. */
static const jcv_ctx *made_where(jcv *c, const jcv_av *a) {
    bool value = a->kind == AV_SCALAR || a->kind == AV_HOST || a->kind == AV_STACK;
    return a->kind == AV_TENSOR ? jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->ctx
           : value              ? a->val->ctx
                                : c->main;
}

/* Whether that is another one than main's, `here` and those around it: nobody there knows a slot
 * that began with the value, nor one that got it in an arm which was the first to call a recursion.
 */
static bool made_elsewhere(jcv *c, const jcv_ctx *here, const jcv_av *a) {
    const jcv_ctx *of = made_where(c, a);
    return of != c->main && !jcv_encloses(of, here);
}

static bool is_attr(const jcv *c, size_t slot) {
    for (size_t k = 0; k < c->attrs.n; k++)
        if (c->attrs.data[k]->slot == slot)
            return true;
    return false;
}

/* An object of the graph that is one of two. */
static jcv_av *either_object(jcv *c, jcv_val *v, jcv_av *a, jcv_av *b) {
    PyObject *all = jcv_own(c, PySequence_Concat(jcv_samples(c, a), jcv_samples(c, b)));
    return jcv_root(c, c->ctx, v, all);
}

/* Whether a slot is a variable of the function that branches. */
static bool is_variable(const jcv *c, size_t slot) {
    for (unsigned i = 0; i < c->frame->n; i++)
        if (c->frame->slots[i] == slot)
            return true;
    return false;
}

/* For the reason that an arm was refused for. */
static _Noreturn void refuse_again(jcv *c, const arm *of) {
    snprintf(c->reason, sizeof c->reason, "%s", of->why);
    c->refused_at = of->at;
    jcv_throw_now(c, THROW_REFUSE);
}

/* The other arm leads nowhere, or cannot be a part of a graph: it is assumed not to be taken. */
static jcv_out only_arm(jcv *c, jcv_val *cond, const arm *arms) {
    int k = arms[0].thrown ? 1 : 0;
    const char *why = arms[1 - k].why;
    jcv_val *ok = cond;
    if (k == 1)
        ok = &jcv_op(c, JN_OP(s_not), &cond, 1, NULL)->out[0];
    if (arms[1 - k].thrown == THROW_REFUSE) {
        if (!strstr(why, JCV_RAISES) && jpy_hint_usual(c->f, why)) {
            c->f->refused_usual = true;
            refuse_again(c, &arms[1 - k]);
        }
        if (!jn_vec_push(&c->left_out, ((jpy_left_out){why, arms[1 - k].at})))
            jcv_refuse(c, "out of memory");
    }
    jcv_assert(c, ok, arms[1 - k].thrown == THROW_REFUSE ? why : JPY_NOT_SEEN);
    jcv_now_known(c, c->ctx, cond, k == 0);
    jcv_splice(c, arms[k].ctx);
    jcv_restore(c, arms[k].state);
    for (size_t i = arms[k].state.n; i < c->slots.n; i++)
        jcv_put(c, i, c->slot_init.data[i]);
    return arms[k].out;
}

/* An arm leaves an object in a slot where the other one leaves a tensor or number: in that arm it
 * may be known to be one, too.  One of which there are no samples was never seen: the arm is dead.
 */
static void settle(jcv *c, arm *of, size_t slot, const jcv_av *other) {
    jcv_av *a = slot < of->state.n ? of->state.slots[slot] : NULL;
    if (!a || !other || a->kind != AV_HOST ||
        (other->kind != AV_TENSOR && other->kind != AV_SCALAR && !jcv_number_kind(other)))
        return;
    volatile bool again = false; /* the conversion has to start again */
    jcv_place place = jcv_where(c);
    jcv_state before = jcv_save(c);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    c->ctx = of->ctx;
    jcv_restore(c, of->state);
    if (setjmp(h.env) == 0) {
        of->thrown = PyList_GET_SIZE(jcv_samples(c, a)) ? 0 : THROW_DEAD;
        jcv_av *v = of->thrown ? a : jcv_settled(c, a);
        v = v == a && !of->thrown ? jcv_number_of(c, a) : v;
        if (v != a) {
            jcv_put(c, slot, v);
            of->state = jcv_save(c);
        }
    } else if (c->thrown != THROW_REFUSE && c->thrown != THROW_DEAD) {
        again = true;
    } /* else it stays an object */
    c->handler = h.up;
    jcv_back(c, place);
    jcv_restore(c, before);
    if (again)
        jcv_throw_now(c, c->thrown);
}

static void settle_arms(jcv *c, arm *arms) {
    for (size_t i = 0; i < arms[1].state.n && !arms[0].thrown && !arms[1].thrown; i++) {
        jcv_av *a = i < arms[0].state.n ? arms[0].state.slots[i] : c->slot_init.data[i];
        jcv_av *b = arms[1].state.slots[i];
        settle(c, &arms[0], i, b);
        settle(c, &arms[1], i, a);
    }
}

jcv_out jcv_branch(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user) {
    return jcv_branch_at(c, NULL, cond, fn, user);
}

jcv_out jcv_branch_at(jcv *c, const jpy_tree *n_if, jcv_val *cond, jcv_arm_fn fn, void *user) {
    arm *arms = jcv_alloc(c, 2 * sizeof *arms);
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch, live = c->live_epoch, last = live;
    for (int k = 0; k < 2; k++) {
        c->live_epoch = live;
        jcv_handler h = {.up = c->handler};
        arms[k].ctx = jcv_ctx_new(c, JCV_ARM, k ? "else" : "then", c->ctx);
        jcv_narrow_by(c, arms[k].ctx, cond, k == 0);
        jcv_now_known(c, arms[k].ctx, cond, k == 0);
        c->handler = &h;
        c->ctx = arms[k].ctx;
        if (setjmp(h.env) == 0) {
            arms[k].out = fn(c, user, k);
            jcv_same_modes(c, &place);
        } else {
            arms[k].thrown = c->thrown;
        }
        if (arms[k].thrown == THROW_REFUSE) {
            arms[k].raises = strstr(c->reason, JCV_RAISES);
            arms[k].itself = c->ctx == arms[k].ctx;
            arms[k].why = jn_arena_strdup(&c->arena, c->reason);
            arms[k].at = c->refused_at;
        }
        c->handler = h.up;
        jcv_back(c, place);
        arms[k].state = jcv_save(c);
        jcv_restore(c, before);
        last = c->live_epoch > last ? c->live_epoch : last;
        if (arms[k].thrown == THROW_RESTART || arms[k].thrown == THROW_PROBE ||
            arms[k].thrown == THROW_FORK)
            jcv_throw_now(c, arms[k].thrown);
    }
    c->live_epoch = last > live ? last + 1 : live;
    for (int k = 0; k < 2; k++) /* where nothing is known of the other path, it is the one taken */
        if (arms[k].raises && arms[1 - k].thrown == THROW_DEAD)
            jcv_throw_now(c, THROW_DEAD);
    for (int k = 0; k < 2; k++)
        if (arms[k].itself && arms[k].why)
            jcv_only_learn(c, n_if, cond, k, arms[k].why);
    if (arms[0].thrown && arms[1].thrown)
        jcv_throw_now(c, arms[0].thrown == THROW_REFUSE ? THROW_REFUSE : arms[1].thrown);
    if (!arms[0].thrown && !arms[1].thrown && arms[0].out == arms[1].out)
        settle_arms(c, arms);
    if (arms[0].thrown || arms[1].thrown)
        return only_arm(c, cond, arms);
    jcv_wrote_if(c, c->epoch != epoch);
    if (arms[0].out != arms[1].out)
        jcv_refuse(c, "one branch leaves where the other does not");
    jcv_pairs pairs = {{0}, {0}, NULL};
    JCV_LIST(uint32_t) which = {0};
    JCV_LIST(jcv_av *) shapes = {0};
    size_t n_slots = arms[1].state.n;
    const bool *dead = dead_variables(c, arms, n_slots);
    for (size_t i = 0; i < n_slots; i++) {
        jcv_av *a = i < arms[0].state.n ? arms[0].state.slots[i] : c->slot_init.data[i];
        jcv_av *b = arms[1].state.slots[i];
        bool outer = false;
        bool left = dead && dead[i]; /* by a return */
        if (left && !(jcv_is_kept(c, (uint32_t)i) &&
                      (jcv_changed(c, before, i, a) || jcv_changed(c, before, i, b))))
            continue;
        if (i >= before.n && jcv_is_place(c, i, place.ctx, &outer) && !outer)
            continue; /* of a tensor made in a branch */
        if (i >= before.n && made_elsewhere(c, place.ctx, c->slot_init.data[i]))
            continue;
        if (i >= before.n && !outer && !is_attr(c, i) && made_elsewhere(c, arms[0].ctx, a))
            continue;
        if (i >= before.n && i >= arms[0].state.n && !outer && !jcv_is_kept(c, (uint32_t)i))
            continue; /* made in the second branch: nothing outside knows it, but see attributes */
        if (!jcv_changed(c, before, i, a) && !jcv_changed(c, before, i, b))
            continue;
        bool known = i < before.n || is_attr(c, i) || is_variable(c, i);
        /* a fork goes on in its arms where it does not know what is of them */
        jcv_force force = !known ? MERGE_ARMS : n_if ? MERGE_OBJECTS : MERGE_OPTIONAL;
        jcv_av *both = left ? jcv_lacking(c, LACK_UNKNOWN, "it is left by a return")
                            : jcv_merge_slot(c, (uint32_t)i, a, b, &pairs, force);
        jcv_av *of = jcv_container_in(c, (uint32_t)i);
        jcv_hold_either(c, (uint32_t)i, both, a, b, &pairs);
        if (both->kind == AV_UNDEF && of && i < before.n)
            jcv_make_live(c, of); /* longer on one path than on the other */
        jcv_add(c, &which, (uint32_t)i);
        jcv_add(c, &shapes, both);
    }
    for (size_t i = before.n; i < n_slots; i++) { /* attributes first written in a branch */
        if (!is_attr(c, i) || i < arms[0].state.n)
            continue;
        jcv_add(c, &which, (uint32_t)i);
        jcv_add(c, &shapes,
                jcv_merge_slot(c, (uint32_t)i, c->slot_init.data[i], arms[1].state.slots[i], &pairs,
                               MERGE_OPTIONAL));
    }
    unsigned n = (unsigned)pairs.a.n;
    const jn_type **types = jcv_alloc(c, (n + 1) * sizeof *types);
    bool *tracked = jcv_alloc(c, n + 1);
    for (int k = 0; k < 2; k++) {
        c->ctx = arms[k].ctx;
        jcv_restore(c, arms[k].state);
        for (unsigned i = 0; i < n; i++) {
            jcv_av *leaf = k ? pairs.b.data[i] : pairs.a.data[i];
            jcv_val *v = jcv_leaf_val(c, leaf);
            types[i] = v->type;
            tracked[i] = tracked[i] || jcv_leaf_tracked(c, leaf);
            if (!jn_vec_push(&c->ctx->results, v))
                jcv_refuse(c, "out of memory");
        }
    }
    c->ctx = place.ctx;
    jcv_restore(c, before);
    jcv_new_sizes *sizes = jcv_alloc(c, (n + 1) * sizeof *sizes);
    for (unsigned i = 0; i < n; i++)
        types[i] = jcv_join_sizes(c, &arms[0].ctx->results.data[i], &arms[1].ctx->results.data[i],
                                  &sizes[i]);
    jcv_node *node = jcv_call_node(c, "if", arms[0].ctx, arms[1].ctx, &cond, 1, types, n);
    for (unsigned i = 0; i < n; i++)
        jcv_sizes_are(c, &sizes[i], &node->out[i]);
    jcv_av **leaves = jcv_alloc(c, (n + 1) * sizeof *leaves);
    for (unsigned i = 0; i < n; i++) {
        node->out[i].depends =
            arms[0].ctx->results.data[i]->depends || arms[1].ctx->results.data[i]->depends;
        leaves[i] =
            types[i]->kind == JANUS_KIND_OBJECT
                ? either_object(c, &node->out[i], pairs.a.data[i], pairs.b.data[i])
                : jcv_leaf(c, &node->out[i], sizes[i].n ? NULL : pairs.b.data[i], tracked[i]);
        jcv_made_of(c, leaves[i], (jcv_av *[]){pairs.a.data[i], pairs.b.data[i]}, 2);
    }
    jcv_fill_slots(c, which.data, shapes.data, which.n, leaves, pairs.tuples);
    return arms[0].out;
}
