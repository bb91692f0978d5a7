/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of two tensors: see numbers.h. */
#include "pyfront/verify/numbers.h"

#include <math.h>
#include <string.h>

#include "ops/ref/ref.h"

bool jpy_near(double p, double a, double scale, janus_dtype dtype, bool exact) {
    if (isnan(p) || isnan(a))
        return isnan(p) && isnan(a);
    if (p == a)
        return !exact || signbit(p) == signbit(a);
    if (exact || isinf(p) || isinf(a))
        return false;
    double of_value = 1e-4, of_scale = 2e-6;
    if (dtype == JANUS_F16)
        of_value = of_scale = 1e-2;
    else if (dtype == JANUS_BF16)
        of_value = of_scale = 5e-2;
    return fabs(p - a) <= of_value * fabs(a) + of_scale * (1 + scale);
}

static double load_float(const janus_tensor *t, int64_t i) {
    if (t->dtype == JANUS_F32)
        return ((const float *)t->data)[i];
    if (t->dtype == JANUS_F64)
        return ((const double *)t->data)[i];
    jn_view v = jn_tensor_as_view(t);
    return jn_load_f(&v, i);
}

static double load_int(const janus_tensor *t, int64_t i) {
    switch (t->dtype) {
    case JANUS_I64:
        return (double)((const int64_t *)t->data)[i];
    case JANUS_I32:
        return ((const int32_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

static jpy_numbers floats(const janus_tensor *p, const janus_tensor *a, bool exact,
                          jpy_number_pair *out) {
    double scale = 0;
    for (int64_t i = 0; i < a->numel; i++) {
        double x = fabs(load_float(a, i));
        scale = x > scale && isfinite(x) ? x : scale;
    }
    for (int64_t i = 0; i < a->numel; i++) {
        double x = load_float(p, i), y = load_float(a, i);
        if (!jpy_near(x, y, scale, (janus_dtype)a->dtype, exact)) {
            *out = (jpy_number_pair){i, x, y};
            return JPY_NUMBERS_DIFFER;
        }
    }
    return JPY_NUMBERS_EQUAL;
}

static jpy_numbers dense(const janus_tensor *p, const janus_tensor *a, bool exact,
                         jpy_number_pair *out) {
    size_t size = jn_dtype_size((janus_dtype)a->dtype);
    if (memcmp(p->data, a->data, (size_t)a->numel * size) == 0)
        return JPY_NUMBERS_EQUAL;
    if (jn_dtype_is_float((janus_dtype)a->dtype))
        return floats(p, a, exact, out);
    for (int64_t i = 0; i < a->numel; i++)
        if (memcmp(p->data + (size_t)i * size, a->data + (size_t)i * size, size) != 0) {
            *out = (jpy_number_pair){i, load_int(p, i), load_int(a, i)};
            return JPY_NUMBERS_DIFFER;
        }
    return JPY_NUMBERS_EQUAL;
}

jpy_numbers jpy_numbers_compare(const janus_tensor *p, const janus_tensor *a, bool exact,
                                jpy_number_pair *out) {
    janus_tensor *x = NULL, *y = NULL;
    jpy_numbers r = JPY_NUMBERS_FAILED;
    if (p->storage->device || a->storage->device)
        return JPY_NUMBERS_EQUAL; /* not compared: docs/adr/0020 */
    if (jn_tensor_contiguous((janus_tensor *)p, &x) == JANUS_OK &&
        jn_tensor_contiguous((janus_tensor *)a, &y) == JANUS_OK)
        r = dense(x, y, exact, out);
    janus_tensor_release(x);
    janus_tensor_release(y);
    return r;
}
