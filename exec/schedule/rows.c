/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of large tensors: see exec/schedule/rows.h. */
#include "config.h"

#include "exec/schedule/rows.h"

#include <string.h>

#include "exec/schedule/acc.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/alloc.h"

enum {
    TABLE_BYTES = 64 << 10, /* smaller sums are cheap to keep dense */
    FEW_PART = 4            /* more than a part of the rows touched: dense is cheaper */
};

static size_t row_bytes(const jn_shape *s) { return s->bytes / (size_t)s->dims[0]; }

/* ---- tables ------------------------------------------------------------------------------------
 */

bool jn_rows_wanted(const jn_run *r, const jn_shape *s) {
    return !r->exact && jn_computes_here(r->on) && s->rank == 2 && s->bytes >= TABLE_BYTES &&
           s->dims[0] < UINT32_MAX && (s->dtype == JANUS_F32 || s->dtype == JANUS_F64);
}

static void table_free(jn_table *t) {
    jn_free_aligned(t->data);
    jn_free(t->place);
    jn_free(t->row);
    jn_free(t->found);
    jn_free(t);
}

void jn_tables_return(jn_run *r) {
    while (r->of_schedule.tables)
        jn_table_return(r, r->of_schedule.tables);
}

void jn_tables_free(jn_table *list) {
    while (list) {
        jn_table *next = list->next;
        table_free(list);
        list = next;
    }
}

janus_status jn_table_take(jn_run *r, const jn_shape *s, jn_table **out) {
    jn_table **at = &r->set->tables, *t;
    while (*at && (*at)->shape != s)
        at = &(*at)->next;
    if ((t = *at)) {
        *at = t->next;
    } else {
        if (!(t = jn_calloc(1, sizeof *t)) ||
            !(t->place = jn_calloc((size_t)s->dims[0], sizeof *t->place))) {
            jn_free(t);
            return jn_error(JANUS_NO_MEMORY, "no memory for a gradient of %zu bytes", s->bytes);
        }
        t->shape = s;
    }
    t->next = r->of_schedule.tables;
    r->of_schedule.tables = t;
    *out = t;
    return JANUS_OK;
}

void jn_table_return(jn_run *r, jn_table *t) {
    if (t->n)
        memset(t->data, 0, t->n * row_bytes(t->shape));
    for (uint32_t i = 0; i < t->n; i++)
        t->place[t->row[i]] = 0;
    t->n = 0;
    jn_table **at = &r->of_schedule.tables;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->next = r->set->tables;
    r->set->tables = t;
}

static bool make_room(jn_table *t) {
    enum { FEW = 64 };
    size_t most = (size_t)t->shape->dims[0], cap = t->cap ? 2 * (size_t)t->cap : FEW,
           bytes = row_bytes(t->shape);
    cap = cap < most ? cap : most;
    char *data = jn_alloc_aligned(cap * bytes);
    uint32_t *row = data ? jn_realloc(t->row, cap * sizeof *row) : NULL;
    if (!row) {
        jn_free_aligned(data);
        return false;
    }
    if (t->n)
        memcpy(data, t->data, t->n * bytes);
    memset(data + t->n * bytes, 0, (cap - t->n) * bytes);
    jn_free_aligned(t->data);
    t->data = data;
    t->row = row;
    t->cap = (uint32_t)cap;
    return true;
}

static bool touch(jn_table *t, uint32_t row) {
    if (t->place[row])
        return true;
    if (t->n == t->cap && !make_room(t))
        return false;
    t->row[t->n] = row;
    t->place[row] = ++t->n;
    return true;
}

/* The place with the number of the row that is skipped is that row's, if it is anybody's: what the
 * kernel skips is nothing else. */
