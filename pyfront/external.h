/* SPDX-License-Identifier: Apache-2.0 */
/* The tape node of a region whose results require grad. */
#ifndef JPY_EXTERNAL_H
#define JPY_EXTERNAL_H

#include "pyfront/entry.h"
#include "pyfront/tape.h"

/* New node with a result per tracked result of the entry; retains `frame`.  NULL: it cannot be made
 * (an exception may be set). */
jpy_node *jpy_region_node(jpy_function *f, jpy_entry *e, const jpy_call *call,
                          PyObject *const *slots, jn_frame_value *frame, uint64_t rng_offset,
                          jn_arg *results);

#endif
