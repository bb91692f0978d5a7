/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what values do whose slots are CPython's or the tensor layer's own: by the kind of
 * the abstract value, in the file of each family.
 */
#include "pyfront/convert/values/values.h"

#include "pyfront/convert/values/native.h"

const jcv_slots jcv_native = {
    .binary = jcv_native_binary,
    .optional = jcv_native_optional,
    .decline = jcv_native_decline,
    .compare = jcv_native_compare,
    .unary = jcv_native_unary,
    .truth = jcv_native_truth,
    .length = jcv_native_length,
    .items = jcv_native_items,
    .contains = jcv_native_contains,
    .getitem = jcv_native_getitem,
    .setitem = jcv_native_setitem,
    .delitem = jcv_native_delitem,
};
