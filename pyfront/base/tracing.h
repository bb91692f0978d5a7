/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody watches lines, calls or events: then functions run plain, as graphs have none.
 */
#ifndef JPY_TRACING_H
#define JPY_TRACING_H

#include "pyfront/base/jpy.h"

/* True under sys.settrace, sys.setprofile (of this thread) and while a tool of sys.monitoring
 * (CPython 3.12 and later) is in use.  Some loads where nobody watches. */
bool jpy_traced(void);
/* Whether all functions are called as they are: JANUS_DISABLE says so. */
extern bool jpy_functions_off;
/* Those that this thread calls are, from jpy_plain_begin() to jpy_plain_end(): of a graph that is
 * replayed, and of Python of the package's own that runs between the program's, whose calls of the
 * standard library are none of the program's though that may be decorated. */
extern unsigned jpy_plain_threads; /* begun in any thread */
extern _Thread_local unsigned jpy_plain_here;

static inline void jpy_plain_begin(void) {
    jpy_plain_threads++; /* under the interpreter lock */
    jpy_plain_here++;
}
static inline void jpy_plain_end(void) {
    jpy_plain_threads--;
    jpy_plain_here--;
}
static inline bool jpy_plain_calls(void) {
    return jpy_functions_off || (jpy_plain_threads && jpy_plain_here);
}

#endif
