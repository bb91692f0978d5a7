/* SPDX-License-Identifier: Apache-2.0 */
/* A run from arguments to committed effects: see exec/run/run.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/eager/eager.h"
#include "exec/heap/heap.h"
#include "exec/kernels/kernels.h"
#include "exec/plan/plan.h"
#include "exec/run/again.h"
#include "exec/run/run.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/store/store.h"
#include "exec/strand/strand.h"
#include "graph/base/limit.h"
#include "graph/base/log.h"
#include "graph/base/status.h"

/* Half of what the process may have, or all that the user says. */
static size_t default_ceiling(void) {
    bool given;
    size_t limit = jn_memory_limit(&given);
    return given || limit == SIZE_MAX ? limit : limit / 2;
}

/* What is the same for all runs of a SubGraph in a set. */
static janus_status init_first(jn_run *r) {
    for (size_t i = 0; i < r->sub->params.n; i++)
        r->keeps |= r->sub->params.data[i].type->kind == JANUS_KIND_FRAME;
    r->results = jn_calloc(r->sub->results.n + 1, sizeof *r->results);
    JN_TRY(r->results ? JANUS_OK : JN_NO_MEMORY());
    return jn_plan_get(r->set, r->sub, false, &r->entry);
}

static janus_status init(jn_run *r, const janus_run_options *o) {
    r->options = (janus_run_options){0};
    r->host = (janus_host_ops){0};
    if (o) {
        size_t n = o->struct_size < sizeof r->options ? o->struct_size : sizeof r->options;
        memcpy(&r->options, o, n);
    }
    if (r->options.host) {
        size_t n = r->options.host->struct_size;
        memcpy(&r->host, r->options.host, n < sizeof r->host ? n : sizeof r->host);
    }
    JN_TRY(jn_run_device_named(r->options.device, &r->on, &r->dev));
    r->exact = r->options.numerics == JANUS_NUMERICS_EXACT;
    jn_schedule_begin(r);
    r->rng_offset = r->options.rng_offset;
    jn_strand_begin(r);
    if (!r->entry)
        JN_TRY(init_first(r));
    JN_TRY(jn_run_failures(r)); /* what eager calls did wrong is no failure of this run */
    if (r->set->spare && r->set->spare->dev != r->dev) {
        jn_mem_release(r->set->spare);
        r->set->spare = NULL;
    }
    r->mem = r->set->spare ? r->set->spare : jn_mem_new(r->on, r->dev);
    r->set->spare = NULL;
    if (!r->mem)
        return JN_NO_MEMORY();
    JN_CHECK_THAT(jn_mem_check(r->mem, "a run begins", true));
    r->mem->on = r->on; /* as the spare one's, but for its name */
    jn_mem_expect(r->mem, r->set->expected);
    r->mem->ceiling = r->options.byte_ceiling ? r->options.byte_ceiling : default_ceiling();
    return JANUS_OK;
}

janus_status jn_run_new(const jn_subgraph *sub, const janus_run_options *options, jn_run **out) {
    jn_planset *set;
    JN_TRY(jn_planset_take(sub->module, &set));
    jn_run *r = jn_run_idle(set, sub);
    if (!r) {
        r = jn_pool_alloc(sizeof *r); /* it is large: malloc would tidy up for it */
        if (!r) {
            jn_planset_return(set);
            return JN_NO_MEMORY();
        }
        memset(r, 0, sizeof *r);
        r->sub = sub;
    }
    r->set = set;
    janus_status st = init(r, options);
    if (st != JANUS_OK) {
        jn_run_free(r);
        return st;
    }
    *out = r;
    return JANUS_OK;
}

/* A tensor of the shape that it had last, dense, where the run is; false: it is not ready.  There
 * is room for it in `owned`. */
static inline bool bind_known(jn_mem *m, bool borrows, const jn_shape *shape, const jn_arg *a,
                              jn_bound *to) {
    janus_tensor *t = a->t;
    char *data = jn_tensor_ready_data(t);
    if (JN_UNLIKELY(!data))
        return false;
    if (!borrows) {
        janus_tensor_retain(t);
        m->owned.data[m->owned.n++] = t;
    }
    *to = (jn_bound){{data, shape, NULL, t, t, NULL}, a->object};
    return true;
}

