/* Debug artifacts on standard error, for the topics that JANUS_LOG names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const topics[JN_LOG_COUNT] = {"guards", "graphs", "conversions", "fallbacks",
                                                 "plans"};
enum { UNREAD = 1 << 30 };
static atomic_int mask = UNREAD;

static int read_environment(void) {
    const char *p = getenv("JANUS_LOG");
    int bits = 0;
    while (p && *p) {
        size_t n = strcspn(p, ",");
        for (int i = 0; i < JN_LOG_COUNT; i++) {
            if (n == strlen(topics[i]) && !memcmp(p, topics[i], n))
                bits |= 1 << i;
        }
        if (n == 3 && !memcmp(p, "all", 3))
            bits = (1 << JN_LOG_COUNT) - 1;
        p += n + (p[n] == ',');
    }
    atomic_store(&mask, bits);
    return bits;
}

bool jn_log_on(jn_log_topic topic) {
    int bits = atomic_load_explicit(&mask, memory_order_relaxed);
    if (bits == UNREAD)
        bits = read_environment();
    return bits >> topic & 1;
}

void jn_log(jn_log_topic topic, const char *fmt, ...) {
    if (!jn_log_on(topic))
        return;
    va_list ap;
    va_start(ap, fmt);
    flockfile(stderr); /* lines of two threads must not mix */
    fprintf(stderr, "janus %s: ", topics[topic]);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(ap);
}
