/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory: see exec/device/dev_pool.h.
 *
 * Classes: multiples of 512 bytes up to 8 KiB, then eight steps per power of two, so at most an
 * eighth of a block is unused.
 */
#include "config.h"

#include "exec/device/dev_pool.h"

_Thread_local bool jn_dev_capturing;

enum { SMALL_STEP = 512, SMALL_MAX = 8192 };

void jn_dev_pool_init(jn_dev_pool *p, const jn_dev_api *api) {
    *p = (jn_dev_pool){.api = api};
    pthread_mutex_init(&p->lock, NULL);
}

size_t jn_dev_pool_class(size_t bytes) {
    if (bytes <= SMALL_MAX)
        return bytes ? (bytes + SMALL_STEP - 1) / SMALL_STEP * SMALL_STEP : SMALL_STEP;
    if (bytes > SIZE_MAX / 4)
        return 0;
    size_t step = SMALL_MAX / 8;
    while (step * 16 < bytes)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

static unsigned bucket_of(const void *stream, size_t bytes) {
    uint64_t h =
        ((uint64_t)(uintptr_t)stream >> 4) * 0x9E3779B97F4A7C15u ^ bytes * 0xBF58476D1CE4E5B9u;
    return (unsigned)(h >> 56) % JN_DEV_LIST_BUCKETS;
}

static jn_dev_list *find_list(jn_dev_pool *p, void *stream, size_t bytes, bool make) {
    jn_dev_list **at = &p->lists[bucket_of(stream, bytes)];
    for (jn_dev_list *l = *at; l; l = l->next)
        if (l->stream == stream && l->bytes == bytes)
            return l;
    jn_dev_list *l = make ? jn_calloc(1, sizeof *l) : NULL;
    if (!l)
        return NULL;
    l->stream = stream;
    l->bytes = bytes;
    l->next = *at;
    *at = l;
    return l;
}

static void give_back(jn_dev_pool *p, jn_dev_block *b) {
    p->api->release(b->data, b->stream);
    p->stats.reserved -= b->bytes;
    jn_vec_free(&b->used_by);
    jn_free(b);
}

static size_t flush(jn_dev_pool *p) {
    size_t bytes = 0;
    for (unsigned i = 0; i < JN_DEV_LIST_BUCKETS; i++)
        for (jn_dev_list *l = p->lists[i]; l; l = l->next)
            while (l->first) {
                jn_dev_block *b = l->first;
                l->first = b->next;
                bytes += b->bytes;
                give_back(p, b);
            }
    return bytes;
}

size_t jn_dev_pool_flush(jn_dev_pool *p) {
    pthread_mutex_lock(&p->lock);
    size_t bytes = flush(p);
    pthread_mutex_unlock(&p->lock);
    p->api->trim();
    return bytes;
}

void jn_dev_pool_done(jn_dev_pool *p) {
    flush(p);
    for (unsigned i = 0; i < JN_DEV_LIST_BUCKETS; i++)
        while (p->lists[i]) {
            jn_dev_list *l = p->lists[i];
            p->lists[i] = l->next;
            jn_free(l);
        }
    pthread_mutex_destroy(&p->lock);
}

/* Asks the driver; when it has nothing, frees what can be freed and asks once more. */
static janus_status from_driver(jn_dev_pool *p, size_t bytes, void *stream, void **out) {
    int error = p->api->alloc(bytes, stream, out);
    if (error == JN_DEV_OUT_OF_MEMORY) {
        pthread_mutex_lock(&p->lock);
        p->stats.flushes++;
        pthread_mutex_unlock(&p->lock);
        if (p->drop_idle)
            p->drop_idle(p->user);
        jn_dev_pool_flush(p);
        p->api->stream_sync(stream);
        error = p->api->alloc(bytes, stream, out);
    }
    if (!error)
        return JANUS_OK;
    pthread_mutex_lock(&p->lock);
    p->stats.failures++;
    jn_dev_stats s = p->stats;
    pthread_mutex_unlock(&p->lock);
    if (error != JN_DEV_OUT_OF_MEMORY)
        return jn_error(JANUS_DEVICE, "device memory: %s", p->api->error_text(error));
    size_t free_bytes = 0, total = 0;
    p->api->memory(&free_bytes, &total);
    return jn_error(
        JANUS_NO_MEMORY,
        "CUDA out of memory: tried to allocate %zu bytes (%zu of %zu bytes free, %llu in "
        "use by janus)",
        bytes, free_bytes, total, (unsigned long long)s.allocated);
}

static void count_taken(jn_dev_pool *p, size_t bytes, bool fresh) {
    jn_dev_stats *s = &p->stats;
    s->taken++;
    s->allocated += bytes;
    if (s->allocated > s->allocated_peak)
        s->allocated_peak = s->allocated;
    if (!fresh)
        return;
    s->from_driver++;
    s->reserved += bytes;
    if (s->reserved > s->reserved_peak)
        s->reserved_peak = s->reserved;
}

janus_status jn_dev_pool_take(jn_dev_pool *p, size_t bytes, void *stream, jn_dev_block **out) {
    size_t size = jn_dev_pool_class(bytes);
    if (!size)
        return jn_error(JANUS_NO_MEMORY, "CUDA out of memory: tried to allocate %zu bytes", bytes);
    if (jn_dev_capturing)
        return jn_error(JANUS_INTERNAL, "device memory is asked for while a capture is recorded");
    pthread_mutex_lock(&p->lock);
    jn_dev_list *l = find_list(p, stream, size, false);
    jn_dev_block *b = l ? l->first : NULL;
    if (b) {
        l->first = b->next;
        count_taken(p, size, false);
    }
    pthread_mutex_unlock(&p->lock);
    if (b) {
        *out = b;
        return JANUS_OK;
    }
    b = jn_calloc(1, sizeof *b);
    if (!b)
        return JN_NO_MEMORY();
    janus_status st = from_driver(p, size, stream, &b->data);
    if (st != JANUS_OK) {
        jn_free(b);
        return st;
    }
    b->bytes = size;
    b->stream = stream;
    pthread_mutex_lock(&p->lock);
    count_taken(p, size, true);
    pthread_mutex_unlock(&p->lock);
    *out = b;
    return JANUS_OK;
}

janus_status jn_dev_pool_used_by(jn_dev_pool *p, jn_dev_block *b, void *stream) {
    janus_status st = JANUS_OK;
    if (stream == b->stream)
        return JANUS_OK;
    pthread_mutex_lock(&p->lock);
    bool known = false;
    for (size_t i = 0; i < b->used_by.n; i++)
        known |= b->used_by.data[i] == stream;
    if (!known && !jn_vec_push(&b->used_by, stream))
        st = JN_NO_MEMORY();
    pthread_mutex_unlock(&p->lock);
    return st;
}

/* The block's stream comes after everything the others have been given so far. */
static bool wait_for_users(jn_dev_pool *p, jn_dev_block *b) {
    bool ok = true;
    for (size_t i = 0; i < b->used_by.n && ok; i++) {
        void *event;
        ok = p->api->event_new(false, &event) == 0;
        if (!ok)
            break;
        ok = p->api->event_record(event, b->used_by.data[i]) == 0 &&
             p->api->stream_wait(b->stream, event) == 0;
        p->api->event_free(event);
    }
    if (!ok) /* no event to be had: wait here, which is always right */
        for (size_t i = 0; i < b->used_by.n; i++)
            p->api->stream_sync(b->used_by.data[i]);
    jn_vec_clear(&b->used_by);
    return ok;
}

void jn_dev_pool_free(jn_dev_pool *p, jn_dev_block *b) {
    if (!b)
        return;
    if (b->used_by.n)
        wait_for_users(p, b);
    pthread_mutex_lock(&p->lock);
    p->stats.returned++;
    p->stats.allocated -= b->bytes;
    jn_dev_list *l = find_list(p, b->stream, b->bytes, true);
    if (l) {
        b->next = l->first;
        l->first = b;
    } else {
        give_back(p, b);
    }
    pthread_mutex_unlock(&p->lock);
}

jn_dev_stats jn_dev_pool_stats(jn_dev_pool *p) {
    pthread_mutex_lock(&p->lock);
    jn_dev_stats s = p->stats;
    pthread_mutex_unlock(&p->lock);
    return s;
}

void jn_dev_pool_reset_peaks(jn_dev_pool *p) {
    pthread_mutex_lock(&p->lock);
    p->stats.allocated_peak = p->stats.allocated;
    p->stats.reserved_peak = p->stats.reserved;
    pthread_mutex_unlock(&p->lock);
}
