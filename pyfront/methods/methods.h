/* SPDX-License-Identifier: Apache-2.0 */
/* Methods and functions of tensors that are no single op; the bases of Module and Optimizer. */
#ifndef JPY_METHODS_H
#define JPY_METHODS_H

#include "pyfront/methods/module_base.h"
#include "pyfront/methods/rng.h"

#endif
