/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulators: see exec/schedule/acc.h. */
#include "config.h"

#include "exec/schedule/acc.h"

#include <string.h>

#include "exec/schedule/group.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"
#include "ops/services.h"

enum {
    PRODUCT_ROWS = 256,      /* room for these, unless they are many bytes; multiplied at once */
    SETTLE_ROWS = 64,        /* worth a block of a lane's own */
    PRODUCT_BYTES = 4 << 20, /* of collected rows: more are multiplied before the next group, unless
                                the sum, which is read and written then, is larger than both */
    APART_BYTES = 1 << 20    /* of collected rows, whose memory goes back when the sum is read */
};

static janus_status no_memory(const jn_acc *a) {
    return jn_error(JANUS_NO_MEMORY, "no memory for a gradient of %zu bytes", a->shape->bytes);
}

janus_status jn_acc_new(jn_run *r, const jn_tval *like, jn_acc **out) {
    jn_acc *a = jn_arena_zalloc(&r->mem->arena, sizeof *a);
    if (!a)
        return JN_NO_MEMORY();
    if (!like)
        return jn_error(JANUS_INTERNAL, "acc.new like an absent tensor");
    a->shape = like->shape;
    a->rows = jn_rows_wanted(r, a->shape);
    r->keeps = true;
    *out = a;
    return JANUS_OK;
}

/* The first block is a tensor, so that it can leave the run without a copy. */
static janus_status first_block(jn_run *r, jn_acc *a) {
    if (!jn_vec_reserve(&r->mem->owned, r->mem->owned.n + 1))
        return JN_NO_MEMORY();
    JN_TRY(
        jn_tensor_empty((janus_dtype)a->shape->dtype, a->shape->rank, a->shape->dims, &a->tensor));
    r->mem->owned.data[r->mem->owned.n++] = a->tensor;
    a->part[0].data = jn_tensor_ready_data(a->tensor);
    return JANUS_OK;
}

janus_status jn_host_sum(jn_run *r, jn_acc *a, uint32_t k) {
    jn_acc_part *p = &a->part[k];
    if (p->data)
        return JANUS_OK;
    p->written = false;
    if (k == 0)
        return first_block(r, a);
    p->data = jn_run_memory(r, a->shape->bytes);
    return p->data ? JANUS_OK : no_memory(a);
}

/* ---- sums of blocks ----------------------------------------------------------------------------
 */

janus_status jn_add_elements(uint8_t dtype, char *to, const char *from, int64_t n,
                             const jn_par *par) {
    int64_t stride = 1;
    uint32_t flags = 0;
    jn_view in[2] = {{to, &n, &stride, 1, dtype, true},
                     {(char *)from, &n, &stride, 1, dtype, true}};
    jn_sig sig = {jn_service_add.op, in, in, 2, 1, NULL};
    jn_kernel_fn add = jn_op_impls[sig.op->id].cpu(&sig);
    if (!add || !jn_dtype_is_float(dtype))
        return jn_error(JANUS_DTYPE, "acc.add: sums are of floats, got %s",
                        jn_dtype_name((janus_dtype)dtype));
    jn_kargs k = {in, in, 2, 1, NULL, NULL, &flags, par, false, false, 0, NULL, NULL, NULL};
    add(&k);
    return JANUS_OK;
}

janus_status jn_acc_add(jn_acc *a, uint32_t k, const char *from, int64_t step, uint32_t n) {
    size_t size = jn_dtype_size((janus_dtype)a->shape->dtype);
    jn_acc_part *p = &a->part[k];
    for (uint32_t t = 0; t < n; t++, from += (size_t)step * size) {
        if (!p->written)
            memcpy(p->data, from, a->shape->bytes);
        else
            JN_TRY(
                jn_add_elements(a->shape->dtype, p->data, from, a->shape->numel, &jn_par_serial));
        p->written = true;
    }
    return JANUS_OK;
}

/* ---- products ----------------------------------------------------------------------------------
 */

