/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the state, on which parts run, and loops, whose bodies run on them; branches: arms.c.
 */
#include "pyfront/convert/heap/heap.h"
#include "pyfront/run/run.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/tensors/tensors.h"

jcv_state jcv_save(jcv *c) {
    jcv_settle_places(c);
    jcv_state s = {jcv_alloc(c, c->slots.n * sizeof *s.slots), c->slots.n};
    memcpy(s.slots, c->slots.data, s.n * sizeof *s.slots);
    return s;
}

void jcv_restore(jcv *c, jcv_state s) {
    for (size_t i = 0; i < c->slots.n; i++)
        jcv_put(c, i, i < s.n ? s.slots[i] : c->slot_init.data[i]);
    jcv_sync_places(c);
}

jcv_place jcv_where(jcv *c) {
    return (jcv_place){c->ctx, c->frame,         c->cont,           c->boundary, c->leave,
                       c->at,  jpy_no_grad_mode, jpy_autocast_word, c->running,  c->ahead};
}

void jcv_back(jcv *c, jcv_place p) {
    c->ctx = p.ctx;
    c->frame = p.frame;
    c->cont = p.cont;
    c->boundary = p.boundary;
    c->leave = p.leave;
    c->at = p.at;
    c->running = p.running;
    c->ahead = p.ahead;
    jpy_no_grad_mode = p.no_grad;
    jpy_autocast_word = p.autocast;
    c->hook_refused = jn_proxy_asked = false;
    PyErr_Clear();
}

bool jcv_changed(jcv *c, jcv_state s, size_t i, jcv_av *now) {
    jcv_av *before = i < s.n ? s.slots[i] : c->slot_init.data[i];
    return !jcv_av_equal(before, now);
}

/* What is switched on one path or in one round only is not followed. */
void jcv_same_modes(jcv *c, const jcv_place *place) {
    if (jpy_no_grad_mode != place->no_grad || jpy_autocast_word != place->autocast)
        jcv_refuse(c, "the grad or autocast mode is switched on one path only");
}

/* ---- loops --------------------------------------------------------------------------------------
 */

/* A number that is carried changes; one inside a tuple or list may be the same in all rounds. */
static jcv_force carries(const jcv_av *a, bool numbers) {
    return numbers || jcv_number_kind(a) ? MERGE_NUMBERS : MERGE_ROUNDS;
}

/* Whether an instance was made here, after n_fresh others. */
static bool made_since(jcv *c, PyObject *o, size_t n_fresh) {
    for (size_t i = n_fresh; i < c->fresh.n; i++)
        if (c->fresh.data[i] == o)
            return true;
    return false;
}

bool jcv_is_fresh(jcv *c, PyObject *o) { return made_since(c, o, 0); }

static void first_in_loop(jcv *c, const jcv_attr *a) {
    if (!a->name)
        jcv_refuse(c, "a gradient is first written inside a loop");
    if (PyDict_CheckExact(a->object) || PyCell_Check(a->object))
        jcv_make_live_var(c, a->object, a->name);
    jcv_make_live_attr(c, Py_TYPE(a->object), a->name);
}

/* What is of one kind before a loop and may be of another after some rounds, as what may be either.
 * NULL: it is something else. */
static jcv_av *of_two_kinds(jcv *c, jcv_av *was, jcv_av *now) {
    jcv_two two;
    if (was->kind == AV_MAYBE || !jcv_two_kinds(was, now, &two))
        return NULL;
    bool tensor = two.there->kind == AV_TENSOR;
    if (tensor &&
        (was->kind == AV_TENSOR || !jn_type_static(jcv_tensor_val(c, two.there->py)->type)))
        return NULL;
    return jcv_as_two(c, was, &two);
}

/* Runs a loop body once with the carried slots bound to parameters of a new SubGraph; true when
 * what it changes is carried and tracked already. */
