/* Debug artifacts on standard error, for the topics that JANUS_LOG names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const topics[JN_LOG_COUNT] = {"guards",    "graphs", "conversions",
                                                 "fallbacks", "plans",  "schedule"};
enum { UNREAD = 1 << 30 };
static atomic_int mask = UNREAD;
static FILE *elsewhere[JN_LOG_COUNT];

/* Bits of the topic of n letters at p; 0: there is none of that name. */
static int bits_of(const char *p, size_t n) {
    for (int i = 0; i < JN_LOG_COUNT; i++)
        if (n == strlen(topics[i]) && !memcmp(p, topics[i], n))
            return 1 << i;
    return n == 3 && !memcmp(p, "all", 3) ? (1 << JN_LOG_COUNT) - 1 : 0;
}

static void warn_of(const char *p, size_t n) {
    flockfile(stderr);
    fprintf(stderr, "janus: JANUS_LOG names no topic \"%.*s\"; there are", (int)n, p);
    for (int i = 0; i < JN_LOG_COUNT; i++)
        fprintf(stderr, " %s,", topics[i]);
    fprintf(stderr, " all\n");
    funlockfile(stderr);
}

static int read_environment(void) {
    const char *text = getenv("JANUS_LOG"), *p;
    int bits = 0, was = UNREAD;
    size_t n;
    for (p = text; p && *p; p += n + (p[n] == ',')) {
        n = strcspn(p, ",");
        bits |= bits_of(p, n);
    }
    if (!atomic_compare_exchange_strong(&mask, &was, bits))
        return was; /* another thread was first, and has warned */
    for (p = text; p && *p; p += n + (p[n] == ',')) {
        n = strcspn(p, ",");
        if (n && !bits_of(p, n))
            warn_of(p, n);
    }
    return bits;
}

bool jn_log_on(jn_log_topic topic) {
    int bits = atomic_load_explicit(&mask, memory_order_relaxed);
    if (bits == UNREAD)
        bits = read_environment();
    return bits >> topic & 1;
}

void jn_log_to(jn_log_topic topic, FILE *f) {
    (void)jn_log_on(topic); /* the environment is read once, before */
    elsewhere[topic] = f;
    atomic_fetch_or(&mask, 1 << topic);
}

void jn_log(jn_log_topic topic, const char *fmt, ...) {
    if (!jn_log_on(topic))
        return;
    va_list ap;
    va_start(ap, fmt);
    FILE *to = elsewhere[topic] ? elsewhere[topic] : stderr;
    flockfile(to); /* lines of two threads must not mix */
    if (to == stderr)
        fprintf(to, "janus %s: ", topics[topic]);
    vfprintf(to, fmt, ap);
    fputc('\n', to);
    funlockfile(to);
    va_end(ap);
}
