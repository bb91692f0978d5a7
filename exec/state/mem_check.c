/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a run's memory, looked at in debug builds: see exec/state/task.h. */
#include "config.h"

#include <stdlib.h>

#include "exec/state/task.h"
#include "graph/base/alloc.h"
#include "graph/base/status.h"

static janus_status broken(const char *when, const char *what) {
    return jn_error(JANUS_INTERNAL, "a run's memory, when %s: %s", when, what);
}

static const char *chunk_problem(const jn_mem *m, bool empty) {
    size_t bytes = 0;
    for (size_t i = 0; i < m->chunks.n; i++) {
        const jn_chunk *c = &m->chunks.data[i];
        bytes += c->bytes;
        if (!c->data || c->used > c->bytes)
            return "more of a chunk is used than there is";
        if (empty && c->used)
            return "a chunk is in use between runs";
    }
    if (bytes != m->bytes)
        return "its chunks have other bytes than it says";
    for (size_t i = bytes = 0; i < m->apart.n; i++)
        bytes += m->apart.data[i].bytes;
    if (bytes != m->apart_bytes || (empty && bytes))
        return "it has other blocks of their own than it says";
    return m->chunk_at > m->chunks.n || m->first_chunk > m->chunks.n
               ? "the next tensor goes to a chunk that there is not"
               : NULL;
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return x < y ? -1 : x > y;
}

/* A tensor is kept alive as often as it stands there. */
static janus_status check_owned(const jn_mem *m, const char *when) {
    size_t n = 0, all = m->owned.n + m->given.n;
    const janus_tensor **t = jn_alloc((all + 1) * sizeof *t);
    if (!t)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < m->owned.n; i++)
        t[n++] = m->owned.data[i];
    for (size_t i = 0; i < m->given.n; i++)
        t[n++] = m->given.data[i].tensor;
    qsort(t, n, sizeof *t, by_address);
    bool few = false;
    for (size_t i = 0, end; i < n && !few; i = end) {
        for (end = i + 1; end < n && t[end] == t[i];)
            end++;
        few = !t[i] || atomic_load_explicit(&t[i]->refs, memory_order_relaxed) < (int)(end - i);
    }
    jn_free(t);
    return few ? broken(when, "a tensor has fewer references than it is kept alive with")
               : JANUS_OK;
}

janus_status jn_mem_check(const jn_mem *m, const char *when, bool empty) {
    int frames = atomic_load_explicit(&m->frames, memory_order_acquire);
    int refs = atomic_load_explicit(&m->refs, memory_order_acquire);
    if (frames < 0)
        return broken(when, "a frame value let it go more than once");
    if (refs != 1 + frames)
        return broken(when, refs < 1 + frames ? "it has fewer references than holders"
                                              : "it has more references than holders");
    if (empty && frames)
        return broken(when, "a frame value of an earlier run holds it");
    if (empty && (m->owned.n || m->given.n || m->captures.n))
        return broken(when, "it keeps tensors of an earlier run alive");
    const char *what = chunk_problem(m, empty);
    return what ? broken(when, what) : check_owned(m, when);
}
