/* The thread-local error record. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local janus_error record = {.code = JANUS_OK};

/* Formats first and stores then: an argument may point into the record itself. */
static void format(char *to, size_t size, const char *fmt, va_list ap) {
    char text[sizeof record.message];
    if (vsnprintf(text, size, fmt, ap) < 0)
        text[0] = 0;
    memcpy(to, text, strlen(text) + 1);
}

janus_status jn_error(janus_status code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    format(record.message, sizeof record.message, fmt, ap);
    va_end(ap);
    record.code = code;
    record.n_context = 0;
    record.assumption = 0;
    return code;
}

void jn_error_context(const char *fmt, ...) {
    const int room = sizeof record.context / sizeof record.context[0];
    if (record.n_context >= room)
        return; /* the innermost ones are worth most */
    va_list ap;
    va_start(ap, fmt);
    format(record.context[record.n_context], sizeof record.context[0], fmt, ap);
    va_end(ap);
    record.n_context++;
}

void jn_error_publish(const janus_error *from) {
    if (from != &record)
        record = *from;
}

const janus_error *janus_last_error(void) { return &record; }

const char *janus_status_text(janus_status s) {
    switch (s) {
#define STATUS_TEXT(name, code, text)                                                              \
    case JANUS_##name:                                                                             \
        return text;
        JANUS_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}
