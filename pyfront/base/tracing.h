/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody watches lines, calls or events: then functions run plain, as graphs have none.
 */
#ifndef JPY_TRACING_H
#define JPY_TRACING_H

#include "pyfront/base/jpy.h"

/* True under sys.settrace, sys.setprofile (of this thread) and while a tool of sys.monitoring
 * (CPython 3.12 and later) is in use.  Some loads where nobody watches. */
bool jpy_traced(void);
/* How many reasons there are to call all functions as they are: JANUS_DISABLE, a graph that is
 * replayed, Python of the package's own that runs between the program's (its calls of the standard
 * library, which may be decorated, are none of the program's).  Changed under the interpreter lock
 * by one up and one down, so that threads do not undo each other's. */
extern unsigned jpy_functions_off;

#endif