/* The usual tensor is such a one. */
static bool bind_usual(const jn_run *r, unsigned i, const jn_arg *a, jn_bound *to) {
    return r->sub->params.data[i].type->kind == JANUS_KIND_TENSOR && jn_is_usual(r, i, a) &&
           bind_known(r->mem, r->borrows, r->entry->bound[i], a, to);
}

static janus_status bind(jn_run *r, unsigned i, const jn_arg *a, jn_slot *out) {
    const jn_param *p = &r->sub->params.data[i];
    if (a->kind == JANUS_KIND_NONE) {
        out->p = NULL;
        return JANUS_OK;
    }
    if (a->kind != (janus_kind)p->type->kind)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: argument %u (%%%s) is of another kind",
                        r->sub->name, i, p->name);
    switch (a->kind) {
    case JANUS_KIND_TENSOR: {
        const jn_shape **last = &r->entry->bound[i];
        if (jn_is_shape_of(*last, a->t)) /* it was of the parameter's type */
            return jn_tval_bind(r, a->t, a->object, last, &out->t);
        jn_type have = jn_tensor_as_type(a->t);
        if (!jn_type_fits(&have, p->type)) {
            jn_str s = {0};
            jn_type_print(&s, p->type);
            jn_str_append(&s, ", got ");
            jn_type_print(&s, &have);
            janus_status st = jn_error(JANUS_SHAPE, "@%s: argument %u (%%%s): expected %s",
                                       r->sub->name, i, p->name, s.data ? s.data : "?");
            jn_str_free(&s);
            return st;
        }
        return jn_tval_bind(r, a->t, a->object, last, &out->t);
    }
    case JANUS_KIND_FRAME:
        *out = a->f->frame;
        return JANUS_OK;
    case JANUS_KIND_OBJECT:
        if ((uintptr_t)a->o & 1)
            return jn_error(JANUS_INVALID_ARGUMENT, "a host object with an odd address");
        out->p = a->o;
        return JANUS_OK;
    default:
        out->i = a->s.i;
        return JANUS_OK;
    }
}

void jn_run_knows(jn_run *r, uint64_t number, const uint8_t *known) {
    r->known = number;
    r->is_known = known;
}

void jn_run_borrows(jn_run *r) { r->borrows = true; }

/* Whether arguments that are known have the shapes that the plan knows, and lie where they are
 * read: then so it is in all runs with this number. */
static bool learn_known(const jn_run *r, const jn_arg *args, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (r->is_known[i] && !jn_is_usual(r, i, &args[i]))
            return false;
    return true;
}

static janus_status bind_all(jn_run *r, const jn_arg *args, unsigned n, jn_slot *slots,
                             jn_bound *bound) {
    jn_plan *p = r->entry;
    const uint8_t *known = r->known && r->known == p->known ? r->is_known : NULL;
    const jn_shape *const *shapes = p->bound;
    jn_mem *m = r->mem;
    bool borrows = r->borrows, alike = true;
    if (!known)
        p->known = 0;
    for (unsigned i = 0; i < n; i++) {
        if ((known && known[i] && bind_known(m, borrows, shapes[i], &args[i], &bound[i])) ||
            bind_usual(r, i, &args[i], &bound[i]))
            slots[i].t = &bound[i].v;
        else {
            const jn_shape *was = shapes[i];
            JN_TRY(bind(r, i, &args[i], &slots[i]));
            alike &= shapes[i] == was;
        }
    }
    p->alike = alike ? p->alike + (p->alike < UINT32_MAX - 1) : 0;
    if (r->known && !known && learn_known(r, args, n))
        p->known = r->known;
    return JANUS_OK;
}

