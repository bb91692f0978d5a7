/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of two tensors: see numbers.h. */
#include "pyfront/verify/numbers.h"

#include <math.h>
#include <string.h>

#include "exec/eager/eager.h"
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

/* The elements of a dense tensor. */
typedef struct numbers {
    jn_view view;
    int64_t n;
} numbers;

static double load(const numbers *x, int64_t i) {
    switch (x->view.dtype) {
    case JANUS_F32:
        return ((const float *)x->view.data)[i];
    case JANUS_F64:
        return ((const double *)x->view.data)[i];
    case JANUS_I64:
        return (double)((const int64_t *)x->view.data)[i];
    case JANUS_I32:
        return ((const int32_t *)x->view.data)[i];
    case JANUS_F16:
    case JANUS_BF16:
        return jn_load_f(&x->view, i);
    default:
        return ((const uint8_t *)x->view.data)[i];
    }
}

static jpy_numbers floats(const numbers *p, const numbers *a, bool exact, jpy_number_pair *out) {
    double scale = 0;
    for (int64_t i = 0; i < a->n; i++) {
        double x = fabs(load(a, i));
        scale = x > scale && isfinite(x) ? x : scale;
    }
    for (int64_t i = 0; i < a->n; i++) {
        double x = load(p, i), y = load(a, i);
        if (!jpy_near(x, y, scale, (janus_dtype)a->view.dtype, exact)) {
            bool near = exact && jpy_near(x, y, scale, (janus_dtype)a->view.dtype, false);
            *out = (jpy_number_pair){i, x, y, near};
            return JPY_NUMBERS_DIFFER;
        }
    }
    return JPY_NUMBERS_EQUAL;
}

static jpy_numbers dense(const numbers *p, const numbers *a, bool exact, jpy_number_pair *out) {
    size_t size = jn_dtype_size((janus_dtype)a->view.dtype);
    const char *x = p->view.data, *y = a->view.data;
    if (!a->n || memcmp(x, y, (size_t)a->n * size) == 0)
        return JPY_NUMBERS_EQUAL;
    if (jn_dtype_is_float((janus_dtype)a->view.dtype))
        return floats(p, a, exact, out);
    int64_t i = 0;
    while (memcmp(x + (size_t)i * size, y + (size_t)i * size, size) == 0)
        i++;
    *out = (jpy_number_pair){i, load(p, i), load(a, i), false};
    return JPY_NUMBERS_DIFFER;
}

static jpy_numbers vectors(const numbers *p, const numbers *a, double cotangents,
                           jpy_number_pair *out) {
    double of_length = 1e-2, of_cotangents = 1e-5, length = 0, apart = 0, most = -1;
    if (a->view.dtype == JANUS_F16)
        of_length = of_cotangents = 5e-2;
    else if (a->view.dtype == JANUS_BF16)
        of_length = of_cotangents = 2e-1;
    for (int64_t i = 0; i < a->n; i++) {
        double x = load(p, i), y = load(a, i), d = fabs(x - y);
        if (x == y || (isnan(x) && isnan(y)))
            d = 0;
        if (!(d <= most)) { /* also where it is not a number */
            *out = (jpy_number_pair){i, x, y, false};
            most = d;
        }
        if (!isfinite(d))
            return JPY_NUMBERS_DIFFER;
        apart += d * d;
        length += isfinite(y) ? y * y : 0;
    }
    out->near =
        apart <= of_length * of_length * length + of_cotangents * of_cotangents * (cotangents + 1);
    return out->near ? JPY_NUMBERS_EQUAL : JPY_NUMBERS_DIFFER;
}

/* Of the same rows, zeros elsewhere; what is no such is compared as a whole. */
static bool same_rows(const janus_tensor *p, const janus_tensor *a) {
    if (!jn_tensor_is_rows(p) || !jn_tensor_is_rows(a))
        return false;
    jn_rows_view x = jn_tensor_rows(p), y = jn_tensor_rows(a);
    return !x.base && !y.base && x.n == y.n && x.row_bytes == y.row_bytes &&
           memcmp(x.index, y.index, x.n * sizeof *x.index) == 0 &&
           memcmp(x.data, y.data, x.n * x.row_bytes) == 0;
}

