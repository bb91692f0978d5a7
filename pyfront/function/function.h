/* SPDX-License-Identifier: Apache-2.0 */
/* janus.function's object: what is known of the function, notes, texts. */
#ifndef JPY_FUNCTION_H
#define JPY_FUNCTION_H

#include "pyfront/function/note.h"
#include "pyfront/function/object.h"
#include "pyfront/function/profile.h"

#endif
