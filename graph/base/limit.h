/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process may have. */
#ifndef JN_BASE_LIMIT_H
#define JN_BASE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* The least of the machine's memory, the limits of the process's control groups, and its address
 * space (RLIMIT_AS); or JANUS_MEMORY_LIMIT, in bytes or with a K, M or G behind, where it is given
 * (then *given, unless NULL, is true).  Looked up once.  SIZE_MAX: nothing is known. */
size_t jn_memory_limit(bool *given);

#endif