/* cotangents: NULL: they are no gradients. */
static jpy_numbers compare(janus_tensor *p, janus_tensor *a, const double *cotangents, bool exact,
                           jpy_number_pair *out) {
    janus_tensor *x = NULL, *y = NULL;
    numbers px = {.n = p->numel}, ax = {.n = a->numel};
    jpy_numbers r = JPY_NUMBERS_FAILED;
    janus_tensor *whole = NULL; /* what is compared soon needs its memory */
    if (p == a || same_rows(p, a))
        return JPY_NUMBERS_EQUAL;
    if (jn_tensor_is_rows(p) && jn_tensor_copy_of_rows(p, &whole) != JANUS_OK)
        return r;
    p = whole ? whole : p;
    if (jn_tensor_to(p, NULL, false, &x) == JANUS_OK &&
        jn_tensor_to(a, NULL, false, &y) == JANUS_OK &&
        jn_tensor_as_view(x, &px.view) == JANUS_OK && jn_tensor_as_view(y, &ax.view) == JANUS_OK)
        r = dense(&px, &ax, exact || cotangents, out);
    if (r == JPY_NUMBERS_DIFFER && cotangents && jn_dtype_is_float(a->dtype))
        r = vectors(&px, &ax, *cotangents, out);
    janus_tensor_release(x);
    janus_tensor_release(y);
    janus_tensor_release(whole);
    return r;
}

/* Two runs whose roundings differ are seldom as far apart as two others: by how much more the
 * graph and CPython may be. */
static const double FURTHER = 8;

bool jpy_moved_as_far(double p, double q, double a) {
    return isfinite(p) && isfinite(a) && fabs(p - a) <= FURTHER * fabs(p - q);
}

static bool moved(const numbers *p, const numbers *q, const numbers *a) {
    double apart = 0, most = 0, move = 0, farthest = 0;
    for (int64_t i = 0; i < a->n; i++) {
        double x = load(p, i), y = load(a, i), d = fabs(x - y), m = fabs(x - load(q, i));
        if (!isfinite(d) && x != y && !(isnan(x) && isnan(y)))
            return false;
        d = isfinite(d) ? d : 0;
        m = isfinite(m) ? m : 0;
        most = d > most ? d : most;
        farthest = m > farthest ? m : farthest;
        apart += d * d;
        move += m * m;
    }
    return most <= FURTHER * farthest && apart <= FURTHER * FURTHER * move;
}

bool jpy_numbers_moved(janus_tensor *p, janus_tensor *q, janus_tensor *a) {
    janus_tensor *of[] = {p, q, a}, *dense[3] = {0};
    numbers x[3];
    bool ok = q->numel == a->numel && p->numel == a->numel;
    for (int i = 0; i < 3 && ok; i++) {
        x[i].n = a->numel;
        ok = of[i]->dtype == a->dtype && jn_tensor_fill(of[i]) == JANUS_OK &&
             jn_tensor_to(of[i], NULL, false, &dense[i]) == JANUS_OK &&
             jn_tensor_as_view(dense[i], &x[i].view) == JANUS_OK;
    }
    ok = ok && moved(&x[0], &x[1], &x[2]);
    for (int i = 0; i < 3; i++)
        janus_tensor_release(dense[i]);
    return ok;
}

jpy_numbers jpy_numbers_compare(janus_tensor *p, janus_tensor *a, bool exact,
                                jpy_number_pair *out) {
    return compare(p, a, NULL, exact, out);
}

jpy_numbers jpy_gradients_compare(janus_tensor *p, janus_tensor *a, double cotangents,
                                  jpy_number_pair *out) {
    bool same = p->dtype == a->dtype && p->rank == a->rank;
    for (int d = 0; same && d < p->rank; d++)
        same = p->dims[d] == a->dims[d];
    if (!same) {
        *out = (jpy_number_pair){0};
        return JPY_NUMBERS_DIFFER;
    }
    return compare(p, a, &cotangents, false, out);
}
