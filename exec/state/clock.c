/* SPDX-License-Identifier: Apache-2.0 */
/* A run's clock, and what it owes the embedding program meanwhile: its lock and its poll. */
#include "config.h"

#include <time.h>

#include "exec/state/state.h"

enum { POLL_NS = 50 * 1000 * 1000 };

int64_t jn_run_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

janus_status jn_run_poll(jn_run *r) {
    return r->host.poll ? jn_run_poll_at(r, jn_run_clock()) : JANUS_OK;
}

janus_status jn_run_poll_at(jn_run *r, int64_t now) {
    if (!r->host.poll || now < r->next_poll_ns)
        return JANUS_OK;
    r->next_poll_ns = now + POLL_NS;
    bool away = r->away;
    if (away)
        jn_run_enter(r);
    janus_status st = r->host.poll(r->options.host_ctx);
    if (away)
        jn_run_leave(r);
    return st;
}

void jn_run_leave(jn_run *r) {
    r->away = true;
    r->host.leave(r->options.host_ctx);
}

void jn_run_enter(jn_run *r) {
    r->away = false;
    r->host.enter(r->options.host_ctx);
}
