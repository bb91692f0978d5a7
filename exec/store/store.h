/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and their memory, threads, the record of a profile: the bottom of exec/. */
#ifndef JN_EXEC_STORE_H
#define JN_EXEC_STORE_H

#include "exec/store/par.h"
#include "exec/store/pool.h"
#include "exec/store/profile.h"
#include "exec/store/rng.h"
#include "exec/store/slab.h"
#include "exec/store/tensor.h"
#include "exec/store/tensor_rows.h"

#endif
