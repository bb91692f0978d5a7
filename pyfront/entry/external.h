/* SPDX-License-Identifier: Apache-2.0 */
/* The tape node of a region whose results require grad. */
#ifndef JPY_EXTERNAL_H
#define JPY_EXTERNAL_H

#include "pyfront/entry/host.h"
#include "pyfront/entry/parts.h"
#include "pyfront/tape/tape.h"

/* New nodes of the entry's stages (with a gradient), which retain the frames that follow the
 * results; what the run has stored (host->wired) becomes results of its node.  NULL: it has none.
 * -1: they cannot be made (an exception may be set). */
int jpy_region_nodes(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     uint64_t rng_offset, jn_arg *results, const jpy_host *host, jpy_node **out);
/* Result `result` of the run leaves as t: where a gradient needs it, a write to it is an error of
 * the backward() that comes after. */
void jpy_region_kept(const jpy_entry *e, jpy_node *const *nodes, uint32_t result, janus_tensor *t);

#endif
