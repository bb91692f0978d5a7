/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: what janus.export wrote, loaded for C programs.
 *
 *     file.c     files, JSON and safetensors
 *     weights.c  tensors by content, shared by models
 *     load.c     signature and graph become a model
 *     call.c     arguments by name, batches of calls
 *     session.c  calls that go on from what earlier ones have left
 *
 * A batch of n calls is a SubGraph that invokes @main n times.  A frozen module cannot get new
 * SubGraphs, so those for the sizes in jn_batch_sizes are made at load; other sizes are put
 * together.
 */
#ifndef JN_EXEC_MODEL_H
#define JN_EXEC_MODEL_H

#include "exec/store/store.h"
#include "graph/base/vec.h"
#include "graph/ir/ir.h"

/* ---- file.c ------------------------------------------------------------------------------------
 */

typedef struct jn_bytes {
    const char *data;
    size_t n;
} jn_bytes;

/* A whole file, to be freed with jn_free; JANUS_NOT_FOUND where it cannot be read. */
janus_status jn_file_read(const char *folder, const char *name, char **out, size_t *out_n);

struct cJSON;
/* JSON of exactly these bytes, to be given to cJSON_Delete. */
janus_status jn_json_parse(jn_bytes text, const char *name, struct cJSON **out);
/* A whole number from 0 to `limit`, exactly; false: it is none. */
bool jn_json_index(const struct cJSON *o, uint64_t limit, uint64_t *out);

/* A tensor of a safetensors file; name and bytes are borrowed from the file. */
typedef struct jn_stored {
    const char *name;
    jn_type type;
    int64_t dims[JN_MAX_RANK];
    const char *bytes;
    size_t n;
} jn_stored;
/* Calls `take` for each, in the order of their bytes, which fill the file without gaps. */
janus_status jn_safetensors_read(jn_bytes file, const char *name,
                                 janus_status (*take)(void *user, const jn_stored *t), void *user);

/* ---- weights.c ---------------------------------------------------------------------------------
 */

/* The tensor of such bytes, a new reference; `w` NULL: a new one. */
janus_status jn_weights_get(janus_weights *w, const jn_stored *t, janus_tensor **out);

/* ---- models ------------------------------------------------------------------------------------
 */

typedef struct jn_model_argument {
    const char *name;
    int32_t param; /* of @main; -1: the graph does not use it */
    janus_type type;
    bool fixed;         /* must be `value`, where it is given */
    janus_scalar value; /* of an INT, FLOAT or BOOL */
    int64_t object;     /* of an OBJECT: the number of its type */
} jn_model_argument;

typedef struct jn_model_param { /* of @main */
    int32_t argument, state;    /* both -1: `value` always */
    janus_arg value;
} jn_model_param;

/* Where a value of a call comes from. */
typedef enum jn_model_from {
    JN_FROM_VALUE,    /* `value` */
    JN_FROM_RESULT,   /* `slot` of @main's results */
    JN_FROM_ARGUMENT, /* `slot` of the model's arguments */
    JN_FROM_INPUT     /* `slot` of @main's parameters */
} jn_model_from;

typedef struct jn_model_result {
    const char *name;
    jn_model_from from;
    uint32_t slot;
    janus_arg value;
} jn_model_result;

typedef struct jn_model_state { /* a place that calls write */
    jn_model_result next;       /* its name, and what a call leaves there */
    int32_t when;               /* result of @main that says whether it does; -1: always */
    bool written;               /* the tensor itself, which was not replaced */
    janus_arg first;            /* kind NONE: nothing yet */
} jn_model_state;

typedef struct jn_model_weight {
    const char *name;
    janus_tensor *t;
} jn_model_weight;

typedef struct jn_model_name { /* of an attribute or a class */
    const char *name;
    int64_t number;
} jn_model_name;

enum { JN_BATCH_SIZES = 10 };
extern const unsigned jn_batch_sizes[JN_BATCH_SIZES]; /* descending; the last one is 1 */

struct janus_model {
    atomic_int refs;
    jn_arena arena;
    janus_module *module;
    const jn_subgraph *main, *batch[JN_BATCH_SIZES]; /* the last one is @main */
    JN_VEC(jn_model_argument) arguments;
    JN_VEC(jn_model_param) params;
    JN_VEC(jn_model_result) results;
    JN_VEC(jn_model_weight) weights;
    JN_VEC(jn_model_state) states;
    JN_VEC(jn_model_name) attributes, types;
};

/* The three files of an export from memory; `folder` is used in messages. */
janus_status jn_model_read(const char *folder, jn_bytes graph, jn_bytes signature, jn_bytes weights,
                           janus_weights *shared, janus_model **out);
/* call.c: arguments by name in the order of the model, to be freed with jn_free, checked. */
janus_status jn_model_take(const janus_model *m, const char *const *names, const janus_arg *args,
                           unsigned n_args, const janus_run_options *options, janus_arg **out);
/* A value of a call whose parameters were `in` and whose results `out` are; borrowed. */
janus_arg jn_model_value(const jn_model_result *one, const janus_arg *args, const janus_arg *in,
                         const janus_arg *out);
/* Options with all members. */
janus_run_options jn_model_options(const janus_run_options *options);
/* call.c: SubGraphs for batches, then the module is frozen. */
janus_status jn_model_freeze(janus_model *m);

#endif
