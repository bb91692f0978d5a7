/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a graph that was compared with CPython is compared once more.
 *
 * What is wrong for some values only, or because of something that nothing guards, shows itself
 * later than at the first hit.  So hits of a graph are shadows (verify/verify.h) again when it has
 * run twice as often as at the last one: what goes wrong and stays wrong is found before it has
 * been used as often as all that was right.  All of these together cost less than a share of what
 * the function's graphs have run for, and none is made of a call that is larger than what was
 * compared before, which CPython's stack, or the memory, may not be enough for.
 */
#ifndef JPY_LATER_H
#define JPY_LATER_H

#include "exec/run/run.h"
#include "pyfront/entry/entry.h"

/* A run of e is executed, and e has run as often as it should before that is compared: whether it
 * is.  If not, e->later.due is when to ask again. */
bool jpy_later_due(const jpy_function *f, jpy_entry *e, const jn_run *r);
/* A shadow begins, and ends after a run with these statistics, copies of so many bytes and so many
 * ops that CPython ran. */
void jpy_later_begins(jpy_entry *e);
void jpy_later_ends(jpy_function *f, jpy_entry *e, const janus_run_stats *s, size_t copied,
                    uint64_t ops);
/* Of the process: how many there were, the first ones and those that came later, and what each kind
 * took; nanoseconds. */
typedef struct jpy_later_sum {
    uint64_t first, later, first_ns, later_ns;
} jpy_later_sum;
extern jpy_later_sum jpy_later_all;
/* It agreed: when the next one is due. */
void jpy_later_agreed(jpy_entry *e);

#endif
