/* SPDX-License-Identifier: Apache-2.0 */
/* Native slots, see jcv_slots: what each function does is said there. */
#ifndef JPY_CONVERT_NATIVE_H
#define JPY_CONVERT_NATIVE_H

#include "pyfront/convert/model/model.h"

/* operators.c */
/* A tuple or list, exactly. */
bool jcv_is_sequence(const jcv_av *a);
/* Whether it is a tuple of no other class: parts that are all of it, and sums with nothing, are it.
 */
bool jcv_is_plain_tuple(const jcv_av *a);
jcv_av *jcv_native_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace);
jcv_av *jcv_native_optional(jcv *c, int op, jcv_av *a, jcv_av *b);
void jcv_native_decline(jcv *c, int op, jcv_av *self, jcv_av *other, bool inplace);
jcv_av *jcv_native_unary(jcv *c, int op, jcv_av *a);
jcv_av *jcv_native_length(jcv *c, jcv_av *a);
int jcv_native_truth(jcv *c, jcv_av *a, jcv_val **out);
/* compare.c */
jcv_av *jcv_native_compare(jcv *c, int op, jcv_av *a, jcv_av *b);
jcv_av *jcv_native_contains(jcv *c, jcv_av *in, jcv_av *item);
/* subscript.c */
bool jcv_native_items(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n);
jcv_av *jcv_native_getitem(jcv *c, jcv_av *o, jcv_av *i);
void jcv_native_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);
void jcv_native_delitem(jcv *c, jcv_av *o, jcv_av *i);
/* tensor_key.c */
/* A slice whose bounds the graph computes, or an int that it knows. */
bool jcv_is_computed(const jcv_av *a);
bool jcv_is_number(const jcv_av *a);
bool jcv_is_computed_view(const jcv_av *key);
jcv_av *jcv_tensor_part(jcv *c, jcv_av *o, int axis, jcv_av *const *bounds);
jcv_av *jcv_selected(jcv *c, jcv_av *o, int axis, jcv_val *i);
jcv_av *jcv_computed_key(jcv *c, jcv_av *o, jcv_av *key);
jcv_av *jcv_with_places(jcv *c, jcv_av *o, jcv_av *key);
jcv_av *jcv_stored_number(jcv *c, jcv_av *o, jcv_av *v);

#endif
