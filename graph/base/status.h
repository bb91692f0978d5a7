/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes' internal side: how an error record is filled.
 *
 * The record is thread-local, of fixed size and needs no allocation, so it works when memory is
 * gone.  The first place that knows what is wrong fills it; callers on the way up add context with
 * jn_error_context() and never replace the message.
 */
#ifndef JN_BASE_STATUS_H
#define JN_BASE_STATUS_H

#include "include/janus.h"

/* Fills the record of this thread and returns `code`. */
__attribute__((format(printf, 2, 3))) janus_status jn_error(janus_status code, const char *fmt,
                                                            ...);
/* Adds one line of context ("in @tree, node %12 = matmul, model.py:31") to the current record. */
__attribute__((format(printf, 1, 2))) void jn_error_context(const char *fmt, ...);
/* Copies a record made on another thread (a worker's) into this thread's. */
void jn_error_publish(const janus_error *from);

#define JN_TRY(expr)                                                                               \
    do {                                                                                           \
        janus_status jn_try_status_ = (expr);                                                      \
        if (jn_try_status_ != JANUS_OK)                                                            \
            return jn_try_status_;                                                                 \
    } while (0)

/* With one exit: JN_GO(expr, label) sets `st` and jumps to `label` on failure. */
#define JN_GO(expr, label)                                                                         \
    do {                                                                                           \
        st = (expr);                                                                               \
        if (st != JANUS_OK)                                                                        \
            goto label;                                                                            \
    } while (0)

#define JN_NO_MEMORY() jn_error(JANUS_NO_MEMORY, "out of memory")

#define JN_LIKELY(x) __builtin_expect(!!(x), 1)
#define JN_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
