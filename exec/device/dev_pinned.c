/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory that the device copies from by itself.
 *
 * A copy out of pinned memory returns before it has happened.  So a block notes its last copy with
 * an event: a blocking copy waits for it, and a block that comes back (its tensor died) is used
 * again only when the event has passed.  Blocks are kept per size, the one that came back first
 * first; the device is waited for when WAIT_FROM of a size are on their way, else there is one
 * more.
 */
#include "config.h"

#include "exec/device/device.h"

#include <string.h>

enum { WAIT_FROM = 4, LEAST = 4096 };

typedef struct jn_pinned {
    struct jn_pinned *next; /* of those that came back */
    jn_device *device;
    void *data, *event; /* event: made at the first copy */
    size_t bytes;       /* a power of two */
    bool on_its_way;    /* the event was recorded and not waited for */
} jn_pinned;

static void come_back(void *user) {
    jn_pinned *p = user;
    jn_device *d = p->device;
    pthread_mutex_lock(&d->lock);
    jn_pinned **at = &d->pinned;
    while (*at)
        at = &(*at)->next;
    p->next = NULL;
    *at = p;
    pthread_mutex_unlock(&d->lock);
}

static jn_pinned *of_storage(const jn_storage *s) {
    return s->release == come_back ? s->user : NULL;
}

bool jn_tensor_is_pinned(const janus_tensor *t) { return of_storage(t->storage) != NULL; }

/* One that came back, waiting for it if need be; with the lock held. */
static janus_status reuse(jn_device *d, size_t bytes, jn_pinned **out) {
    jn_pinned **oldest = NULL, **found = NULL;
    unsigned busy = 0;
    *out = NULL;
    for (jn_pinned **at = &d->pinned; *at && !found; at = &(*at)->next) {
        if ((*at)->bytes != bytes)
            continue;
        if (!(*at)->on_its_way)
            found = at;
        else if (++busy == 1)
            oldest = at;
    }
    if (!found && busy < WAIT_FROM)
        return JANUS_OK;
    if (!found) {
        int error = d->api->event_sync((*oldest)->event);
        if (error)
            return jn_error(JANUS_DEVICE, "waiting for a copy: %s", d->api->error_text(error));
        (*oldest)->on_its_way = false;
        found = oldest;
    }
    *out = *found;
    *found = (*found)->next;
    return JANUS_OK;
}

static janus_status take(jn_device *d, size_t bytes, jn_pinned **out) {
    size_t size = LEAST;
    while (size < bytes)
        size *= 2;
    pthread_mutex_lock(&d->lock);
    janus_status st = reuse(d, size, out);
    pthread_mutex_unlock(&d->lock);
    if (st != JANUS_OK || *out)
        return st;
    jn_pinned *p = jn_calloc(1, sizeof *p);
    if (!p)
        return JN_NO_MEMORY();
    int error = d->api->host_alloc(size, &p->data);
    if (error) {
        jn_free(p);
        return jn_error(JANUS_NO_MEMORY, "pinned memory: %s", d->api->error_text(error));
    }
    p->device = d;
    p->bytes = size;
    *out = p;
    return JANUS_OK;
}

janus_status jn_pinned_tensor(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims,
                              janus_tensor **out) {
    jn_pinned *p;
    size_t bytes = jn_dtype_size(dtype);
    for (int i = 0; i < rank; i++)
        bytes *= (size_t)dims[i];
    JN_TRY(take(d, bytes, &p));
    janus_status st = janus_tensor_wrap(dtype, rank, dims, NULL, p->data, come_back, p, out);
    if (st != JANUS_OK)
        come_back(p);
    return st;
}

janus_status jn_dev_sent(jn_device *d, const janus_tensor *from, bool wait) {
    jn_pinned *p = of_storage(from->storage);
    int error = 0;
    if (!p)
        return JANUS_OK; /* the driver has read pageable memory when it returns */
    pthread_mutex_lock(&d->lock);
    if (!p->event)
        error = d->api->event_new(false, &p->event);
    if (!error)
        error = d->api->event_record(p->event, d->stream);
    if (!error && wait)
        error = d->api->event_sync(p->event);
    p->on_its_way = !error && !wait;
    if (error) /* nothing to wait for the copy with but the stream */
        (void)d->api->stream_sync(d->stream);
    pthread_mutex_unlock(&d->lock);
    return error ? jn_error(JANUS_DEVICE, "copying to the device: %s", d->api->error_text(error))
                 : JANUS_OK;
}

void jn_dev_pinned_done(jn_device *d) {
    while (d->pinned) {
        jn_pinned *p = d->pinned;
        d->pinned = p->next;
        if (p->event)
            d->api->event_free(p->event);
        d->api->host_release(p->data);
        jn_free(p);
    }
}