static void run_loop(jcv *c, jcv_val *count, jcv_cond_fn cond, jcv_body_fn body, void *user) {
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    bool *carried = jcv_alloc(c, before.n + 1), *tracked = jcv_alloc(c, 4096);
    bool *numbers = jcv_alloc(c, before.n + 1); /* constants in what is carried change, too */
    const char *name = count ? "foreach" : "while";
    const jpy_tree *loop = c->loop;
    size_t n_fresh = c->fresh.n;
    for (int attempt = 0;; attempt++) {
        if (attempt > 40)
            jcv_refuse(c, "the state of a loop does not settle");
        jcv_restore(c, before);
        jcv_back(c, place);
        jcv_ctx *cx = cond ? jcv_ctx_new(c, JCV_LOOP, "cond", c->ctx) : NULL;
        jcv_ctx *bx = jcv_ctx_new(c, JCV_LOOP, name, c->ctx);
        jcv_val *index = NULL;
        if (count)
            index = jcv_param(c, bx, jcv_type(c, jn_scalar_type(JANUS_KIND_INT)));
        /* initial values */
        jcv_pairs init = {{0}, {0}, NULL};
        JCV_LIST(uint32_t) which = {0};
        JCV_LIST(jcv_av *) shapes = {0};
        for (size_t i = 0; i < before.n; i++) {
            if (!carried[i])
                continue;
            jcv_force force = carries(before.slots[i], numbers[i]);
            jcv_av *shape =
                jcv_merge_slot(c, (uint32_t)i, before.slots[i], before.slots[i], &init, force);
            jcv_add(c, &which, (uint32_t)i);
            jcv_add(c, &shapes, shape);
        }
        unsigned n = (unsigned)init.a.n;
        if (n >= 4096)
            jcv_refuse(c, "a loop with too much state");
        jcv_val **in = jcv_alloc(c, (n + 1) * sizeof *in);
        const jn_type **types = jcv_alloc(c, (n + 1) * sizeof *types);
        jcv_av **leaves = jcv_alloc(c, (n + 1) * sizeof *leaves);
        jcv_val **cond_params = jcv_alloc(c, (n + 1) * sizeof *cond_params);
        for (unsigned i = 0; i < n; i++) {
            in[i] = jcv_leaf_val(c, init.a.data[i]);
            types[i] = in[i]->type;
            tracked[i] = tracked[i] || jcv_leaf_tracked(c, init.a.data[i]);
        }
        if (cond) {
            c->ctx = cx;
            for (unsigned i = 0; i < n; i++) {
                jcv_val *v = jcv_param(c, cx, types[i]);
                v->depends = jn_dtype_is_float(types[i]->dtype);
                leaves[i] = jcv_leaf(c, v, init.a.data[i], tracked[i]);
            }
            jcv_fill_slots(c, which.data, shapes.data, which.n, leaves, init.tuples);
            jcv_state fixed = jcv_save(c);
            jcv_val *r = cond(c, user);
            for (size_t i = 0; i < before.n; i++)
                if (c->slots.data[i] != fixed.slots[i])
                    jcv_refuse(c, "the test of a loop writes");
            if (!jn_vec_push(&cx->results, r))
                jcv_refuse(c, "out of memory");
        }
        c->ctx = bx;
        c->live_epoch++; /* earlier rounds may have written */
        for (unsigned i = 0; i < n; i++) {
            jcv_val *v = jcv_param(c, bx, types[i]);
            v->depends = jn_dtype_is_float(types[i]->dtype);
            leaves[i] = jcv_leaf(c, v, init.a.data[i], tracked[i]);
            jcv_made_of(c, leaves[i], (jcv_av *[]){init.a.data[i]}, 1);
        }
        jcv_fill_slots(c, which.data, shapes.data, which.n, leaves, init.tuples);
        body(c, user, index);
        jcv_settle_places(c);
        /* what changed? */
        bool again = false;
        for (size_t i = 0; i < before.n; i++) {
            jcv_av *now = c->slots.data[i];
            if (carried[i] || !jcv_changed(c, before, i, now))
                continue;
            if (jcv_lacks(before.slots[i], LACK_UNRETURNED)) {
                jcv_av *value = now; /* its dims are those of the loop, it is made outside */
                jcv_ctx *inside = c->ctx;
                c->ctx = place.ctx;
                before.slots[i] = jcv_dummy(c, value);
                c->ctx = inside;
            }
            if (before.slots[i]->kind != AV_UNDEF)
                carried[i] = again = true;
        }
        bool outer, places = false;
        for (size_t i = before.n; i < c->slots.n; i++)
            if (!jcv_av_equal(c->slots.data[i], c->slot_init.data[i]) &&
                jcv_is_place(c, i, place.ctx, &outer))
                places = places || outer;
        for (size_t i = before.n; i < c->slots.n; i++)
            for (size_t k = 0; k < c->attrs.n; k++)
                if (c->attrs.data[k]->slot == i &&
                    !made_since(c, c->attrs.data[k]->object, n_fresh) &&
                    !jcv_av_equal(c->slots.data[i], c->slot_init.data[i])) {
                    first_in_loop(c, c->attrs.data[k]);
                }
        if (places) { /* first written in the loop: they are state from now on */
            bool *more = jcv_alloc(c, 2 * c->slots.n + 2);
            memcpy(more, carried, before.n);
            memcpy(more + c->slots.n + 1, numbers, before.n);
            carried = more;
            numbers = more + c->slots.n + 1;
            jcv_restore(c, before);
            before = jcv_save(c);
            again = true;
        }
        jcv_av **last = jcv_alloc(c, (n + 1) * sizeof *last);
        jcv_pairs p = {{0}, {0}, NULL};
        for (size_t i = 0; i < which.n && !again; i++) {
            jcv_av *now = c->slots.data[which.data[i]];
            size_t first = p.b.n;
            jcv_av *was = before.slots[which.data[i]];
            jcv_force force = carries(was, numbers[which.data[i]]);
            jcv_av *b = jcv_merge_slot(c, which.data[i], was, now, &p, force),
                   *of = jcv_container_in(c, which.data[i]);
            bool number = false;
            bool same = jcv_same_shape(shapes.data[i], b, &number);
            if (!same && number && force != MERGE_NUMBERS) {
                numbers[which.data[i]] = again = true;
                continue;
            }
            if (!same && of)
                jcv_make_live(c, of);
            if (!same)
                jcv_peel_loop(c, loop);
            c->ctx = place.ctx;
            jcv_av *either = same ? NULL : of_two_kinds(c, was, now);
            c->ctx = bx;
            if (either) {
                before.slots[which.data[i]] = either;
                again = true;
                continue;
            }
            if (!same) {
                jcv_needed(c, b);
                jcv_refuse(c, "a variable of a loop is of different kinds in its rounds");
            }
            for (size_t k = first; k < p.b.n; k++) {
                unsigned at = (unsigned)bx->results.n;
                jcv_val *r = jcv_leaf_val(c, p.b.data[k]);
                if (at >= n || !jcv_same_type(r->type, types[at])) {
                    jcv_peel_loop(c, loop);
                    jcv_refuse(c, "a variable of a loop changes its type or dims");
                }
                if (!jn_vec_push(&bx->results, r))
                    jcv_refuse(c, "out of memory");
                last[at] = p.b.data[k];
                if (jcv_leaf_tracked(c, p.b.data[k]) && !tracked[at])
                    tracked[at] = again = true;
            }
        }
        if (!again && bx->results.n != n) {
            jcv_peel_loop(c, loop);
            jcv_refuse(c, "the state of a loop changes its structure");
        }
        if (again)
            continue;
        jcv_same_modes(c, &place);
        jcv_check_rounds(c, bx, leaves, last, n);
        jcv_state after = jcv_save(c);
        jcv_restore(c, before);
        jcv_back(c, place);
        c->live_epoch++;
        jcv_node *node;
        if (count) {
            jcv_val **ops = jcv_alloc(c, (n + 1) * sizeof *ops);
            ops[0] = count;
            memcpy(ops + 1, in, n * sizeof *ops);
            node = jcv_call_node(c, "foreach", bx, NULL, ops, n + 1, types, n);
        } else {
            node = jcv_call_node(c, "while", cx, bx, in, n, types, n);
        }
        node->loop = loop;
        for (unsigned i = 0; i < n; i++) {
            leaves[i] = jcv_leaf(c, &node->out[i], init.a.data[i], tracked[i]);
            jcv_made_of(c, leaves[i], (jcv_av *[]){init.a.data[i], last[i]}, 2);
        }
        jcv_fill_slots(c, which.data, shapes.data, which.n, leaves, init.tuples);
        for (size_t i = 0; i < after.n; i++) {
            jcv_av *was = i < before.n ? before.slots[i] : c->slot_init.data[i];
            bool outside = i < before.n || jcv_lacks(was, LACK_UNBOUND);
            if (was->kind == AV_UNDEF && after.slots[i]->kind != AV_UNDEF && outside) {
                jcv_put(c, i, jcv_lacking(c, LACK_UNKNOWN, "it is bound only inside a loop"));
                c->slots.data[i]->tree = (jpy_tree *)loop;
            }
        }
        return;
    }
}

/* A body that leads nowhere yet counts as never run. */
static void guarded_loop(jcv *c, jcv_val *count, jcv_cond_fn cond, jcv_body_fn body, void *user) {
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    if (setjmp(h.env) == 0) {
        run_loop(c, count, cond, body, user);
        c->handler = h.up;
        return;
    }
    c->handler = h.up;
    jcv_restore(c, before);
    jcv_back(c, place);
    if (c->thrown != THROW_DEAD)
        jcv_throw_now(c, c->thrown);
    if (!count) {
        jcv_val *goes_on = cond(c, user);
        jcv_assert(c, &jcv_op(c, JN_OP(s_not), &goes_on, 1, NULL)->out[0], "a loop never runs");
        return;
    }
    jcv_val *in[2] = {count, jcv_int_const(c, 0)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_le), in, 2, NULL)->out[0], "a loop never runs");
}

void jcv_foreach(jcv *c, jcv_val *count, jcv_body_fn body, void *user) {
    guarded_loop(c, count, NULL, body, user);
}

void jcv_while(jcv *c, jcv_cond_fn cond, jcv_body_fn body, void *user) {
    guarded_loop(c, NULL, cond, body, user);
}
