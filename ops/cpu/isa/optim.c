/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers' steps: one pass over a parameter, its gradient and its state.  Results may be written
 * over the operands they replace.
 */
#include <math.h>

#include "ops/attrs.h"
#include "ops/cpu/isa.h"

enum { GRAIN = 16384 };

/* Coefficients of one step, found once. */
typedef struct step {
    const jn_kargs *k;
    double lr, decay, shrink, sign, c[6];
} step;

static double scalar(const jn_kargs *k, unsigned i) {
    const jn_view *v = &k->in[i];
    return v->dtype == JANUS_F32 ? (double)*(const float *)v->data : *(const double *)v->data;
}

static int64_t count(const jn_kargs *k) {
    int64_t n = 1;
    for (int i = 0; i < k->in[0].rank; i++)
        n *= k->in[0].dims[i];
    return n;
}

static void store_step(const jn_view *y, double v) {
    if (y->dtype == JANUS_F32)
        *(float *)y->data = (float)v;
    else
        *(double *)y->data = v;
}

static void spread(step *s, jn_range_fn body) {
    s->k->par->run(s->k->par, count(s->k), GRAIN, body, s);
}

#define IN(T, i) ((const T *)k->in[i].data)
#define OUT(T, i) ((T *)k->out[i].data)

#define RANGES(T, sfx, ROOT)                                                                       \
    static void momentum_##sfx(void *arg, int64_t begin, int64_t end) {                            \
        const step *s = arg;                                                                       \
        const jn_kargs *k = s->k;                                                                  \
        const T *p = IN(T, 0), *g = IN(T, 1), *v = IN(T, 2);                                       \
        T *p1 = OUT(T, 0), *v1 = OUT(T, 1);                                                        \
        const T lr = (T)s->lr, decay = (T)s->decay, sign = (T)s->sign;                             \
        const T keep = (T)s->c[0], take = (T)s->c[1], of_d = (T)s->c[2], of_v = (T)s->c[3];        \
        JN_VECTOR_LOOP for (int64_t i = begin; i < end; i++) {                                     \
            T d = sign * g[i] + decay * p[i];                                                      \
            T w = keep * v[i] + take * d;                                                          \
            p1[i] = p[i] - lr * (of_d * d + of_v * w);                                             \
            v1[i] = w;                                                                             \
        }                                                                                          \
    }                                                                                              \
    static void adam_##sfx(void *arg, int64_t begin, int64_t end) {                                \
        const step *s = arg;                                                                       \
        const jn_kargs *k = s->k;                                                                  \
        const T *p = IN(T, 0), *g = IN(T, 1), *m = IN(T, 2), *v = IN(T, 3);                        \
        T *p1 = OUT(T, 0), *m1 = OUT(T, 1), *v1 = OUT(T, 2);                                       \
        const T rate = (T)s->lr, decay = (T)s->decay, shrink = (T)s->shrink, sign = (T)s->sign;    \
        const T b1 = (T)s->c[0], b2 = (T)s->c[1], root = (T)s->c[2], eps = (T)s->c[3];             \
        const T take1 = (T)s->c[4], take2 = (T)s->c[5]; /* 1 - b1, rounded once */                 \
        JN_VECTOR_LOOP for (int64_t i = begin; i < end; i++) {                                     \
            T q = shrink * p[i];                                                                   \
            T d = sign * g[i] + decay * q;                                                         \
            T a = b1 * m[i] + take1 * d;                                                           \
            T b = b2 * v[i] + take2 * d * d;                                                       \
            p1[i] = q - rate * a / (ROOT(b) * root + eps);                                         \
            m1[i] = a;                                                                             \
            v1[i] = b;                                                                             \
        }                                                                                          \
    }
RANGES(float, f32, sqrtf)
RANGES(double, f64, sqrt)

#define BY_DTYPE(name) (k->in[0].dtype == JANUS_F32 ? name##_f32 : name##_f64)

static void momentum_step(const jn_kargs *k) {
    const janus_momentum_step_attrs *a = k->attrs;
    step s = {.k = k,
              .lr = scalar(k, 3),
              .decay = a->weight_decay,
              .sign = a->maximize ? -1.0 : 1.0,
              .c = {a->momentum, 1 - a->dampening, a->nesterov ? 1.0 : 0.0,
                    a->nesterov ? a->momentum : 1.0}};
    spread(&s, BY_DTYPE(momentum));
}

static void adam_step(const jn_kargs *k) {
    const janus_adam_step_attrs *a = k->attrs;
    double n = scalar(k, 4) + 1, lr = scalar(k, 5);
    step s = {.k = k,
              .lr = lr / (1 - pow(a->beta1, n)),
              .decay = a->decoupled ? 0.0 : a->weight_decay,
              .shrink = a->decoupled ? 1 - lr * a->weight_decay : 1.0,
              .sign = a->maximize ? -1.0 : 1.0,
              .c = {a->beta1, a->beta2, 1 / sqrt(1 - pow(a->beta2, n)), a->eps, 1 - a->beta1,
                    1 - a->beta2}};
    spread(&s, BY_DTYPE(adam));
    store_step(&k->out[3], n);
}

void JN_ISA_FN(jn_isa_fill_optim)(jn_isa_table *t) {
    for (int d = JANUS_F32; d <= JANUS_F64; d++) {
        t->kernel[JN_OP_ID_momentum_step][d] = momentum_step;
        t->kernel[JN_OP_ID_adam_step][d] = adam_step;
    }
}
