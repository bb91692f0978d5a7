/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When work on a device's stream has begun and ended there, for a profile: events around it, whose
 * times are asked for when the profile ends.
 */
#ifndef JN_EXEC_DEV_TIMES_H
#define JN_EXEC_DEV_TIMES_H

#include "exec/store/store.h"

struct jn_device;

/* What comes next on the device's stream is to be recorded until jn_dev_timed_end; NULL: it is not,
 * since no profile is made or the driver has no event.  Not while the stream is being captured. */
void *jn_dev_timed_begin(struct jn_device *d);
void jn_dev_timed_end(struct jn_device *d, void *begin, const char *name, const char *file,
                      uint32_t line, uint32_t n);
/* Before the device is closed: what was recorded of it is not known. */
void jn_dev_times_forget(const struct jn_device *d);

#endif
