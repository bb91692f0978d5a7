/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a list of calls (exec/kernels/replay.h) keeps of weights from run to run.
 *
 * Products of few rows by a weight spend half of their time on turning what they read.  Where a
 * weight is an argument whose memory the caller knows to be the same, nobody has written to it
 * since (storages count that, exec/store/tensor.h) and nobody else has its address, it is turned
 * once and for all.  Results are the same to the bit (ops/cpu/isa/turned_body.h), so nobody sees
 * whether a run had it (docs/adr/0090-turned-weights.md).
 */
#ifndef JN_EXEC_KEPT_H
#define JN_EXEC_KEPT_H

#include "exec/state/state.h"

/* A place in the operands of a call, of what is kept of the weight there. */
typedef struct jn_kept_place {
    const void **place;
    struct jn_kept_place *next;
} jn_kept_place;

typedef struct jn_kept_weight {
    uint32_t arg;       /* which argument it is */
    const jn_kargs *of; /* a call that reads it */
    size_t bytes;       /* of what is kept */
    void *kept;         /* NULL: nothing yet */
    bool in_use;        /* the places have it */
    uint8_t calm;       /* runs that have found it as it was */
    uint16_t unseen;    /* the storage's counts of writes when it was last looked at */
    uint32_t version;
    const char *data;
    jn_kept_place *places;
} jn_kept_weight;

typedef struct jn_kept {
    JN_VEC(jn_kept_weight) weights;
    size_t bytes;
} jn_kept;

/* A call is written down whose operand 1 of a row is argument `arg`, all of it: `place` will have
 * what is kept of it.  False: out of memory. */
bool jn_kept_add(jn_kept *k, jn_arena *a, uint32_t arg, const jn_op *op, const jn_kargs *call,
                 const void **place);
/* A run is about to make the calls.  known: per argument a jn_known, of the last run as well; NULL:
 * nothing is known. */
void jn_kept_look(jn_kept *k, const jn_arg *args, const uint8_t *known);
void jn_kept_free(jn_kept *k);

#endif
