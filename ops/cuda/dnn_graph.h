/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making cuDNN's descriptors: what the files that describe graphs share; C only.
 *
 * The first failure is kept in jn_dnn_maker.ok; from then on nothing is done, so there are no
 * checks in between.
 */
#ifndef JN_OPS_CUDA_DNN_GRAPH_H
#define JN_OPS_CUDA_DNN_GRAPH_H

#include "ops/cuda/dnn_api.h"
#include "ops/cuda/kernels.h"

enum { JN_DNN_DESCRIPTORS = 128, JN_DNN_POINTERS = 14 };

/* Descriptors of a graph: they live as long as its plan is made. */
typedef struct jn_dnn_maker {
    jn_dnn *d;
    void *made[JN_DNN_DESCRIPTORS];
    int n;
    bool ok;
} jn_dnn_maker;

static inline void *jn_dnn_make(jn_dnn_maker *m, int type) {
    void *out = NULL;
    if (m->ok && m->n < JN_DNN_DESCRIPTORS &&
        m->d->api.BackendCreateDescriptor(type, &out) == JN_DNN_STATUS_SUCCESS) {
        m->made[m->n++] = out;
        return out;
    }
    m->ok = false;
    return NULL;
}

static inline void jn_dnn_set(jn_dnn_maker *m, void *to, int name, int type, int64_t n,
                              const void *value) {
    m->ok =
        m->ok && m->d->api.BackendSetAttribute(to, name, type, n, value) == JN_DNN_STATUS_SUCCESS;
}
static inline void jn_dnn_set_int(jn_dnn_maker *m, void *to, int name, int64_t value) {
    jn_dnn_set(m, to, name, JN_DNN_TYPE_INT64, 1, &value);
}
static inline void jn_dnn_set_desc(jn_dnn_maker *m, void *to, int name, void *value) {
    jn_dnn_set(m, to, name, JN_DNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}
static inline void jn_dnn_finish(jn_dnn_maker *m, void *d) {
    m->ok = m->ok && m->d->api.BackendFinalize(d) == JN_DNN_STATUS_SUCCESS;
}
/* The device that a graph, a query or a plan is for. */
static inline void jn_dnn_set_device(jn_dnn_maker *m, void *to, int by_handle, int by_properties) {
    if (m->d->device && by_properties >= 0)
        jn_dnn_set_desc(m, to, by_properties, m->d->device);
    else if (!m->d->device && by_handle >= 0)
        jn_dnn_set(m, to, by_handle, JN_DNN_TYPE_HANDLE, 1, &m->d->handle);
}

static inline int jn_dnn_type_of(int64_t dtype) {
    return dtype == JANUS_F32   ? JN_DNN_DATA_FLOAT
           : dtype == JANUS_F64 ? JN_DNN_DATA_DOUBLE
           : dtype == JANUS_F16 ? JN_DNN_DATA_HALF
                                : JN_DNN_DATA_BFLOAT16;
}

/* What a plan is run with: memory by the tensors' numbers, from 1 on; NULL: not part of it. */
typedef struct jn_dnn_call {
    int n;
    void *data[JN_DNN_POINTERS];
    void *workspace;
} jn_dnn_call;
/* Runs the plan of a key, made when it is new.  False: there is none (nothing happened), or
 * e->error is set. */
bool jn_dnn_run(jn_dev_exec *e, jn_dnn *d, const jn_dnn_key *k, const jn_dnn_call *c);

/* ops/cuda/dnn_winograd.c.  False: the library has no such way to do it, and nothing was made. */
bool jn_dnn_winograd_make(jn_dnn *d, const jn_dnn_key *k, jn_dnn_way *out);
bool jn_dnn_winograd_run(jn_dnn *d, const jn_dnn_key *k, const jn_dnn_way *w, const jn_dnn_call *c);
void jn_dnn_winograd_free(jn_dnn *d, jn_dnn_way *w);

/* ops/cuda/dnn_attention.c */
void *jn_dnn_attention_graph(jn_dnn_maker *m, const jn_dnn_key *k);
void *jn_dnn_attention_grad_graph(jn_dnn_maker *m, const jn_dnn_key *k);

#endif
