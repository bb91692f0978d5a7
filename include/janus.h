/* janus: build, differentiate and run dataflow graphs; the public C interface.
 *
 * Link with `pkg-config --libs janus`. Every function that can fail returns a janus_status.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JANUS_H
#define JANUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is compiled with hidden visibility; what is declared between the pragmas is exported.
 */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Result of every call that can fail: 0 or a negative code. */
typedef enum janus_status {
    JANUS_OK = 0,
    JANUS_INVALID_ARGUMENT = -1,
    JANUS_SHAPE = -2,
    JANUS_DTYPE = -3,
    JANUS_UNSUPPORTED = -4,
    JANUS_NOT_FOUND = -5,
    JANUS_NO_MEMORY = -6,
    JANUS_DEVICE = -7,
    JANUS_PARSE = -8,
    JANUS_ASSUMPTION_FAILED = -9,
    JANUS_CANCELLED = -10,
    JANUS_INTERNAL = -11
} janus_status;

/* The library's version, "major.minor.patch"; static storage. */
const char *janus_version(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
