/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a run: see exec/state/task.h. */
#include "config.h"

#include "exec/state/task.h"

#include <string.h>

#include "exec/device/device.h"

#include "graph/base/alloc.h"

enum { ARENA_CHUNK = 256 << 10 };
static const size_t least_chunk = 256 << 10, most_chunk = (size_t)1 << 30,
                    keep_bytes = (size_t)256 << 20, whole_bytes = (size_t)16 << 20;

jn_mem *jn_mem_new(const jn_run_device *on, struct jn_device *dev) {
    jn_mem *m = jn_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    atomic_init(&m->refs, 1);
    jn_arena_init(&m->arena, ARENA_CHUNK);
    jn_arena_init(&m->tasks, ARENA_CHUNK);
    m->ceiling = SIZE_MAX;
    m->on = on;
    m->dev = dev;
    return m;
}

void jn_mem_retain(jn_mem *m) { atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed); }

void jn_mem_hold(jn_mem *m) {
    atomic_fetch_add_explicit(&m->frames, 1, memory_order_relaxed);
    jn_mem_retain(m);
}

void jn_mem_let_go(jn_mem *m) {
    atomic_fetch_sub_explicit(&m->frames, 1, memory_order_relaxed);
    jn_mem_release(m);
}

void jn_mem_drop_owned(jn_mem *m) {
    for (size_t i = 0; i < m->owned.n; i++)
        janus_tensor_release(m->owned.data[i]);
    jn_vec_clear(&m->owned);
    for (size_t i = 0; i < m->given.n; i++)
        janus_tensor_release(m->given.data[i].tensor);
    jn_vec_clear(&m->given);
    for (size_t i = 0; i < m->captures.n; i++)
        jn_schedule_drop(m->dev->schedule, m->captures.data[i]);
    jn_vec_clear(&m->captures);
    for (size_t i = 0; i < m->apart.n; i++)
        m->on->give_back(m->dev, &m->apart.data[i]);
    jn_vec_clear(&m->apart);
    m->apart_bytes = m->apart_most = 0;
}

static void free_chunk(jn_mem *m, const jn_chunk *c) {
    m->on->give_back(m->dev, c);
    m->bytes -= c->bytes;
}

static void drop_chunks(jn_mem *m) {
    while (m->chunks.n > 0)
        free_chunk(m, &m->chunks.data[--m->chunks.n]);
}

static void forget_growing(jn_mem *m) { memset(m->growing, 0, sizeof m->growing); }

size_t jn_mem_peak(const jn_mem *m) { return m->asked > m->peak ? m->asked : m->peak; }

void jn_mem_turn(jn_mem *m) { m->chunk_at = m->first_chunk = m->chunks.n; }

void jn_mem_drop_first(jn_mem *m, size_t n) {
    for (size_t i = 0; i < n; i++)
        free_chunk(m, &m->chunks.data[i]);
    m->chunks.n -= n;
    memmove(m->chunks.data, m->chunks.data + n, m->chunks.n * sizeof *m->chunks.data);
    m->chunk_at -= n;
    m->first_chunk = 0;
    forget_growing(m);
    m->peak = jn_mem_peak(m);
    m->asked = m->bytes;
}