/* part `to` of the sum += x' z */
static janus_status multiply(const jn_acc *a, jn_acc_part *to, const jn_kept_rows *x,
                             const char *x_data, const jn_kept_rows *z, const char *z_data,
                             int64_t rows) {
    uint8_t dtype = a->shape->dtype;
    int64_t dims[3][2] = {{rows, x->cols}, {rows, z->cols}, {x->cols, z->cols}};
    int64_t strides[3][2] = {{x->cols, 1}, {z->cols, 1}, {z->cols, 1}};
    jn_view v[3] = {{(char *)x_data, dims[0], strides[0], 2, dtype, true},
                    {(char *)z_data, dims[1], strides[1], 2, dtype, true},
                    {to->data, dims[2], strides[2], 2, dtype, true}};
    jn_sig sig = {jn_service_xtz.op, v, v + 2, 2, 1, jn_service_xtz.attrs};
    const jn_op_impl *impl = &jn_op_impls[sig.op->id];
    jn_kernel_fn matmul = impl->cpu(&sig);
    size_t bytes = impl->workspace ? impl->workspace(&sig) : 0;
    void *workspace = bytes ? jn_alloc_aligned(bytes) : NULL;
    uint32_t flags = 0;
    if (!matmul || (bytes && !workspace))
        return JN_NO_MEMORY();
    jn_kargs k = {v,
                  v + 2,
                  2,
                  1,
                  jn_service_xtz.attrs,
                  workspace,
                  &flags,
                  jn_par_pool(),
                  to->written,
                  false,
                  0,
                  NULL,
                  NULL,
                  NULL};
    matmul(&k);
    jn_free_aligned(workspace);
    to->written = true;
    return flags ? JN_NO_MEMORY() : JANUS_OK;
}

/* Rows one behind the other: where they lie so, or in `room`. */
static const char *together(const jn_kept_rows *f, int64_t first, int64_t n, size_t row,
                            char *room) {
    if (!f->at)
        return f->data + (size_t)first * row;
    const char *const *at = f->at + first;
    int64_t i = 1;
    while (i < n && at[i] == at[0] + (size_t)i * row)
        i++;
    if (i >= n)
        return at[0];
    int64_t rows = jn_rows_ahead(row);
    for (i = 0; i < n; i++) {
        if (i + rows < n)
            jn_ask_for(at[i + rows], row);
        memcpy(room + (size_t)i * row, at[i], row);
    }
    return room;
}

/* A product over rows of several tasks is made of so many at once, wherever they lie. */
static janus_status multiply_rows(jn_run *r, const jn_acc *a, uint32_t k, const jn_product *p,
                                  jn_acc_part *to) {
    const jn_collected *c = p->of;
    const jn_kept_rows *x = &c->factor[p->x], *z = &c->factor[p->z];
    size_t size = jn_dtype_size((janus_dtype)a->shape->dtype);
    size_t x_row = (size_t)x->cols * size, z_row = (size_t)z->cols * size;
    int64_t first = p->from * x->rows, end = c->taken * x->rows,
            most = c->cap > 1 ? PRODUCT_ROWS : end;
    size_t x_room = ((size_t)(x->at ? most : 0) * x_row + 63) & ~(size_t)63;
    char *room = NULL;
    if (c->cap > 1 && (x->at || z->at) && first < end)
        JN_TRY(jn_scratch_take(r, k, x_room + (size_t)(z->at ? most : 0) * z_row, &room));
    for (; first < end; first += most) {
        int64_t n = end - first < most ? end - first : most;
        const char *x_data = together(x, first, n, x_row, room),
                   *z_data = together(z, first, n, z_row, room ? room + x_room : NULL);
        JN_TRY(multiply(a, to, x, x_data, z, z_data, n));
    }
    return JANUS_OK;
}

/* When nobody needs what has been collected its memory takes other rows. */
static void has_multiplied(jn_product *p) {
    jn_collected *c = p->of;
    p->from = c->taken;
    for (uint32_t i = 0; i < c->n_products; i++)
        if (c->product[i].sum && c->product[i].from < c->taken)
            return;
    for (uint32_t i = 0; i < c->n_products; i++)
        c->product[i].from = 0;
    c->taken = 0;
}

/* What part `k` has collected, added to part `to`, which has a block. */
static janus_status multiply_all(jn_run *r, jn_acc *a, uint32_t k, jn_acc_part *to) {
    for (jn_product *p = a->part[k].products; p; p = p->next) {
        JN_TRY(multiply_rows(r, a, k, p, to));
        has_multiplied(p);
    }
    a->part[k].product_bytes = 0;
    return JANUS_OK;
}

/* Bytes of rows that may be collected: more are multiplied before. */
static size_t product_room(const jn_acc *a) {
    return a->shape->bytes > PRODUCT_BYTES ? a->shape->bytes : PRODUCT_BYTES;
}