janus_status jn_run_execute(jn_run *r, const jn_arg *args, unsigned n_args) {
    if (n_args != r->sub->params.n)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: expected %zu arguments, got %u", r->sub->name,
                        r->sub->params.n, n_args);
    janus_status st;
    if (r->entry->replay && jn_run_again(r, args, n_args, &st))
        return st;
    for (size_t i = 0; i < 2 * r->set->module->subs.n; i++)
        r->set->plans[i].free_frames = NULL;
    jn_slot *slots = jn_arena_alloc(&r->mem->arena, (n_args + 1) * sizeof *slots);
    jn_bound *bound = jn_arena_alloc(&r->mem->tasks, (n_args + 1) * sizeof *bound);
    if (!slots || !bound || !jn_vec_reserve(&r->mem->owned, r->mem->owned.n + 2 * (size_t)n_args))
        return JN_NO_MEMORY();
    bool plain = !r->mem->owned.n;
    if (r->entry->panels)
        jn_panels_look(r->entry->panels, args,
                       r->known && r->known == r->entry->known ? r->is_known : NULL);
    JN_TRY(bind_all(r, args, n_args, slots, bound));
    if (plain && r->entry->alike >= r->entry->write_at)
        jn_run_write(r, args, n_args, slots, bound);
    r->args = slots;
    int64_t start = jn_run_clock();
    st = jn_host_run(r, slots);
    if (jn_prof_on())
        jn_prof_add(JN_PROF_HOST, r->sub->name, NULL, start, 1);
    JN_TRY(st);
    r->stats.host_ns = (uint64_t)(jn_run_clock() - start) - r->stats.tensor_ns;
    r->finished = true;
    return JANUS_OK;
}

janus_status jn_run_stores(jn_run *r, unsigned result, unsigned when, janus_tensor *target,
                           bool only) {
    jn_result_store s = {result, when, target, only};
    if (result >= r->sub->results.n || when > r->sub->results.n || r->prepared)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: no result %u to store, or too late",
                        r->sub->name, result);
    return jn_late_stores(r, s);
}

void jn_run_aside(jn_run *r) { r->aside = true; }

static janus_status frame_result(jn_run *r, jn_slot frame, const jn_type *t, jn_frame_value **out) {
    jn_frame_value *f = jn_alloc(sizeof *f);
    if (!f)
        return JN_NO_MEMORY();
    atomic_init(&f->refs, 1);
    f->mem = r->mem;
    f->frame = frame;
    f->sub = t->frame_of;
    jn_mem_hold(r->mem);
    if (!r->mem->module) {
        janus_module_retain((janus_module *)r->set->module);
        r->mem->module = r->set->module;
    }
    *out = f;
    return JANUS_OK;
}

janus_status jn_run_results(jn_run *r, jn_arg *results, unsigned n, const bool *lent) {
    if (n != r->sub->results.n)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s has %zu results, asked for %u", r->sub->name,
                        r->sub->results.n, n);
    JN_TRY(jn_run_prepare(r));
    unsigned i = 0;
    janus_status st = JANUS_OK;
    for (; i < n && st == JANUS_OK; i++) {
        const jn_type *t = r->sub->result_types.data[i];
        jn_slot v = r->results[i];
        results[i] = (jn_arg){.kind = (janus_kind)t->kind};
        if (t->kind == JANUS_KIND_TENSOR && !v.t)
            results[i].kind = JANUS_KIND_NONE;
        else if (t->kind == JANUS_KIND_TENSOR)
            st = jn_log_result(r, v.t, lent && lent[i], &results[i]);
        else if (t->kind == JANUS_KIND_FRAME)
            st = frame_result(r, v, t, &results[i].f);
        else if (t->kind == JANUS_KIND_OBJECT)
            st = jn_log_object(r, v.p, &results[i]);
        else
            results[i].s.i = v.i;
    }
    if (st == JANUS_OK)
        st = JN_CHECKED_STATUS(jn_mem_check(r->mem, "results are given", false));
    if (st == JANUS_OK) {
        jn_ops_run.graph += r->stats.ops;
        return st;
    }
    for (unsigned k = 0; k + 1 < i; k++)
        if (results[k].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(results[k].t);
        else if (results[k].kind == JANUS_KIND_FRAME)
            jn_frame_value_release(results[k].f);
    for (unsigned k = 0; k < n; k++) /* nothing is left for the caller to release */
        results[k].kind = JANUS_KIND_NONE;
    return st;
}

janus_status jn_run_wired(const jn_run *r, jn_wired **out, size_t *out_n) {
    return jn_log_wired(r, out, out_n);
}

int64_t jn_run_wires(const jn_run *r) { return jn_wires_last(r); }

