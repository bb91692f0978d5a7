/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody watches lines, calls or events: then functions run plain, as graphs have none.
 */
#ifndef JPY_TRACING_H
#define JPY_TRACING_H

#include "pyfront/base/jpy.h"

/* True under sys.settrace, sys.setprofile (of this thread) and while a tool of sys.monitoring
 * (CPython 3.12 and later) is in use.  Some loads where nobody watches. */
bool jpy_traced(void);
/* Whether all functions are called as they are: JANUS_DISABLE says so, or a graph is replayed. */
extern bool jpy_functions_off;

#endif