/* Bytes that a task's rows of a factor take: of themselves, or of where they lie. */
static size_t kept_bytes(const jn_factor *f, size_t size) {
    return (size_t)f->rows * (f->stays ? sizeof(char *) : (size_t)f->cols * size);
}

/* Tasks that a collection has room for. */
static int64_t room_for(const jn_variant *v, jn_acc *const *accs, uint32_t n) {
    size_t bytes = 1, least = SIZE_MAX;
    int64_t rows = 1;
    for (uint32_t i = 0; i < v->n_factors; i++) {
        const jn_factor *f = &v->factors[i];
        const jn_acc *a = accs[v->nodes[f->node].acc];
        bytes += kept_bytes(f, jn_dtype_size((janus_dtype)a->shape->dtype));
        rows = f->rows > rows ? f->rows : rows;
        least = product_room(a) < least ? product_room(a) : least;
    }
    int64_t most = PRODUCT_ROWS / rows, fit = (int64_t)(least / bytes);
    most = fit < most ? fit : most;
    return most > n ? most : n;
}

/* Whether it collects for the same products, and has room for n tasks more. */
static bool collects(const jn_collected *c, const jn_variant *v, jn_acc *const *accs, uint32_t n) {
    if (c->n_products != v->n_products || c->n_factors != v->n_factors || c->cap - c->taken < n)
        return false;
    for (uint32_t i = 0; i < v->n_factors; i++)
        if (c->factor[i].rows != v->factors[i].rows || c->factor[i].cols != v->factors[i].cols ||
            (c->factor[i].at != NULL) != v->factors[i].stays)
            return false;
    const jn_product *p = c->product;
    for (const jn_vnode *vn = v->nodes; p < c->product + c->n_products; vn++)
        if (vn->mode == JN_V_PRODUCT) {
            if (p->sum != accs[vn->acc] || p->x != vn->factor[0] || p->z != vn->factor[1])
                return false;
            p++;
        }
    return true;
}

/* Memory for the rows of a factor of so many tasks. */
static janus_status place_factor(jn_run *r, const jn_factor *f, int64_t tasks, size_t size,
                                 jn_kept_rows *out) {
    size_t bytes = (size_t)tasks * kept_bytes(f, size);
    out->rows = f->rows;
    out->cols = f->cols;
    out->apart = !f->stays && bytes >= APART_BYTES && r->on->host;
    if (f->stays)
        out->at = jn_arena_alloc(&r->mem->arena, bytes);
    else
        out->data = out->apart ? jn_mem_apart(r->mem, bytes) : jn_mem_tensor(r->mem, bytes);
    return out->at || out->data ? JANUS_OK
                                : jn_error(JANUS_NO_MEMORY, "no memory for the rows of a product");
}

static janus_status new_collection(jn_run *r, const jn_variant *v, jn_acc *const *accs, uint32_t k,
                                   uint32_t n, jn_collected **out) {
    jn_collected *c =
        jn_arena_zalloc(&r->mem->arena, sizeof *c + v->n_products * sizeof *c->product +
                                            v->n_factors * sizeof *c->factor);
    if (!c)
        return JN_NO_MEMORY();
    c->product = (jn_product *)(c + 1);
    c->factor = (jn_kept_rows *)(c->product + v->n_products);
    c->n_factors = v->n_factors;
    c->cap = room_for(v, accs, n);
    for (uint32_t i = 0; i < v->n_factors; i++) {
        const jn_acc *a = accs[v->nodes[v->factors[i].node].acc];
        JN_TRY(place_factor(r, &v->factors[i], c->cap, jn_dtype_size((janus_dtype)a->shape->dtype),
                            &c->factor[i]));
    }
    for (const jn_vnode *vn = v->nodes; c->n_products < v->n_products; vn++) {
        if (vn->mode != JN_V_PRODUCT)
            continue;
        jn_acc *a = accs[vn->acc];
        jn_product *p = &c->product[c->n_products++];
        *p = (jn_product){a->part[k].products, a, c, vn->factor[0], vn->factor[1], 0};
        a->part[k].products = p;
    }
    c->held = c->n_products;
    *out = c;
    return JANUS_OK;
}

