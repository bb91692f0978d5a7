/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of rows on a device: what exec/schedule/group.c does on the host, without ranges and
 * tiles.
 *
 * The group's temporaries, gathered inputs and scalars are one block of device memory that is freed
 * as soon as everything is launched: the stream uses it before it can be given out again.
 */
#include "config.h"

#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/dev_group.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/base/status.h"

static size_t rounded(size_t bytes) { return (bytes + 255) & ~(size_t)255; }

static bool input_gathered(const jn_dev_rows *w, uint32_t i) {
    if (w->n == 1 || i >= 64 || !(w->v->mask >> i & 1))
        return false;
    char *first = w->task[0]->in[i]->data;
    size_t bytes = w->inst->in[i]->bytes;
    for (uint32_t t = 1; t < w->n; t++)
        if (w->task[t]->in[i]->data != first + t * bytes)
            return true;
    return false;
}

/* Of the group's block; a trace plans every piece by itself. */
static char *take(jn_dev_rows *w, size_t bytes) {
    if (w->r->of_schedule.trace)
        return jn_trace_take(w->r->of_schedule.trace, bytes);
    char *p = w->at;
    w->at += rounded(bytes);
    return p;
}

static janus_status gather(jn_dev_rows *w, uint32_t i) {
    size_t bytes = w->inst->in[i]->bytes;
    void **src = jn_alloc(w->n * sizeof *src);
    if (!src)
        return JN_NO_MEMORY();
    for (uint32_t t = 0; t < w->n; t++)
        src[t] = w->task[t]->in[i]->data;
    if (!(w->data.input[i] = take(w, bytes * w->n))) {
        jn_free(src);
        return JN_NO_MEMORY();
    }
    if (w->r->of_schedule.trace) {
        janus_status st =
            jn_trace_gather(w->r->of_schedule.trace, w->data.input[i], src, w->n, bytes);
        jn_free(src);
        return st;
    }
    w->d->module->gather_rows(&w->d->exec, w->data.input[i], src, w->n, bytes);
    jn_free(src);
    int error = w->d->api->launch_error();
    return error ? jn_error(JANUS_DEVICE, "gathering rows: %s", w->d->api->error_text(error))
                 : JANUS_OK;
}

void jn_dev_rows_constant(jn_dev_rows *w, uint32_t i) {
    const jn_segscalar *s = &w->inst->seg->scalars[i];
    int64_t bits = s->is_const ? s->value : w->task[0]->scalars[i];
    if (s->kind == JANUS_KIND_BOOL) {
        w->constant[i] = 0;
        *(bool *)&w->constant[i] = bits != 0;
    } else {
        w->constant[i] = bits;
    }
    w->data.scalar[i] = w->scalar_here[i] = (char *)&w->constant[i];
}

/* One value for all rows stays on the host; one per row goes to the device. */
static janus_status place_scalar(jn_dev_rows *w, uint32_t i) {
    const jn_segscalar *s = &w->inst->seg->scalars[i];
    bool is_bool = s->kind == JANUS_KIND_BOOL;
    if (w->r->of_schedule.trace) {
        if (w->n > 1 && !s->is_const &&
            (jn_variant_scalar_rowed(w->inst, w->v, i) || s->device == JN_SCALAR_FREE))
            return jn_error(JANUS_UNSUPPORTED, "no capture: scalars differ from row to row");
        w->data.scalar[i] = w->scalar_here[i] = (char *)&w->task[0]->scalars[i];
        return JANUS_OK;
    }
    if (!jn_variant_scalar_rowed(w->inst, w->v, i)) {
        jn_dev_rows_constant(w, i);
        return JANUS_OK;
    }
    size_t each = is_bool ? 1 : 8;
    char *host = jn_alloc(each * w->n);
    if (!host)
        return JN_NO_MEMORY();
    for (uint32_t t = 0; t < w->n; t++) {
        if (is_bool)
            host[t] = w->task[t]->scalars[i] != 0;
        else
            memcpy(host + 8 * (size_t)t, &w->task[t]->scalars[i], 8);
    }
    w->scalar_here[i] = host; /* freed with the group */
    w->data.scalar[i] = take(w, each * w->n);
    return jn_dev_upload(w->d, w->data.scalar[i], host, each * w->n);
}

