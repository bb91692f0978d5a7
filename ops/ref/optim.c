/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of optimizers' steps, element by element in double.
 */
#include "config.h"

#include <math.h>

#include "ops/ref/ref.h"

/* The gradient with what every row may add to it. */
static double slope(double g, double p, double weight_decay, int64_t maximize) {
    return (maximize ? -g : g) + weight_decay * p;
}

/* A walk over p (slot 0) and the first n operands; results are row-major, slots n.. . */
static void walk_all(jn_walk *w, const jn_kargs *k, unsigned n) {
    jn_walk_init(w, k->in[0].rank, k->in[0].dims);
    for (unsigned i = 0; i < n; i++)
        jn_walk_add(w, &k->in[i]);
    jn_walk_add(w, &k->out[0]);
}

static void k_momentum_step(const jn_kargs *k) {
    const janus_momentum_step_attrs *a = k->attrs;
    double lr = jn_load_f(&k->in[3], 0);
    jn_walk w;
    walk_all(&w, k, 3);
    JN_WALK(&w) {
        double p = jn_load_f(&k->in[0], w.off[0]), g = jn_load_f(&k->in[1], w.off[1]);
        double d = slope(g, p, a->weight_decay, a->maximize);
        double v = a->momentum * jn_load_f(&k->in[2], w.off[2]) + (1 - a->dampening) * d;
        jn_store_f(&k->out[0], w.off[3], p - lr * (a->nesterov ? d + a->momentum * v : v));
        jn_store_f(&k->out[1], w.off[3], v);
    }
}

static void k_adam_step(const jn_kargs *k) {
    const janus_adam_step_attrs *a = k->attrs;
    double step = jn_load_f(&k->in[4], 0) + 1, lr = jn_load_f(&k->in[5], 0);
    double rate = lr / (1 - pow(a->beta1, step)), root = sqrt(1 - pow(a->beta2, step));
    jn_walk w;
    walk_all(&w, k, 4);
    JN_WALK(&w) {
        double p = jn_load_f(&k->in[0], w.off[0]), g = jn_load_f(&k->in[1], w.off[1]);
        if (a->decoupled)
            p *= 1 - lr * a->weight_decay;
        double d = slope(g, p, a->decoupled ? 0 : a->weight_decay, a->maximize);
        double m = a->beta1 * jn_load_f(&k->in[2], w.off[2]) + (1 - a->beta1) * d;
        double v = a->beta2 * jn_load_f(&k->in[3], w.off[3]) + (1 - a->beta2) * d * d;
        jn_store_f(&k->out[0], w.off[4], p - rate * m / (sqrt(v) / root + a->eps));
        jn_store_f(&k->out[1], w.off[4], m);
        jn_store_f(&k->out[2], w.off[4], v);
    }
    jn_store_f(&k->out[3], 0, step);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(momentum_step)
SELECT(adam_step)
