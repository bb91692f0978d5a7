/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two tensors hold the same numbers, up to rounding. */
#ifndef JPY_VERIFY_NUMBERS_H
#define JPY_VERIFY_NUMBERS_H

#include "exec/store/store.h"

typedef enum jpy_numbers {
    JPY_NUMBERS_EQUAL,
    JPY_NUMBERS_DIFFER,
    JPY_NUMBERS_FAILED /* out of memory */
} jpy_numbers;

typedef struct jpy_number_pair { /* the elements that differ most */
    int64_t index;
    double graph, python;
    bool near; /* but for rounding they are equal */
} jpy_number_pair;

/* Whether p is a, rounded otherwise: NaN is NaN.  `scale`: the largest value among those that it is
 * one of; `exact`: by bits but for the sign and contents of a NaN. */
bool jpy_near(double p, double a, double scale, janus_dtype dtype, bool exact);
/* Whether a is no further from p than a few times q is, which is p moved by rounding. */
bool jpy_moved_as_far(double p, double q, double a);
/* The same of tensors like a, by what differs most and by all that does. */
bool jpy_numbers_moved(janus_tensor *p, janus_tensor *q, janus_tensor *a);
/* Of one dtype and dims, any strides. */
jpy_numbers jpy_numbers_compare(janus_tensor *p, janus_tensor *a, bool exact, jpy_number_pair *out);
/* The same of gradients, which rounding may change more where terms cancel: as a whole they are
 * compared with their length as vectors, and with what comes of cotangents whose squares have the
 * sum `cotangents`. */
jpy_numbers jpy_gradients_compare(janus_tensor *p, janus_tensor *a, double cotangents,
                                  jpy_number_pair *out);

#endif