void jn_dev_rows_alias(jn_dev_rows *w, uint32_t value) {
    const jn_segvalue *v = &w->inst->values[value];
    char *base = v->base_input ? w->data.input[v->base] : w->data.value[v->base];
    w->data.value[value] = base + v->offset * (int64_t)jn_dtype_size(v->shape->dtype);
}

static janus_status place_values(jn_dev_rows *w) {
    const jn_segment *seg = w->inst->seg;
    char *scratch = w->r->of_schedule.trace ? NULL : take(w, w->v->scratch_bytes * w->n);
    for (uint32_t i = 0; i < seg->n_values; i++) {
        const jn_segvalue *v = &w->inst->values[i];
        if (v->alias) {
            jn_dev_rows_alias(w, i);
        } else if (v->shape && v->output >= 0) {
            w->data.value[i] = w->task[0]->out[v->output].data;
        } else if (v->shape && !w->v->inside[i]) {
            if (!w->r->of_schedule.trace)
                w->data.value[i] = scratch + w->v->scratch[i] * w->n;
            else if (!(w->data.value[i] = take(w, v->shape->bytes * (w->v->rowed[i] ? w->n : 1))))
                return JN_NO_MEMORY();
        }
    }
    return JANUS_OK;
}

static char *src_data(const jn_dev_rows *w, const jn_src *src) {
    return jn_operand_data(w->inst->seg, &w->data, src);
}

static janus_status sum_rows(jn_dev_rows *w, const jn_vnode *vn) {
    const jn_acc *acc = w->task[0]->accs[vn->acc];
    int64_t step;
    JN_TRY(jn_variant_summand(w->inst, w->v, vn, acc->shape, &step));
    if (!jn_dtype_is_float(acc->shape->dtype))
        return jn_error(JANUS_DTYPE, "acc.add: sums are of floats, got %s",
                        jn_dtype_name((janus_dtype)acc->shape->dtype));
    if (w->r->of_schedule.trace)
        return jn_trace_sum(w->r->of_schedule.trace, acc->part[0].data, src_data(w, &vn->n->in[1]),
                            acc->shape->numel, w->n, step, acc->shape->dtype);
    w->d->module->sum_rows(&w->d->exec, acc->part[0].data, src_data(w, &vn->n->in[1]),
                           acc->shape->numel, w->n, step, acc->shape->dtype);
    int error = w->d->api->launch_error();
    return error ? jn_error(JANUS_DEVICE, "acc.add: %s", w->d->api->error_text(error)) : JANUS_OK;
}

static janus_status call(jn_dev_rows *w, const jn_vnode *vn) {
    const jn_segnode *n = vn->n;
    const jn_loc *loc = &n->node->loc;
    jn_view *in = w->views, *out = in + vn->n_in;
    const jn_segvalue *v0 = n->n_out ? &w->inst->values[n->value[0]] : NULL;
    memcpy(in, vn->in, vn->n_in * sizeof *in);
    memcpy(out, vn->out, vn->n_out * sizeof *out);
    if (v0 && v0->copied) {
        char *base = v0->base_input ? w->data.input[v0->base] : w->data.value[v0->base];
        in[0].data = base + v0->offset * (int64_t)jn_dtype_size(v0->shape->dtype);
    } else {
        for (uint32_t i = 0; i < vn->n_in; i++)
            in[i].data = vn->mode == JN_V_LOOP && n->in[i].kind == JN_SRC_SCALAR
                             ? w->scalar_here[n->in[i].index] /* one value per call */
                             : src_data(w, &n->in[i]);
    }
    for (uint32_t i = 0; i < vn->n_out; i++)
        out[i].data = w->data.value[n->value[i]];
    if (vn->accumulates)
        out[0].data = w->task[0]->accs[vn->acc]->part[0].data;
    jn_kargs k = {.in = in,
                  .out = out,
                  .n_in = vn->n_in,
                  .n_out = vn->n_out,
                  .attrs = vn->attrs,
                  .workspace = w->workspace,
                  .accumulate = vn->accumulates,
                  .from_end = vn->from_end};
    uint32_t times = vn->mode == JN_V_LOOP ? w->n : 1;
    for (uint32_t t = 0; t < times; t++) {
        JN_TRY(w->r->of_schedule.trace
                   ? jn_trace_call(w->r->of_schedule.trace, vn->op, vn->kernel, &k, vn->workspace)
                   : jn_dev_launch(w->d, vn->op, vn->kernel, &k, loc->file, loc->line));
        if (vn->mode == JN_V_LOOP) {
            jn_views_advance(in, vn->in_step, vn->n_in);
            jn_views_advance(out, vn->out_step, vn->n_out);
        }
    }
    w->r->stats.kernels += times;
    return JANUS_OK;
}

