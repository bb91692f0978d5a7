/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and walks of the reference kernels. */
#include "config.h"

#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static float float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float jn_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 1023;
    if (e == 31)
        return float_of(sign | 0x7f800000 | m << 13);
    if (e != 0)
        return float_of(sign | (e + 112) << 23 | m << 13);
    float f = ldexpf((float)m, -24);
    return sign ? -f : f;
}

uint16_t jn_float_to_half(double d) {
    uint16_t sign = signbit(d) ? 0x8000 : 0;
    double a = fabs(d);
    int e;
    if (isnan(d))
        return sign | 0x7e00;
    if (a >= 65520) /* halfway between the largest and infinity */
        return sign | 0x7c00;
    if (a < 0x1p-25 || a == 0)
        return sign;
    frexp(a, &e);
    if (e < -13)
        e = -13;                            /* subnormal */
    double m = nearbyint(ldexp(a, 11 - e)); /* 11 bits, ties to even */
    if (m >= 2048) {
        m /= 2;
        e++;
    }
    if (m < 1024)
        return (uint16_t)(sign | (uint16_t)m);
    return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | ((uint16_t)m & 1023));
}

uint16_t jn_float_to_bfloat(double d) {
    uint32_t u = bits_of((float)d);
    if (isnan(d))
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

double jn_load_f(const jn_view *v, int64_t o) {
    switch (v->dtype) {
    case JANUS_F32:
        return ((const float *)v->data)[o];
    case JANUS_F64:
        return ((const double *)v->data)[o];
    case JANUS_F16:
        return jn_half_to_float(((const uint16_t *)v->data)[o]);
    case JANUS_BF16:
        return jn_bfloat_to_float(((const uint16_t *)v->data)[o]);
    default:
        return (double)jn_load_i(v, o);
    }
}

int64_t jn_load_i(const jn_view *v, int64_t o) {
    switch (v->dtype) {
    case JANUS_I32:
        return ((const int32_t *)v->data)[o];
    case JANUS_I64:
        return ((const int64_t *)v->data)[o];
    case JANUS_BOOL:
        return ((const uint8_t *)v->data)[o] != 0;
    case JANUS_U8:
        return ((const uint8_t *)v->data)[o];
    default:
        return jn_f_to_i(jn_load_f(v, o));
    }
}

void jn_store_i(const jn_view *v, int64_t o, int64_t i) {
    switch (v->dtype) {
    case JANUS_I32:
        ((int32_t *)v->data)[o] = (int32_t)(uint32_t)(uint64_t)i;
        break;
    case JANUS_I64:
        ((int64_t *)v->data)[o] = i;
        break;
    case JANUS_BOOL:
        ((uint8_t *)v->data)[o] = i != 0;
        break;
    case JANUS_U8:
        ((uint8_t *)v->data)[o] = (uint8_t)i;
        break;
    case JANUS_F32:
        ((float *)v->data)[o] = (float)i; /* not through double: that would round twice */
        break;
    default:
        jn_store_f(v, o, (double)i);
    }
}

void jn_store_f(const jn_view *v, int64_t o, double f) {
    switch (v->dtype) {
    case JANUS_F32:
        ((float *)v->data)[o] = (float)f;
        break;
    case JANUS_F64:
        ((double *)v->data)[o] = f;
        break;
    case JANUS_F16:
        ((uint16_t *)v->data)[o] = jn_float_to_half(f);
        break;
    case JANUS_BF16:
        ((uint16_t *)v->data)[o] = jn_float_to_bfloat(f);
        break;
    case JANUS_BOOL:
        ((uint8_t *)v->data)[o] = f != 0;
        break;
    case JANUS_I32:
        ((int32_t *)v->data)[o] = f > -2147483649.0 && f < 2147483648.0 ? (int32_t)f : INT32_MIN;
        break;
    default:
        jn_store_i(v, o, jn_f_to_i(f));
    }
}

void jn_copy_element(const jn_view *dst, int64_t to, const jn_view *src, int64_t from) {
    if (dst->dtype == src->dtype) { /* bits, NaN payloads included */
        size_t size = jn_dtype_size((janus_dtype)dst->dtype);
        memcpy((char *)dst->data + (size_t)to * size, (const char *)src->data + (size_t)from * size,
               size);
    } else if (jn_is_float(src)) {
        jn_store_f(dst, to, jn_load_f(src, from));
    } else {
        jn_store_i(dst, to, jn_load_i(src, from));
    }
}

void jn_add_element(const jn_view *dst, int64_t to, const jn_view *src, int64_t from) {
    if (jn_is_float(dst))
        jn_store_f(dst, to, jn_load_f(dst, to) + jn_load_f(src, from));
    else
        jn_store_i(dst, to,
                   (int64_t)((uint64_t)jn_load_i(dst, to) + (uint64_t)jn_load_i(src, from)));
}

void jn_walk_init(jn_walk *w, int rank, const int64_t *dims) {
    w->rank = rank;
    w->n = 0;
    w->left = 1;
    for (int i = 0; i < rank; i++) {
        w->dims[i] = dims[i];
        w->idx[i] = 0;
        w->left *= dims[i];
    }
}

int jn_walk_add_strides(jn_walk *w, const int64_t *strides, int64_t offset) {
    for (int i = 0; i < w->rank; i++)
        w->strides[w->n][i] = strides[i];
    w->off[w->n] = offset;
    return w->n++;
}

int jn_walk_add(jn_walk *w, const jn_view *v) {
    int64_t strides[JN_MAX_RANK];
    for (int i = 0; i < w->rank; i++) {
        int at = i - (w->rank - v->rank);
        strides[i] = at < 0 || (v->dims[at] == 1 && w->dims[i] != 1) ? 0 : v->strides[at];
    }
    return jn_walk_add_strides(w, strides, 0);
}

void jn_walk_next(jn_walk *w) {
    w->left--;
    for (int i = w->rank - 1; i >= 0; i--) {
        if (++w->idx[i] < w->dims[i]) {
            for (int k = 0; k < w->n; k++)
                w->off[k] += w->strides[k][i];
            return;
        }
        for (int k = 0; k < w->n; k++)
            w->off[k] -= w->strides[k][i] * (w->dims[i] - 1);
        w->idx[i] = 0;
    }
}

void jn_walk_lines(jn_walk *w, const jn_view *v, int axis) {
    int64_t dims[JN_MAX_RANK];
    int n = 0;
    for (int i = 0; i < v->rank; i++) {
        if (i != axis)
            dims[n++] = v->dims[i];
    }
    jn_walk_init(w, n, dims);
    jn_walk_add_line(w, v, axis);
}

int jn_walk_add_line(jn_walk *w, const jn_view *v, int axis) {
    int64_t strides[JN_MAX_RANK];
    int n = 0;
    for (int i = 0; i < v->rank; i++) {
        if (i != axis)
            strides[n++] = v->strides[i];
    }
    return jn_walk_add_strides(w, strides, 0);
}

void jn_zero(const jn_view *v) {
    jn_walk w;
    if (v->contiguous) { /* zero is all bits zero in every type; gradients of tables are large */
        size_t n = jn_dtype_size((janus_dtype)v->dtype);
        for (int i = 0; i < v->rank; i++)
            n *= (size_t)v->dims[i];
        if (n)
            memset(v->data, 0, n);
        return;
    }
    jn_walk_init(&w, v->rank, v->dims);
    jn_walk_add(&w, v);
    JN_WALK(&w)
    jn_store_i(v, w.off[0], 0);
}

static jn_view row_of(const jn_view *v, int64_t row) {
    jn_view r = *v;
    r.data = (char *)v->data + row * v->strides[0] * (int64_t)jn_dtype_size((janus_dtype)v->dtype);
    r.dims++;
    r.strides++;
    r.rank--;
    return r;
}

void jn_each_row(const jn_kargs *k, const void *attrs, unsigned rowed, jn_kernel_fn fn) {
    enum { MOST = 8 };
    jn_view in[MOST], out[MOST];
    jn_kargs one = *k;
    one.in = in;
    one.out = out;
    one.attrs = attrs;
    for (int64_t row = 0; row < k->out[0].dims[0]; row++) {
        for (unsigned i = 0; i < k->n_in; i++)
            in[i] = rowed >> i & 1 ? row_of(&k->in[i], row) : k->in[i];
        for (unsigned i = 0; i < k->n_out; i++)
            out[i] = row_of(&k->out[i], row);
        fn(&one);
    }
}
