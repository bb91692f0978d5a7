/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan sets: made per module, pooled on it, one per run at a time.
 *
 * The pool hangs on the module (janus_module.exec_pool) and dies with it.  Only taking and
 * returning a set locks.
 */
#include "config.h"

#include "exec/state/state.h"

#include <pthread.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/kernels/kernels.h"
#include "exec/plan/plan.h"
#include "exec/plan/plan_internal.h"
#include "exec/plan/watch.h"
#include "exec/schedule/schedule.h"
#include "graph/base/log.h"

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static void segment_free(jn_segment *seg);

static void replays_free(jn_planset *s) {
    for (size_t i = 0; s->plans && i < 2 * s->module->subs.n; i++) {
        jn_replay_free(s->plans[i].replay);
        s->plans[i].replay = NULL;
    }
}

static void planset_free(jn_planset *s) {
    replays_free(s);
    for (size_t i = 0; s->plans && i < 2 * s->module->subs.n; i++)
        jn_panels_free(s->plans[i].panels);
    jn_device *dev = s->spare ? s->spare->dev : NULL;
    for (size_t i = 0; i < s->segments.n; i++)
        segment_free(s->segments.data[i]);
    jn_vec_free(&s->segments);
    jn_mem_release(s->spare);
    if (dev && dev->schedule)
        jn_schedule_forget(dev->schedule, s);
    jn_tables_free(s->tables);
    jn_shapes_free(&s->shapes);
    jn_arena_free(&s->arena);
    jn_free(s);
}

static void segment_free(jn_segment *seg) {
    while (seg->insts) {
        jn_seginst *inst = seg->insts;
        seg->insts = inst->next;
        jn_seginst_free(inst);
    }
}

/* Called by the module's last release. */
static void pool_free(void *pool) {
    for (jn_planset *s = pool; s;) {
        jn_planset *next = s->next;
        planset_free(s);
        s = next;
    }
}

janus_status jn_planset_take(const janus_module *m, jn_planset **out) {
    if (!m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "the module is not frozen: it cannot run yet");
    pthread_mutex_lock(&pool_lock);
    jn_planset *s = ((janus_module *)m)->exec_pool;
    if (s)
        ((janus_module *)m)->exec_pool = s->next;
    pthread_mutex_unlock(&pool_lock);
    if (!s) {
        s = jn_calloc(1, sizeof *s);
        if (!s)
            return JN_NO_MEMORY();
        s->module = m;
        s->plan_of = jn_plan_get;
        jn_arena_init(&s->arena, 0);
        jn_arena_init(&s->shapes.arena, 0);
        s->plans = jn_arena_zalloc(&s->arena, (2 * m->subs.n + 1) * sizeof *s->plans);
        if (!s->plans) {
            planset_free(s);
            return JN_NO_MEMORY();
        }
        for (size_t i = 0; i < 2 * m->subs.n; i++) {
            s->plans[i].sub = m->subs.data[i / 2];
            s->plans[i].set = s;
            s->plans[i].saved = i & 1;
            s->recurs |= s->plans[i].sub->recursive;
        }
    }
    s->next = NULL;
    *out = s;
    return JANUS_OK;
}

void jn_planset_return(jn_planset *s) {
    janus_module *m = (janus_module *)s->module;
    if (s->crowded)
        replays_free(s); /* they have variants of what goes */
    if (s->crowded)
        for (size_t i = 0; i < s->segments.n; i++)
            jn_segment_trim(s->segments.data[i]);
    s->crowded = false;
    pthread_mutex_lock(&pool_lock);
    s->next = m->exec_pool;
    m->exec_pool = s;
    m->exec_pool_free = pool_free;
    pthread_mutex_unlock(&pool_lock);
}

void jn_plans_rest(const janus_module *m) {
    enum { WORTH = 4 << 20 }; /* less costs more to get anew than it is */
    pthread_mutex_lock(&pool_lock);
    for (jn_planset *s = m->exec_pool; s; s = s->next) {
        if (!s->spare || !s->spare->on->host || jn_mem_bytes(s->spare) < WORTH)
            continue;
        if (s->spare->expected > s->expected)
            s->expected = s->spare->expected;
        jn_mem_release(s->spare);
        s->spare = NULL;
        jn_tables_free(s->tables);
        s->tables = NULL;
    }
    pthread_mutex_unlock(&pool_lock);
}

janus_status jn_plan_get(jn_planset *s, const jn_subgraph *sub, bool saved, jn_plan **out) {
    jn_plan *p = &s->plans[2 * sub->index + saved];
    if (!p->compiled) {
        JN_TRY(jn_plan_compile(p));
        if (s->module->watched)
            JN_TRY(jn_watch_plan(p));
        if (jn_log_on(JN_LOG_PLANS)) {
            jn_str text = {0};
            jn_plan_print(p, &text);
            if (jn_str_ok(&text) && text.data)
                jn_log(JN_LOG_PLANS, "%s", text.data);
            jn_str_free(&text);
        }
    }
    *out = p;
    return JANUS_OK;
}

static const char *const opcode_names[] = {
#define JN_INSTR_NAME(name) #name,
    JN_INSTR_LIST(JN_INSTR_NAME)
#undef JN_INSTR_NAME
};

static void print_src(const jn_segment *seg, const jn_src *src, jn_str *s) {
    if (src->kind == JN_SRC_INPUT)
        jn_str_printf(s, " in%u", src->index);
    else if (src->kind == JN_SRC_SCALAR)
        jn_str_printf(s, " s%u", src->index);
    else if (src->kind == JN_SRC_NODE)
        jn_str_printf(s, " %%%u.%u", seg->nodes[src->index].node->id, src->index_out);
    else
        jn_str_append(s, " none");
}

static void print_segment(const jn_segment *seg, jn_str *s) {
    jn_str_printf(s, "segment %u: %u inputs, %u scalars, %u accs, %u outputs\n", seg->id,
                  seg->n_inputs, seg->n_scalars, seg->n_accs, seg->n_outputs);
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        jn_str_printf(s, "    %%%u = %s", n->node->id, n->op->name);
        for (uint32_t k = 0; k < n->n_in; k++)
            print_src(seg, &n->in[k], s);
        if (n->acc >= 0 || n->fused_acc >= 0)
            jn_str_printf(s, " -> acc%d", n->acc >= 0 ? n->acc : n->fused_acc);
        jn_str_putc(s, '\n');
    }
    jn_str_append(s, "    outputs:");
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        print_src(seg, &seg->output[i], s);
    jn_str_putc(s, '\n');
}

void jn_plan_print(const jn_plan *p, jn_str *s) {
    jn_str_printf(s, "plan @%s%s: %u slots, %u parameters\n", p->sub->name,
                  p->saved ? " (saved)" : "", p->n_slots, p->n_params);
    for (size_t i = 0; i < p->n_code; i++) {
        const jn_instr *in = &p->code[i];
        jn_opcode op = jn_opcode_of(in);
        jn_str_printf(s, "%5zu %s dst=%d a=%d b=%d", i, opcode_names[op], (int)in->dst, (int)in->a,
                      (int)in->b);
        if (op == JN_I_INVOKE)
            jn_str_printf(s, " @%s", ((const jn_call *)in->aux)->sub[0]->name);
        if (op == JN_I_DECIDE)
            jn_str_printf(s, " %s", p->where[i]->op->name);
        if (op == JN_I_ISSUE || op == JN_I_ROWS) {
            jn_str_append(s, " ");
            print_segment(in->aux, s);
        } else
            jn_str_putc(s, '\n');
    }
}