janus_status jn_dev_rows_node(jn_dev_rows *w, const jn_vnode *vn) {
    return vn->mode == JN_V_SKIP ? JANUS_OK : vn->mode == JN_V_SUM ? sum_rows(w, vn) : call(w, vn);
}

static janus_status run(jn_dev_rows *w) {
    const jn_segment *seg = w->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        w->data.input[i] = w->task[0]->in[i]->data;
        if (input_gathered(w, i))
            JN_TRY(gather(w, i));
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        JN_TRY(place_scalar(w, i));
    JN_TRY(place_values(w));
    w->workspace = w->r->of_schedule.trace ? NULL : take(w, w->v->workspace);
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        JN_TRY(jn_dev_rows_node(w, &w->v->nodes[i]));
    return JANUS_OK;
}

/* Bytes of the device block. */
static size_t need(const jn_dev_rows *w) {
    const jn_segment *seg = w->inst->seg;
    size_t bytes = rounded(w->v->scratch_bytes * w->n) + rounded(w->v->workspace) + 256;
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (input_gathered(w, i))
            bytes += rounded(w->inst->in[i]->bytes * w->n);
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (jn_variant_scalar_rowed(w->inst, w->v, i))
            bytes += rounded(8 * (size_t)w->n);
    return bytes;
}

janus_status jn_dev_rows_tables(jn_dev_rows *w) {
    const jn_segment *seg = w->inst->seg;
    size_t pointers = (size_t)seg->n_inputs + 3 * (size_t)seg->n_scalars + seg->n_values;
    w->host = jn_calloc(1, pointers * 8 + w->v->max_views * sizeof(jn_view) + 8);
    if (!w->host)
        return JN_NO_MEMORY();
    w->data.input = (char **)(void *)w->host;
    w->data.scalar = w->data.input + seg->n_inputs;
    w->scalar_here = w->data.scalar + seg->n_scalars;
    w->data.value = w->scalar_here + seg->n_scalars;
    w->constant = (int64_t *)(void *)(w->data.value + seg->n_values);
    w->views = (jn_view *)(void *)(w->constant + seg->n_scalars);
    return JANUS_OK;
}

janus_status jn_dev_group_run(jn_run *r, const jn_seginst *inst, const jn_variant *v,
                              jn_task **task, uint32_t n) {
    const jn_segment *seg = inst->seg;
    jn_dev_rows w = {.r = r, .d = r->dev, .inst = inst, .v = v, .task = task, .n = n};
    jn_dev_block *block = NULL;
    JN_TRY(jn_dev_rows_tables(&w));
    size_t bytes = r->of_schedule.trace ? 0 : need(&w);
    janus_status st =
        r->of_schedule.trace ? JANUS_OK
        : bytes > r->mem->ceiling
            ? jn_error(JANUS_NO_MEMORY, "a batch would need %zu bytes of temporaries", bytes)
            : jn_dev_pool_take(&r->dev->pool, bytes, r->dev->stream, &block);
    if (st == JANUS_OK) {
        w.at = block ? block->data : NULL;
        st = run(&w);
        jn_dev_pool_free(&r->dev->pool, block);
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (jn_variant_scalar_rowed(inst, v, i) && !r->of_schedule.trace)
            jn_free(w.scalar_here[i]);
    jn_free(w.host);
    return st;
}