janus_status jn_run_wire_begins(jn_run *r, int64_t number, janus_tensor *t) {
    jn_tval *v;
    JN_TRY(jn_tval_bind(r, t, NULL, NULL, &v));
    return jn_wire_set(r, number, v);
}

const jn_wired *jn_run_found(const jn_run *r, size_t *out_n) { return jn_wires_found(r, out_n); }

janus_status jn_run_wire_left(jn_run *r, int64_t number, janus_tensor **out) {
    return jn_wire_left(r, number, out);
}

const uint8_t *jn_run_wire_marks(const jn_run *r, size_t *out_n) {
    return jn_wires_marked(r, out_n);
}

static char *place(const jn_run *r, const jn_type *t, jn_slot v) {
    if (t->kind != JANUS_KIND_TENSOR || !v.t || (v.t->tensor && v.t->tensor == v.t->dense))
        return NULL;
    return !r->on->host && v.t->dense ? NULL : v.t->data;
}

char *jn_run_result_place(const jn_run *r, unsigned result) {
    return place(r, r->sub->result_types.data[result], r->results[result]);
}

char *jn_run_argument_place(const jn_run *r, unsigned argument) {
    return place(r, r->sub->params.data[argument].type, r->args[argument]);
}

void jn_run_stats_get(const jn_run *r, janus_run_stats *out) {
    *out = r->stats;
    if (r->mem && !r->replays) /* the list knows it */
        out->peak_bytes = jn_mem_peak(r->mem) + r->mem->apart_most + jn_schedule_scratch(r);
    out->rng_offset = r->rng_offset;
    out->lanes = r->stats.lanes ? r->stats.lanes : 1;
}

/* All but what is known of plans; the memory is for the next run, if that is soon.  What a frame
 * value held beside it, to be released. */
static const janus_module *let_go(jn_run *r, bool soon) {
    jn_early_cancel(r);
    if (!r->prepared && r->on && JN_UNLIKELY(r->on->failures != NULL)) {
        janus_error why = *janus_last_error(); /* failures of a run that is discarded are no news */
        (void)jn_run_failures(r);
        jn_error_publish(&why);
    }
    bool alone = r->mem && atomic_load_explicit(&r->mem->refs, memory_order_acquire) == 1;
    bool of_list = r->replays;
    if (r->entry && r->entry->replay && !r->entry->replay->written)
        of_list = jn_run_written(r, alone);
    jn_log_free(r);
    jn_strand_free(r);
    jn_overlay_free(r);
    jn_tuple_keys_free(r);
    jn_wires_free(r);
    jn_list_rows_free(r);
    jn_schedule_end(r);
    jn_free(r->results);
    r->results = NULL;
    const janus_module *held = NULL;
    if (of_list) {
        jn_mem_drop_owned(r->mem);
    } else if (alone && r->set && soon) {
        held = r->mem->module; /* a frame value had it and is gone */
        r->mem->module = NULL;
        jn_mem_reset(r->mem);
        r->set->spare = r->mem;
    } else {
        if (r->mem && r->set)
            r->set->expected = jn_mem_peak(r->mem);
        jn_mem_release(r->mem);
    }
    r->mem = NULL;
    r->rests = true;
    return held;
}

void jn_run_rest(jn_run *r) {
    jn_run_stats_get(r, &r->stats);
    janus_module_release((janus_module *)let_go(r, false));
    jn_tables_free(r->set->tables);
    r->set->tables = NULL;
    jn_memory_trim();
}

void jn_run_free(jn_run *r) {
    if (!r || (r->replays && jn_run_idles(r)))
        return;
    const janus_module *held = r->rests ? NULL : let_go(r, true);
    jn_watch_end(r);
    if (r->set)
        jn_planset_return(r->set);
    jn_pool_free(r, sizeof *r);
    janus_module_release((janus_module *)held);
}

