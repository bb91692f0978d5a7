/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of a decorated function does, and what is told of it. */
#ifndef JPY_CALL_H
#define JPY_CALL_H

#include "pyfront/call/explain.h"

#endif
