/* SPDX-License-Identifier: Apache-2.0 */
/* A group of rows on a device, as exec/schedule/dev_group.c and exec/schedule/dev_rows.c run it. */
#ifndef JN_EXEC_DEV_GROUP_H
#define JN_EXEC_DEV_GROUP_H

#include "exec/device/device.h"
#include "exec/kernels/kernels.h"

typedef struct jn_dev_rows {
    jn_run *r;
    jn_device *d;
    const jn_seginst *inst;
    const jn_variant *v;
    jn_task **task;
    uint32_t n;
    jn_operands data;   /* scalars: device address of a value per row; one for all: scalar_here */
    char **scalar_here; /* host address of the value or values */
    int64_t *constant;  /* the single ones */
    jn_view *views;
    char *at; /* in the device block */
    void *workspace;
    char *host; /* of the tables above */
} jn_dev_rows;

/* The tables of operands, zeroed; jn_free(w->host) afterwards. */
janus_status jn_dev_rows_tables(jn_dev_rows *w);
/* A scalar that all rows share: on the host. */
void jn_dev_rows_constant(jn_dev_rows *w, uint32_t i);
/* An alias of another value or of an input. */
void jn_dev_rows_alias(jn_dev_rows *w, uint32_t value);
/* Launches a node, or writes it down. */
janus_status jn_dev_rows_node(jn_dev_rows *w, const jn_vnode *vn);

/* exec/schedule/dev_rows.c: the group as a capture of its segment for a rounded number of rows;
 * *done false: nothing was done. `v` is for n rows. */
janus_status jn_dev_rows_replay(jn_lane *l, jn_seginst *inst, jn_variant_key key,
                                const jn_variant *v, jn_task **task, uint32_t n, bool *done);

#endif
