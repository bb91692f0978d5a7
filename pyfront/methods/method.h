/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of janus.Tensor that are no ops.
 */
#ifndef JPY_PY_METHOD_H
#define JPY_PY_METHOD_H

#include "pyfront/tensor/tensor.h"

extern PyMethodDef jpy_tensor_methods[]; /* method.c */

#endif