static bool set_apart(jn_table *t, uint32_t skipped) {
    if (skipped >= t->n || t->row[skipped] == skipped)
        return true;
    if (!touch(t, skipped))
        return false;
    uint32_t p = skipped, q = t->place[skipped] - 1, other = t->row[p];
    char *a = t->data + p * row_bytes(t->shape), *b = t->data + q * row_bytes(t->shape);
    for (size_t i = 0; i < row_bytes(t->shape); i++) {
        char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
    t->row[p] = skipped;
    t->row[q] = other;
    t->place[skipped] = p + 1;
    t->place[other] = q + 1;
    return true;
}

bool jn_table_find(jn_table *t, const jn_view *index, int64_t skips, int64_t *strides,
                   jn_view *out) {
    int64_t n = 1, rows = t->shape->dims[0];
    for (int d = index->rank; d-- > 0;) {
        strides[d] = n;
        n *= index->dims[d];
    }
    if ((size_t)n > t->n_found) {
        int64_t *found = jn_realloc(t->found, (size_t)n * sizeof *found);
        if (!found)
            return false;
        t->found = found;
        t->n_found = (size_t)n;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = index->dtype == JANUS_I32 ? ((const int32_t *)index->data)[i]
                                                : ((const int64_t *)index->data)[i];
        bool in_range = row >= -rows && row < rows; /* else it is the kernel's to tell */
        row = in_range ? row + (row < 0 ? rows : 0) : rows;
        t->found[i] = row;
        if (in_range && row != skips && !touch(t, (uint32_t)row))
            return false;
    }
    if (skips >= 0 && skips < rows && !set_apart(t, (uint32_t)skips))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (t->found[i] < rows && t->found[i] != skips)
            t->found[i] = t->place[t->found[i]] - 1;
    *out = *index;
    out->data = (char *)t->found;
    out->strides = strides;
    out->dtype = JANUS_I64;
    out->contiguous = true;
    return true;
}

/* ---- sums --------------------------------------------------------------------------------------
 */

janus_status jn_rows_leave(jn_run *r, jn_acc *a) {
    size_t bytes = row_bytes(a->shape);
    int64_t n = a->shape->numel / a->shape->dims[0];
    for (uint32_t k = 0; k < JN_MAX_RANGES; k++) {
        jn_acc_part *p = &a->part[k];
        jn_table *t = p->table;
        if (!t)
            continue;
        JN_TRY(jn_acc_block(r, a, k));
        if (!p->written)
            memset(p->data, 0, a->shape->bytes);
        p->written = true;
        for (uint32_t i = 0; i < t->n; i++)
            JN_TRY(jn_add_elements(a->shape->dtype, p->data + t->row[i] * bytes,
                                   t->data + i * bytes, n, &jn_par_serial));
        p->table = NULL;
        jn_table_return(r, t);
    }
    a->rows = false;
    return JANUS_OK;
}

/* Row counts that occur: few, since every one makes specialisations of what works on them. */
static uint32_t round_up(uint32_t n) {
    uint32_t step = 16;
    while (step * 8 <= n)
        step *= 2;
    return (n + step - 1) / step * step;
}

static janus_status new_value(jn_run *r, jn_tval **out) {
    *out = jn_arena_zalloc(&r->mem->tasks, sizeof **out);
    return *out ? JANUS_OK : JN_NO_MEMORY();
}

/* A row-major value [n, dims of `like` behind the first], uninitialised. */
static janus_status new_compact(jn_run *r, const jn_shape *like, int64_t n, jn_tval **out) {
    int64_t dims[JN_MAX_RANK];
    memcpy(dims, like->dims, (size_t)like->rank * sizeof *dims);
    dims[0] = n;
    JN_TRY(new_value(r, out));
    jn_tval *v = *out;
    v->shape = jn_shape_intern(&r->set->shapes, (janus_dtype)like->dtype, like->rank, dims);
    v->data = v->shape ? jn_mem_tensor(r->mem, v->shape->bytes) : NULL;
    return v->data ? JANUS_OK : jn_error(JANUS_NO_MEMORY, "no memory for %lld rows", (long long)n);
}

janus_status jn_rows_sum(jn_run *r, jn_acc *a) {
    size_t bytes = row_bytes(a->shape);
    int64_t row_numel = a->shape->numel / a->shape->dims[0];
    uint32_t most = 0, n = 0;
    for (int k = 0; k < JN_MAX_RANGES; k++)
        most += a->part[k].table ? a->part[k].table->n : 0;
    if (most > a->shape->dims[0] / FEW_PART)
        return jn_rows_leave(r, a);
    jn_rows *rows = jn_arena_alloc(&r->mem->tasks, sizeof *rows);
    uint32_t *index = jn_arena_alloc(&r->mem->tasks, (most + 1) * sizeof *index);
    if (!rows || !index)
        return JN_NO_MEMORY();
    jn_tval *compact;
    JN_TRY(new_compact(r, a->shape, round_up(most), &compact));
    for (int k = 0; k < JN_MAX_RANGES; k++) {
        const jn_table *t = a->part[k].table;
        for (uint32_t i = 0; t && i < t->n; i++) {
            uint32_t row = t->row[i];
            char *to = compact->data + n * bytes;
            if (!t->place[row])
                continue; /* came with an earlier range */
            memcpy(to, t->data + i * bytes, bytes);
            for (int j = k + 1; j < JN_MAX_RANGES; j++) {
                jn_table *o = a->part[j].table;
                if (!o || !o->place[row])
                    continue;
                JN_TRY(jn_add_elements(a->shape->dtype, to, o->data + (o->place[row] - 1) * bytes,
                                       row_numel, &jn_par_serial));
                o->place[row] = 0;
            }
            index[n++] = row;
        }
    }
    memset(compact->data + n * bytes, 0, compact->shape->bytes - n * bytes);
    for (int k = 0; k < JN_MAX_RANGES; k++) {
        if (a->part[k].table)
            jn_table_return(r, a->part[k].table);
        a->part[k].table = NULL;
    }
    *rows = (jn_rows){n, index, compact, NULL};
    a->value = (jn_tval){.shape = a->shape, .rows = rows};
    return JANUS_OK;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

/* The rows of an operand of a step, with zeros behind them. */
static janus_status operand_rows(jn_run *r, jn_tval *v, const jn_rows *like, jn_tval **out) {
    if (v->rows && v->rows->index == like->index) {
        *out = v->rows->compact;
        return JANUS_OK;
    }
    JN_TRY(jn_tval_force(r, v));
    JN_TRY(new_compact(r, v->shape, like->compact->shape->dims[0], out));
    size_t bytes = row_bytes(v->shape);
    for (uint32_t i = 0; i < like->n; i++)
        memcpy((*out)->data + i * bytes, v->data + like->index[i] * bytes, bytes);
    memset((*out)->data + like->n * bytes, 0, (*out)->shape->bytes - like->n * bytes);
    return JANUS_OK;
}

static jn_slot *operand_slot(const jn_segment *seg, jn_slot *slots, uint32_t i) {
    return &slots[seg->input_slot[seg->nodes[0].in[i].index]];
}

janus_status jn_rows_issue(jn_run *r, jn_segment *seg, jn_slot *slots) {
    jn_tval *base = operand_slot(seg, slots, 0)->t, *by = operand_slot(seg, slots, 1)->t;
    jn_slot before[4];
    bool few = by && base && by->rows && base->shape == by->shape && seg->n_inputs <= 4;
    for (uint32_t i = 0; few && i < seg->n_inputs; i++)
        few = slots[seg->input_slot[i]].t && slots[seg->input_slot[i]].t->shape == by->shape;
    if (!few)
        return jn_issue(r, seg, slots);
    const jn_rows *like = by->rows;
    janus_status st = JANUS_OK;
    jn_tval *in[4];
    for (uint32_t i = 0; i < seg->n_inputs && st == JANUS_OK; i++)
        st = operand_rows(r, slots[seg->input_slot[i]].t, like, &in[i]);
    JN_TRY(st);
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        before[i] = slots[seg->input_slot[i]];
        slots[seg->input_slot[i]].t = in[i];
    }
    st = jn_issue(r, seg, slots);
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        slots[seg->input_slot[i]] = before[i];
    JN_TRY(st);
    jn_rows *rows = jn_arena_alloc(&r->mem->tasks, sizeof *rows);
    jn_slot *out = &slots[seg->output_slot[0]];
    jn_tval *v;
    if (!rows)
        return JN_NO_MEMORY();
    JN_TRY(new_value(r, &v));
    bool again = base->rows && base->rows->index == like->index;
    *rows = (jn_rows){like->n, like->index, out->t, again ? base->rows->base : base};
    *v = (jn_tval){.shape = base->shape, .rows = rows};
    out->t = v;
    return JANUS_OK;
}

/* ---- leaving -----------------------------------------------------------------------------------
 */

janus_status jn_rows_fill(jn_run *r, jn_tval *v) {
    const jn_rows *rows = v->rows;
    size_t bytes = row_bytes(v->shape);
    JN_TRY(jn_tval_force(r, rows->compact));
    if (rows->base)
        JN_TRY(jn_tval_force(r, rows->base));
    char *data = jn_mem_tensor(r->mem, v->shape->bytes);
    if (!data)
        return jn_error(JANUS_NO_MEMORY, "no memory for a tensor of %zu bytes", v->shape->bytes);
    if (rows->base)
        memcpy(data, rows->base->data, v->shape->bytes);
    else
        memset(data, 0, v->shape->bytes);
    for (uint32_t i = 0; i < rows->n; i++)
        memcpy(data + rows->index[i] * bytes, rows->compact->data + i * bytes, bytes);
    v->data = data;
    return JANUS_OK;
}

janus_status jn_rows_export(jn_run *r, jn_tval *v, janus_tensor **out) {
    const jn_rows *rows = v->rows;
    JN_TRY(jn_tval_force(r, rows->compact));
    return jn_tensor_of_rows((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, rows->n,
                             rows->index, rows->compact->data,
                             rows->base ? rows->base->dense : NULL, out);
}