/* What a C program gives as arguments; frames are nothing it can have. */
static janus_status take_args(const jn_subgraph *sub, const janus_arg *args, unsigned n,
                              jn_arg *in) {
    for (unsigned i = 0; i < n; i++) {
        in[i] = (jn_arg){.kind = args[i].kind};
        switch ((int)args[i].kind) {
        case JANUS_KIND_NONE:
            if (i < sub->params.n && sub->params.data[i].type->kind != JANUS_KIND_NONE)
                return jn_error(JANUS_INVALID_ARGUMENT, "@%s: argument %u (%%%s) is missing",
                                sub->name, i, sub->params.data[i].name);
            break;
        case JANUS_KIND_TENSOR:
            in[i].t = args[i].t;
            if (!in[i].t)
                return jn_error(JANUS_INVALID_ARGUMENT,
                                "janus_run: argument %u: its tensor is NULL", i);
            break;
        case JANUS_KIND_OBJECT:
            in[i].o = args[i].o;
            break;
        case JANUS_KIND_BOOL:
            in[i].s.i = args[i].s.i != 0;
            break;
        case JANUS_KIND_INT:
        case JANUS_KIND_FLOAT:
            in[i].s = args[i].s;
            break;
        default:
            return jn_error(JANUS_INVALID_ARGUMENT, "janus_run: argument %u is of unknown kind %d",
                            i, (int)args[i].kind);
        }
    }
    return JANUS_OK;
}

janus_status janus_run(const janus_subgraph *sub, const janus_arg *args, unsigned n_args,
                       const janus_run_options *options, janus_arg *results, unsigned n_results,
                       janus_run_stats *stats) {
    jn_arg in_buf[16], *in = in_buf;
    jn_arg out_buf[16], *out = out_buf;
    jn_run *r = NULL;
    janus_status st;
    if (!sub || (n_args && !args) || (n_results && !results))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_run: %s is NULL",
                        !sub                ? "sub"
                        : (n_args && !args) ? "args"
                                            : "results");
    janus_module *module = sub->module;
    jn_module_retain(module); /* host callbacks may release it */
    if ((n_args > 16 && !(in = jn_alloc(n_args * sizeof *in))) ||
        (n_results > 16 && !(out = jn_alloc(n_results * sizeof *out)))) {
        st = JN_NO_MEMORY();
        goto done;
    }
    JN_GO(take_args(sub, args, n_args, in), done);
    JN_GO(jn_run_new(sub, options, &r), done);
    JN_GO(jn_run_execute(r, in, n_args), done);
    JN_GO(jn_run_prepare(r), done);
    JN_GO(jn_run_results(r, out, n_results, NULL), done);
    for (unsigned i = 0; i < n_results && st == JANUS_OK; i++)
        if (out[i].kind == JANUS_KIND_TENSOR)
            st = jn_tensor_fill(out[i].t);
    if (st == JANUS_OK)
        st = jn_run_apply(r);
    for (unsigned i = 0; i < n_results; i++) {
        if (st != JANUS_OK && out[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(out[i].t);
        if (out[i].kind == JANUS_KIND_FRAME)
            jn_frame_value_release(out[i].f);
        if (st != JANUS_OK)
            continue;
        results[i].kind = out[i].kind;
        if (out[i].kind == JANUS_KIND_TENSOR)
            results[i].t = out[i].t;
        else if (out[i].kind == JANUS_KIND_OBJECT)
            results[i].o = out[i].o;
        else
            results[i].s = out[i].s;
    }
    if (st == JANUS_OK && stats)
        jn_run_stats_get(r, stats);
done:
    jn_run_free(r);
    jn_module_release(module);
    if (in != in_buf)
        jn_free(in);
    if (out != out_buf)
        jn_free(out);
    return st;
}

/* ---- what lower rooms do ------------------------------------------------------------------------
 */

janus_status jn_run_prepare(jn_run *r) { return jn_log_prepare(r); }

const jn_effect *jn_run_log(const jn_run *r, size_t *out_n) { return jn_log_entries(r, out_n); }

janus_status jn_run_late(jn_run *r) { return jn_log_late(r); }

janus_status jn_run_apply(jn_run *r) { return jn_log_apply(r); }

janus_status jn_module_schedule(const janus_module *m, jn_str *s) { return jn_plans_json(m, s); }

void jn_module_watch(janus_module *m) { jn_watch_module(m); }

void jn_module_rest(const janus_module *m) { jn_plans_rest(m); }

bool jn_run_met(const jn_run *r) { return jn_watch_has_met(r); }

void jn_run_confirm(jn_run *r) { jn_watch_confirm(r); }
