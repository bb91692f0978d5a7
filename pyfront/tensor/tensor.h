/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of janus.Tensor: their memory, their place on the tape, writes in place; how objects
 * die. */
#ifndef JPY_TENSOR_H
#define JPY_TENSOR_H

#include "pyfront/tensor/buffers.h"
#include "pyfront/tensor/device.h"
#include "pyfront/tensor/dying.h"
#include "pyfront/tensor/object.h"

#endif
