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

#include "exec/state/run_internal.h"

/* A list, tuple or dict made by host.new.  A slot refers to it as to any box. */
typedef struct jn_birth {
    jn_box box; /* kind JN_KIND_BIRTH */
    uint8_t what;
    uint32_t n;
    jn_box *items;     /* of a tuple */
    janus_object real; /* NULL: it does not outlive the run */
    bool outlives;
    uint32_t entries; /* of the log, linked while it is looked through (exec/heap/escape.c) */
} jn_birth;

enum { /* kinds of boxes that are no janus_kind */
       JN_KIND_BIRTH = 64,
       JN_KIND_ABSENT = 65, /* a location whose value was deleted */
       JN_KIND_LATER = 256  /* added: v.p is a future of what is there */
};

/* What a box is now: a future that is done is its value. */
jn_box jn_box_now(jn_box b);

/* NULL: an object of the embedding program. */
static inline jn_birth *jn_birth_of(janus_object o) {
    jn_box *b = jn_box_of(o);
    return b && (int)b->kind == JN_KIND_BIRTH ? (jn_birth *)(void *)b : NULL;
}

janus_status jn_ov_length(jn_run *r, janus_object o, int64_t *out);
/* Reads: JANUS_NOT_FOUND where there is nothing. */
janus_status jn_ov_get_attr(jn_run *r, janus_object o, int64_t key, jn_box *out);
janus_status jn_ov_get_item(jn_run *r, janus_object o, int64_t index, jn_box *out);
janus_status jn_ov_get_key(jn_run *r, janus_object o, const jn_box *key, jn_box *out);
/* Writes; the caller logs them.  An item must exist (*index counts from the start afterwards). */
janus_status jn_ov_set_attr(jn_run *r, janus_object o, int64_t key, jn_box value);
janus_status jn_ov_set_item(jn_run *r, janus_object o, int64_t *index, jn_box value);
janus_status jn_ov_set_key(jn_run *r, janus_object o, const jn_box *key, jn_box value);
janus_status jn_ov_append(jn_run *r, janus_object o, jn_box value);
janus_status jn_ov_pop(jn_run *r, janus_object o, jn_box *out);
janus_status jn_ov_del_key(jn_run *r, janus_object o, const jn_box *key);
/* Marks what was made and outlives the run, by the log and the results. */
janus_status jn_find_escapes(jn_run *r);
/* A box for what the embedding program answered. */
janus_status jn_box_from_host(jn_run *r, const janus_host_value *v, jn_box *out);
/* A scalar or object as the embedding program's value. */
janus_host_value jn_box_to_host(const jn_box *b);

#endif
