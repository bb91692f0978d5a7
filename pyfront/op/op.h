/* SPDX-License-Identifier: Apache-2.0 */
/* Ops called from Python: arguments bound, promoted, run, recorded. */
#ifndef JPY_OP_H
#define JPY_OP_H

#include "pyfront/op/autocast.h"
#include "pyfront/op/bound.h"
#include "pyfront/op/copy.h"
#include "pyfront/op/view.h"

#endif
