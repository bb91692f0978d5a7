/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that ran, as backward() finds them; recording. */
#ifndef JPY_TAPE_H
#define JPY_TAPE_H

#include "pyfront/tape/deferred.h"
#include "pyfront/tape/node.h"
#include "pyfront/tape/record.h"

#endif