void jn_mem_release(jn_mem *m) {
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    jn_mem_drop_owned(m);
    drop_chunks(m);
    jn_vec_free(&m->owned);
    jn_vec_free(&m->given);
    jn_vec_free(&m->captures);
    jn_vec_free(&m->chunks);
    jn_vec_free(&m->again);
    jn_vec_free(&m->apart);
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

/* Several small chunks hold less than one of their size: the next run begins with one for all.
 * Large ones stay as they are; many bytes of them are given back for others to use, and asked for
 * by the next run in the same sizes, so that it finds them again (graph/base/large.h).  A device's
 * pool keeps its blocks, for everybody. */
void jn_mem_reset(jn_mem *m) {
    jn_mem_drop_owned(m);
    forget_growing(m);
    jn_mem_expect(m, jn_mem_peak(m));
    m->asked = m->peak = 0;
    bool large = m->bytes > whole_bytes, lend = m->bytes > keep_bytes;
    jn_vec_clear(&m->again);
    for (size_t i = 0; i < m->chunks.n && large && lend && m->on->host; i++)
        if (!jn_vec_push(&m->again, m->chunks.data[i].bytes))
            break;
    if (!m->on->host || lend || (m->chunks.n > 1 && !large))
        drop_chunks(m);
    for (size_t i = 0; i < m->chunks.n; i++)
        m->chunks.data[i].used = 0;
    if (m->arena.bytes + m->tasks.bytes > m->ceiling / 2) { /* not kept from the next run */
        jn_arena_free(&m->arena);
        jn_arena_free(&m->tasks);
    }
    jn_arena_reset(&m->arena);
    jn_arena_reset(&m->tasks);
    m->chunk_at = m->first_chunk = 0;
}

/* The first chunk holds what a run is expected to ask for; others add an eighth. */
static size_t chunk_size(const jn_mem *m) {
    size_t size = m->chunks.n ? m->bytes / 8 : m->expected + m->expected / 32;
    size = (size + 4095) & ~(size_t)4095;
    return size < least_chunk ? least_chunk : size > most_chunk ? most_chunk : size;
}

static char *take(jn_chunk *c, size_t bytes) {
    if (c->bytes - c->used < bytes)
        return NULL;
    char *p = c->data + c->used;
    c->used += bytes;
    return p;
}

/* A new chunk, the last one; false: out of memory. */
static bool add_chunk(jn_mem *m, size_t bytes) {
    jn_chunk c = {.bytes = bytes};
    if (!jn_vec_reserve(&m->chunks, m->chunks.n + 1) || !m->on->take(m->dev, &c))
        return false;
    m->chunks.data[m->chunks.n++] = c;
    m->bytes += bytes;
    return true;
}

static bool fits(const jn_mem *m, size_t bytes) {
    return m->bytes + m->apart_bytes + bytes <= m->ceiling;
}

/* The chunks of the last run; without memory for them this one asks for its own. */
static void add_again(jn_mem *m) {
    for (size_t i = 0; i < m->again.n; i++)
        if (!fits(m, m->again.data[i]) || !add_chunk(m, m->again.data[i]))
            break;
    jn_vec_clear(&m->again);
}

char *jn_mem_tensor(jn_mem *m, size_t bytes) {
    if (bytes > SIZE_MAX - 64)
        return NULL;
    bytes = (bytes + 63) & ~(size_t)63;
    if (bytes == 0)
        bytes = 64;
    m->asked += bytes;
    if (JN_UNLIKELY(m->again.n))
        add_again(m);
    char *p = NULL;
    if (m->chunk_at < m->chunks.n && (p = take(&m->chunks.data[m->chunk_at], bytes)))
        return p;
    /* a device's stream keeps what is taken in order (jn_mem_back): it goes forward only */
    for (size_t i = m->on->host ? m->first_chunk : m->chunk_at; i < m->chunks.n; i++)
        if ((p = take(&m->chunks.data[i], bytes))) {
            m->chunk_at = i;
            return p;
        }
    size_t size = chunk_size(m);
    if (size < bytes)
        size = bytes;
    if (!fits(m, size))
        size = bytes;
    if (!fits(m, size) || !add_chunk(m, size))
        return NULL;
    m->chunk_at = m->chunks.n - 1;
    return take(&m->chunks.data[m->chunk_at], bytes);
}

char *jn_mem_grow(jn_mem *m, char *data, size_t have, size_t bytes) {
    enum { N = sizeof m->growing / sizeof *m->growing };
    for (int i = 0; i < N; i++) {
        struct jn_growing *g = &m->growing[i];
        if (g->end == data + have && (size_t)(g->limit - g->end) >= bytes - have) {
            g->end = data + bytes;
            return data;
        }
    }
    char *at = bytes <= SIZE_MAX / 2 ? jn_mem_tensor(m, 2 * bytes) : NULL;
    if (at)
        m->growing[m->grown++ % N] = (struct jn_growing){at + bytes, at + 2 * bytes};
    return at;
}

char *jn_mem_apart(jn_mem *m, size_t bytes) {
    jn_chunk c = {.bytes = bytes, .used = bytes};
    if (!fits(m, bytes) || !jn_vec_reserve(&m->apart, m->apart.n + 1) || !m->on->take(m->dev, &c))
        return NULL;
    m->apart.data[m->apart.n++] = c;
    m->apart_bytes += bytes;
    if (m->apart_bytes > m->apart_most)
        m->apart_most = m->apart_bytes;
    return c.data;
}

void jn_mem_apart_done(jn_mem *m, const char *block) {
    size_t i = 0;
    while (m->apart.data[i].data != block)
        i++;
    m->on->give_back(m->dev, &m->apart.data[i]);
    m->apart_bytes -= m->apart.data[i].bytes;
    m->apart.data[i] = m->apart.data[--m->apart.n];
}

jn_mem_mark jn_mem_here(const jn_mem *m) {
    size_t used = m->chunk_at < m->chunks.n ? m->chunks.data[m->chunk_at].used : 0;
    return (jn_mem_mark){m->chunk_at, used, m->asked};
}

void jn_mem_back(jn_mem *m, jn_mem_mark mark) {
    for (size_t i = mark.at; i < m->chunks.n; i++)
        m->chunks.data[i].used = i == mark.at ? mark.used : 0;
    m->chunk_at = mark.at;
    m->asked = mark.asked;
}
