/* SPDX-License-Identifier: Apache-2.0 */
/* Elements from tensor to tensor, wherever they lie. */
#ifndef JN_EXEC_COPY_H
#define JN_EXEC_COPY_H

#include "exec/device/device.h"

/* Same elements, row-major: `t` itself retained when it is, else a copy. */
janus_status jn_tensor_contiguous(janus_tensor *t, janus_tensor **out);
/* Copies elements (same dims, any strides, dtype cast as in `cast`). */
janus_status jn_tensor_copy(janus_tensor *dst, janus_tensor *src);
/* Copies of which none is needed before the last is asked for: on a device those that can are made
 * in one launch.  They are made in order where one touches what another writes. */
enum { JN_COPIES = 256 };
typedef struct jn_copies {
    jn_device *d; /* of what waits */
    uint32_t n;
    jn_dev_moving at[JN_COPIES];
} jn_copies;
/* jn_tensor_copy(dst, src), now or by jn_copies_end; both stay until then. */
janus_status jn_copies_add(jn_copies *c, janus_tensor *dst, janus_tensor *src);
janus_status jn_copies_end(jn_copies *c);
/* What to give jn_tensor_copy() for `src` so that it cannot fail, a new reference: src itself, or
 * its elements cast or in other memory.  On a device copies may fail all the same. */
janus_status jn_tensor_ready_copy(janus_tensor *dst, janus_tensor *src, janus_tensor **out);
/* The same elements with these strides (>= 0; those of equal elements may be 0): in memory of its
 * own on t's device, or `t`'s where only strides of sizes 1 differ. */
janus_status jn_tensor_restride(janus_tensor *t, const int64_t *strides, janus_tensor **out);
/* New row-major tensor with the elements converted (exec/eager/eager.c). */
janus_status jn_tensor_cast(janus_tensor *t, janus_dtype dtype, janus_tensor **out);
/* The same elements, row-major, on `to` (NULL: in host memory); `t` itself retained when it is
 * there already, which a copy is not. */
janus_status jn_tensor_to(janus_tensor *t, jn_device *to, bool copy, janus_tensor **out);
/* jn_tensor_to; with `non_blocking` a copy out of pinned memory may happen later, in stream order.
 */
janus_status jn_tensor_send(janus_tensor *t, jn_device *to, bool copy, bool non_blocking,
                            janus_tensor **out);
/* A copy of a host tensor in pinned memory. */
janus_status jn_tensor_pin(jn_device *d, janus_tensor *t, janus_tensor **out);

#endif