janus_status jn_acc_collect(jn_run *r, const jn_variant *v, jn_acc *const *accs, uint32_t k,
                            uint32_t n, jn_collected **out) {
    const jn_acc *first = accs[v->nodes[v->factors[0].node].acc]; /* of its first product */
    const jn_product *p = first->part[k].products;
    while (p && (p != p->of->product || !collects(p->of, v, accs, n)))
        p = p->next;
    if (p)
        *out = p->of;
    else
        JN_TRY(new_collection(r, v, accs, k, n, out));
    jn_collected *c = *out;
    c->taken += n;
    for (uint32_t i = 0; i < c->n_products; i++) {
        const jn_kept_rows *x = &c->factor[c->product[i].x], *z = &c->factor[c->product[i].z];
        jn_acc *a = c->product[i].sum;
        a->part[k].product_bytes += (size_t)(n * x->rows * (x->cols + z->cols)) *
                                    jn_dtype_size((janus_dtype)a->shape->dtype);
    }
    return JANUS_OK;
}

/* Its memory of many bytes goes back; it collects no more where it had some. */
static void give_back(jn_run *r, jn_collected *c) {
    for (uint32_t i = 0; i < c->n_factors; i++) {
        if (!c->factor[i].apart)
            continue;
        jn_mem_apart_done(r->mem, c->factor[i].data);
        c->factor[i].apart = false;
        c->cap = 0;
    }
}

/* What part k has collected, added to its own block. */
static janus_status multiply_own(jn_lane *l, jn_acc *a, uint32_t k) {
    jn_lane_lock(l);
    janus_status st = jn_acc_block(l->run, a, k);
    jn_lane_unlock(l);
    return st == JANUS_OK ? multiply_all(l->run, a, k, &a->part[k]) : st;
}

bool jn_acc_is_full(const jn_acc *a, uint32_t k, size_t more) {
    size_t bytes = a->part[k].product_bytes;
    return bytes > PRODUCT_BYTES && bytes + more > product_room(a);
}

/* Other sums' products of the same rows are made, too: else their memory could not take others. */
janus_status jn_acc_make_room(jn_lane *l, jn_acc *a, uint32_t k) {
    JN_TRY(multiply_own(l, a, k));
    for (jn_product *p = a->part[k].products; p; p = p->next) {
        jn_collected *c = p->of;
        for (uint32_t i = 0; i < c->n_products; i++)
            if (c->product[i].sum && c->product[i].from < c->taken)
                JN_TRY(multiply_own(l, c->product[i].sum, k));
        jn_lane_lock(l);
        give_back(l->run, c);
        jn_lane_unlock(l);
    }
    return JANUS_OK;
}

janus_status jn_acc_settle(jn_lane *l, jn_acc *a) {
    int64_t rows = 0;
    for (const jn_product *q = a->part[l->index].products; q; q = q->next)
        rows += (q->of->taken - q->from) * q->of->factor[q->x].rows;
    return rows < SETTLE_ROWS ? JANUS_OK : multiply_own(l, a, l->index);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* All that is collected is multiplied: memory of many bytes is not needed any more. */
static void drop_products(jn_run *r, jn_acc_part *part) {
    for (jn_product *p = part->products; p; p = p->next) {
        jn_collected *c = p->of;
        p->sum = NULL;
        if (--c->held == 0)
            give_back(r, c);
    }
    part->products = NULL;
}

static janus_status sum_parts(jn_run *r, jn_acc *a) {
    jn_acc_part *sum = &a->part[0];
    JN_TRY(jn_acc_block(r, a, 0));
    for (int k = 0; k < JN_MAX_RANGES; k++) {
        JN_TRY(multiply_all(r, a, (uint32_t)k, sum));
        drop_products(r, &a->part[k]);
    }
    for (int k = 1; k < JN_MAX_RANGES; k++) {
        const jn_acc_part *p = &a->part[k];
        if (!p->written)
            continue;
        if (!sum->written)
            memcpy(sum->data, p->data, a->shape->bytes);
        else
            JN_TRY(jn_add_elements(a->shape->dtype, sum->data, p->data, a->shape->numel,
                                   jn_par_pool()));
        sum->written = true;
    }
    if (!sum->written)
        memset(sum->data, 0, a->shape->bytes);
    a->value = (jn_tval){.data = sum->data, .shape = a->shape, .tensor = a->tensor};
    return JANUS_OK;
}

janus_status jn_acc_get(jn_run *r, jn_acc *a, jn_tval **out) {
    JN_TRY(jn_flush(r));
    *out = &a->value;
    if (a->read)
        return JANUS_OK;
    if (a->rows)
        JN_TRY(a->dense ? jn_rows_leave(r, a) : jn_rows_sum(r, a));
    if (!a->rows)
        JN_TRY(sum_parts(r, a));
    a->read = true;
    return JANUS_OK;
}
