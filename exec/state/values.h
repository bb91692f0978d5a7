/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a run and comes out of it. */
#ifndef JN_EXEC_VALUES_H
#define JN_EXEC_VALUES_H

#include "exec/store/store.h"
#include "graph/ir/ir.h"

typedef struct jn_run jn_run;
/* What a saved call keeps for its gradient; reference-counted, thread-safe to release. */
typedef struct jn_frame_value jn_frame_value;

typedef enum jn_effect_kind {
    JN_EFFECT_SET_ATTR, /* object.key = value */
    JN_EFFECT_SET_ITEM, /* object[index] = value */
    JN_EFFECT_SET_KEY,  /* object[key] = value */
    JN_EFFECT_APPEND,   /* object.append(value) */
    JN_EFFECT_STORE,    /* tensor data: target[...] = value, in place */
    JN_EFFECT_NEW,      /* object was made; index: a janus_birth */
    JN_EFFECT_POP,      /* object.pop() */
    JN_EFFECT_DEL_ITEM, /* del object[index], 0 <= index < len(object) */
    JN_EFFECT_INSERT,   /* object.insert(index, value), 0 <= index <= len(object) */
    JN_EFFECT_DEL_KEY,  /* del object[key] */
    JN_EFFECT_DEL_ATTR, /* del object.key */
    JN_EFFECT_EMIT      /* done by the embedding program while preparing */
} jn_effect_kind;

/* One entry of the log.  Tensors in `value` and `key` are owned by the run. */
typedef struct jn_effect {
    jn_effect_kind kind;
    janus_object object;
    int64_t index;        /* SET_ATTR: attribute number; items: index */
    janus_host_value key; /* SET_KEY */
    janus_host_value value;
    janus_tensor *target; /* STORE: borrowed from the caller's argument or a host object */
} jn_effect;

/* An argument or result of a run; FRAME values carry a counted reference. */
typedef struct jn_arg {
    janus_kind kind;
    union {
        janus_scalar s;
        janus_object o;
        janus_tensor *t;
        jn_frame_value *f;
    };
    janus_object object; /* TENSOR: the host object that it is, NULL: none */
} jn_arg;

#endif
