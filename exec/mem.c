/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a run: see exec/task.h. */
#include "config.h"

#include "exec/task.h"

#include <string.h>

#include "exec/dev_schedule.h"
#include "exec/device.h"

#include "graph/base/alloc.h"

enum { ARENA_CHUNK = 256 << 10 };
static const size_t least_chunk = 256 << 10, most_chunk = (size_t)1 << 30,
                    keep_bytes = (size_t)256 << 20;

jn_mem *jn_mem_new(void) {
    jn_mem *m = jn_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    jn_arena_init(&m->arena, ARENA_CHUNK);
    jn_arena_init(&m->tasks, ARENA_CHUNK);
    m->ceiling = SIZE_MAX;
    return m;
}

void jn_mem_retain(jn_mem *m) { atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed); }

static void drop_owned(jn_mem *m) {
    for (size_t i = 0; i < m->owned.n; i++)
        janus_tensor_release(m->owned.data[i]);
    jn_vec_clear(&m->owned);
    for (size_t i = 0; i < m->captures.n; i++)
        jn_schedule_drop(m->dev->schedule, m->captures.data[i]);
    jn_vec_clear(&m->captures);
}

static void drop_chunks(jn_mem *m, size_t keep) {
    while (m->chunks.n > 0 && m->bytes > keep) {
        if (m->dev)
            jn_dev_pool_free(&m->dev->pool, jn_vec_pop(&m->chunk_block));
        else
            jn_free_aligned(m->chunks.data[m->chunks.n - 1]);
        (void)jn_vec_pop(&m->chunks);
        m->bytes -= jn_vec_pop(&m->chunk_bytes);
    }
}

size_t jn_mem_peak(const jn_mem *m) { return m->asked > m->peak ? m->asked : m->peak; }

void jn_mem_drop_first(jn_mem *m, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (m->dev)
            jn_dev_pool_free(&m->dev->pool, m->chunk_block.data[i]);
        else
            jn_free_aligned(m->chunks.data[i]);
        m->bytes -= m->chunk_bytes.data[i];
    }
    m->chunks.n -= n;
    m->chunk_bytes.n -= n;
    memmove(m->chunks.data, m->chunks.data + n, m->chunks.n * sizeof *m->chunks.data);
    memmove(m->chunk_bytes.data, m->chunk_bytes.data + n,
            m->chunk_bytes.n * sizeof *m->chunk_bytes.data);
    if (m->dev) {
        m->chunk_block.n -= n;
        memmove(m->chunk_block.data, m->chunk_block.data + n,
                m->chunk_block.n * sizeof *m->chunk_block.data);
    }
    m->chunk_at -= n;
    m->peak = jn_mem_peak(m);
    m->asked = m->bytes;
}

void jn_mem_release(jn_mem *m) {
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    drop_owned(m);
    drop_chunks(m, 0);
    jn_vec_free(&m->owned);
    jn_vec_free(&m->captures);
    jn_vec_free(&m->chunks);
    jn_vec_free(&m->chunk_bytes);
    jn_vec_free(&m->chunk_block);
    jn_arena_free(&m->arena);
    jn_arena_free(&m->tasks);
    const janus_module *module = m->module;
    jn_free(m);
    if (module)
        janus_module_release((janus_module *)module);
}

void jn_mem_expect(jn_mem *m, size_t bytes) {
    if (bytes > m->expected)
        m->expected = bytes;
}

void jn_mem_reset(jn_mem *m) {
    drop_owned(m);
    jn_mem_expect(m, jn_mem_peak(m));
    m->asked = m->peak = 0;
    /* several chunks hold less than one of their size: the next run begins with one for all; a
     * device's pool keeps them, for everybody */
    bool whole = m->chunks.n <= 1 || m->expected > keep_bytes;
    drop_chunks(m, whole && !m->dev ? keep_bytes : 0);
    jn_arena_reset(&m->arena);
    jn_arena_reset(&m->tasks);
    m->chunk_at = m->chunk_used = 0;
}

/* The first chunk holds what a run is expected to ask for; others add an eighth. */
static size_t chunk_size(const jn_mem *m) {
    size_t size = m->chunks.n ? m->bytes / 8 : m->expected + m->expected / 32;
    size = (size + 4095) & ~(size_t)4095;
    return size < least_chunk ? least_chunk : size > most_chunk ? most_chunk : size;
}

char *jn_mem_tensor(jn_mem *m, size_t bytes) {
    if (bytes > SIZE_MAX - 64)
        return NULL;
    bytes = (bytes + 63) & ~(size_t)63;
    if (bytes == 0)
        bytes = 64;
    m->asked += bytes;
    while (m->chunk_at < m->chunks.n) {
        size_t size = m->chunk_bytes.data[m->chunk_at];
        if (size - m->chunk_used >= bytes) {
            char *p = m->chunks.data[m->chunk_at] + m->chunk_used;
            m->chunk_used += bytes;
            return p;
        }
        m->chunk_at++;
        m->chunk_used = 0;
    }
    size_t size = chunk_size(m);
    if (size < bytes)
        size = bytes;
    if (m->bytes + size > m->ceiling && m->bytes + bytes <= m->ceiling)
        size = bytes;
    if (m->bytes + size > m->ceiling)
        return NULL;
    if (!jn_vec_reserve(&m->chunks, m->chunks.n + 1) ||
        !jn_vec_reserve(&m->chunk_bytes, m->chunks.n + 1))
        return NULL;
    char *p;
    if (JN_UNLIKELY(m->dev != NULL)) {
        jn_dev_block *b;
        if (!jn_vec_reserve(&m->chunk_block, m->chunks.n + 1) ||
            jn_dev_pool_take(&m->dev->pool, size, m->dev->stream, &b) != JANUS_OK)
            return NULL;
        m->chunk_block.data[m->chunk_block.n++] = b;
        p = b->data;
    } else {
        p = jn_alloc_aligned(size);
    }
    if (!p)
        return NULL;
    m->chunks.data[m->chunks.n++] = p;
    m->chunk_bytes.data[m->chunk_bytes.n++] = size;
    m->bytes += size;
    m->chunk_at = m->chunks.n - 1;
    m->chunk_used = bytes;
    return p;
}
