/* SPDX-License-Identifier: Apache-2.0 */
/* Ops, one by one, at once. */
#ifndef JN_EXEC_EAGER_ROOM_H
#define JN_EXEC_EAGER_ROOM_H

#include "exec/eager/copy.h"
#include "exec/eager/now.h"
#include "exec/eager/recipe.h"

#endif
