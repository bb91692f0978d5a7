/* SPDX-License-Identifier: Apache-2.0 */
/* The random generator of Python programs. */
#ifndef JPY_PY_RNG_H
#define JPY_PY_RNG_H

#include "exec/store/store.h"
#include "pyfront/base/jpy.h"

/* State of the default generator, to read and (after a graph run) to move on. */
jn_rng_state *jpy_rng_default(void);
/* In this thread the default generator is not moved on: what a conversion draws is no number. */
extern _Thread_local bool jpy_rng_still;
/* The class of the default generator: of that alone. */
PyTypeObject *jpy_rng_default_type(void);

#endif
