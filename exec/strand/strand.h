/* SPDX-License-Identifier: Apache-2.0 */
/* The host strand. */
#ifndef JN_EXEC_STRAND_H
#define JN_EXEC_STRAND_H

#include "exec/strand/suspend.h"

/* exec/strand/host.c: runs the host strand from the entry to its end. */
janus_status jn_host_run(jn_run *r, const jn_slot *args);
/* exec/strand/collect.c: frees what no frame from `top` up can reach; only between two
 * instructions. */
janus_status jn_collect(jn_run *r, jn_frame *top);

#endif
