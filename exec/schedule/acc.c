/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulators: see exec/schedule/acc.h. */
#include "config.h"

#include "exec/schedule/acc.h"

#include <string.h>

#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"
#include "ops/services.h"

enum {
    PRODUCT_ROWS = 256,      /* room for these, unless they are many bytes */
    SETTLE_ROWS = 64,        /* worth a block of a lane's own */
    PRODUCT_BYTES = 4 << 20, /* of collected rows: more are multiplied before the next group, unless
                                the sum, which is read and written then, is larger than both */
    APART_BYTES = 4 << 20    /* of collected rows, whose memory goes back when the sum is read */
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

/* part `to` of the sum += the product */
static janus_status multiply(const jn_acc *a, jn_acc_part *to, const jn_product *p) {
    uint8_t dtype = a->shape->dtype;
    int64_t dims[3][2] = {{p->rows, p->x_cols}, {p->rows, p->z_cols}, {p->x_cols, p->z_cols}};
    int64_t strides[3][2] = {{p->x_cols, 1}, {p->z_cols, 1}, {p->z_cols, 1}};
    jn_view v[3] = {{p->x, dims[0], strides[0], 2, dtype, true},
                    {p->z, dims[1], strides[1], 2, dtype, true},
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

/* What part `from` has collected, added to part `to`, which has a block. */
static janus_status multiply_all(const jn_acc *a, jn_acc_part *from, jn_acc_part *to) {
    for (jn_product *p = from->products; p; p = p->next) {
        if (p->rows)
            JN_TRY(multiply(a, to, p));
        p->rows = 0; /* its memory takes other rows */
    }
    from->product_bytes = 0;
    return JANUS_OK;
}

/* Bytes of rows that may be collected: more are multiplied before. */
static size_t product_room(const jn_acc *a) {
    return a->shape->bytes > PRODUCT_BYTES ? a->shape->bytes : PRODUCT_BYTES;
}

/* Rows of so many bytes that a block has room for. */
static int64_t most_rows(const jn_acc *a, size_t row_bytes) {
    size_t most = product_room(a) / (row_bytes + 1);
    return most < PRODUCT_ROWS ? (int64_t)most : PRODUCT_ROWS;
}

janus_status jn_acc_product(jn_run *r, jn_acc *a, uint32_t k, int64_t rows, int64_t x_cols,
                            int64_t z_cols, char **x, char **z) {
    size_t size = jn_dtype_size((janus_dtype)a->shape->dtype);
    jn_acc_part *part = &a->part[k];
    jn_product *p = part->products;
    while (p && (p->x_cols != x_cols || p->z_cols != z_cols || p->cap - p->rows < rows))
        p = p->next;
    if (!p) {
        p = jn_arena_zalloc(&r->mem->arena, sizeof *p);
        if (!p)
            return JN_NO_MEMORY();
        int64_t most = most_rows(a, (size_t)(x_cols + z_cols) * size);
        p->cap = rows > most ? rows : most;
        p->x_cols = x_cols;
        p->z_cols = z_cols;
        size_t x_bytes = ((size_t)(p->cap * x_cols) * size + 63) & ~(size_t)63;
        size_t bytes = x_bytes + (size_t)(p->cap * z_cols) * size;
        p->apart = bytes >= APART_BYTES && r->on->host;
        p->x = p->apart ? jn_mem_apart(r->mem, bytes) : jn_mem_tensor(r->mem, bytes);
        if (!p->x)
            return jn_error(JANUS_NO_MEMORY, "no memory for the rows of a product");
        p->z = p->x + x_bytes;
        p->next = part->products;
        part->products = p;
    }
    *x = p->x + (size_t)(p->rows * x_cols) * size;
    *z = p->z + (size_t)(p->rows * z_cols) * size;
    p->rows += rows;
    part->product_bytes += (size_t)(rows * (x_cols + z_cols)) * size;
    return JANUS_OK;
}

/* What part k has collected, added to its own block. */
static janus_status multiply_own(jn_lane *l, jn_acc *a, uint32_t k) {
    jn_lane_lock(l);
    janus_status st = jn_acc_block(l->run, a, k);
    jn_lane_unlock(l);
    return st == JANUS_OK ? multiply_all(a, &a->part[k], &a->part[k]) : st;
}

bool jn_acc_is_full(const jn_acc *a, uint32_t k, size_t more) {
    size_t bytes = a->part[k].product_bytes;
    return bytes > PRODUCT_BYTES && bytes + more > product_room(a);
}

janus_status jn_acc_make_room(jn_lane *l, jn_acc *a, uint32_t k) { return multiply_own(l, a, k); }

janus_status jn_acc_settle(jn_lane *l, jn_acc *a) {
    int64_t rows = 0;
    for (const jn_product *q = a->part[l->index].products; q; q = q->next)
        rows += q->rows;
    return rows < SETTLE_ROWS ? JANUS_OK : multiply_own(l, a, l->index);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* All that is collected is multiplied: memory of many bytes is not needed any more. */
static void drop_products(jn_run *r, jn_acc_part *part) {
    for (jn_product *p = part->products; p; p = p->next)
        if (p->apart)
            jn_mem_apart_done(r->mem, p->x);
    part->products = NULL;
}

static janus_status sum_parts(jn_run *r, jn_acc *a) {
    jn_acc_part *sum = &a->part[0];
    JN_TRY(jn_acc_block(r, a, 0));
    for (int k = 0; k < JN_MAX_RANGES; k++) {
        JN_TRY(multiply_all(a, &a->part[k], sum));
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
