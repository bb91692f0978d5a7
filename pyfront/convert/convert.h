/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the converter call in each other: the headers of its rooms. */
#ifndef JPY_CONVERT_CONVERT_H
#define JPY_CONVERT_CONVERT_H

#include "pyfront/convert/calls/calls.h"
#include "pyfront/convert/core/core.h"
#include "pyfront/convert/finish/finish.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/syntax/syntax.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

#endif
