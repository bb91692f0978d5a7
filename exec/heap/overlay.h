/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations as the running graph sees them: what it wrote, above what the heap holds.
 *
 * The table is keyed by location.  Lists that grew or shrank have a state of their own (how much of
 * the heap's list is left, what was appended), dicts a change of length.  What the run itself made
 * (a birth) lives here only, until prepare makes it real.
 */
#ifndef JN_EXEC_OVERLAY_H
#define JN_EXEC_OVERLAY_H

#include "exec/state/state.h"

janus_status jn_ov_length(jn_run *r, janus_object o, int64_t *out);
/* Reads: JANUS_NOT_FOUND where there is nothing. */
janus_status jn_ov_get_attr(jn_run *r, janus_object o, int64_t key, jn_box *out);
janus_status jn_ov_get_item(jn_run *r, janus_object o, int64_t index, jn_box *out);
janus_status jn_ov_get_key(jn_run *r, janus_object o, const jn_box *key, jn_box *out);
/* Writes; the caller logs them.  An item must exist (*index counts from the start afterwards). */
janus_status jn_ov_set_attr(jn_run *r, janus_object o, int64_t key, jn_box value);
janus_status jn_ov_set_item(jn_run *r, janus_object o, int64_t *index, jn_box value);
janus_status jn_ov_set_key(jn_run *r, janus_object o, const jn_box *key, jn_box value, int64_t tag);
janus_status jn_ov_append(jn_run *r, janus_object o, jn_box value);
janus_status jn_ov_pop(jn_run *r, janus_object o, jn_box *out);
janus_status jn_ov_insert(jn_run *r, janus_object o, int64_t *index, jn_box value);
janus_status jn_ov_del_item(jn_run *r, janus_object o, int64_t *index, jn_box *out);
janus_status jn_ov_del_key(jn_run *r, janus_object o, const jn_box *key);
/* Calls fn for each pair of a dict, in its order, with the tag of the value's last write; fn may
 * write to other dicts. */
typedef janus_status (*jn_pair_fn)(void *arg, const jn_box *key, jn_box value, int64_t tag);
janus_status jn_ov_pairs(jn_run *r, janus_object o, jn_pair_fn fn, void *arg);
/* Marks what was made and outlives the run, by the log and the results. */
janus_status jn_find_escapes(jn_run *r);
/* A box for what the embedding program answered. */
janus_status jn_box_from_host(jn_run *r, const janus_host_value *v, jn_box *out);
/* A scalar or object as the embedding program's value. */
janus_host_value jn_box_to_host(const jn_box *b);

#endif
