/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus: symbolic dataflow graphs with recursion, in C.
 *
 * Build a module of SubGraphs (or parse one from text), differentiate it, freeze it, and run it on
 * tensors, scalars and your own objects.  Everything the Python front end does goes through here.
 *
 * Ownership.  A pointer written to an `out_` parameter belongs to the caller; release it with the
 * matching janus_*_release, which accept NULL.  A pointer returned by value is borrowed from the
 * first argument.  No function takes ownership of what it is given.  Outputs are written only on
 * success.
 *
 * Errors.  Functions that can fail return a janus_status; janus_last_error() has the details for
 * this thread until the next failing call.  The library never prints, aborts or exits.
 *
 * Threads.  Different objects may be used from different threads.  A frozen module, and a tensor
 * nobody writes, may be shared.  A module being built and a run belong to one thread at a time.
 */
#ifndef JANUS_H
#define JANUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define JANUS_API __attribute__((visibility("default")))
#else
#define JANUS_API
#endif

/* Version of the library, "MAJOR.MINOR.PATCH". */
JANUS_API const char *janus_version(void);

/* ---- status ---------------------------------------------------------------------------------- */

#define JANUS_STATUS_LIST(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(INVALID_ARGUMENT, -1, "invalid argument")                                                    \
    X(SHAPE, -2, "shape mismatch")                                                                 \
    X(DTYPE, -3, "dtype mismatch")                                                                 \
    X(UNSUPPORTED, -4, "not supported")                                                            \
    X(NOT_FOUND, -5, "not found")                                                                  \
    X(NO_MEMORY, -6, "out of memory")                                                              \
    X(DEVICE, -7, "device error")                                                                  \
    X(PARSE, -8, "parse error")                                                                    \
    X(ASSUMPTION_FAILED, -9, "an assumption of a speculative run failed; nothing was changed")     \
    X(CANCELLED, -10, "cancelled")                                                                 \
    X(INDEX, -11, "index out of range")                                                            \
    X(ARITHMETIC, -12, "arithmetic error")                                                         \
    X(INTERNAL, -13, "internal error")

typedef enum janus_status {
#define JANUS_STATUS_ENUM(name, code, text) JANUS_##name = code,
    JANUS_STATUS_LIST(JANUS_STATUS_ENUM)
#undef JANUS_STATUS_ENUM
} janus_status;

/* What went wrong last on this thread. */
typedef struct janus_error {
    janus_status code;
    char message[512];
    char context[8][160]; /* innermost first */
    int n_context;
    int assumption; /* with ASSUMPTION_FAILED: the `id` of the assert that failed */
} janus_error;

JANUS_API const char *janus_status_text(janus_status s);
JANUS_API const janus_error *janus_last_error(void);

/* ---- scalars, dtypes, kinds --------------------------------------------------------------------
 */

typedef enum janus_dtype {
    JANUS_F32 = 0,
    JANUS_F64 = 1,
    JANUS_I32 = 2,
    JANUS_I64 = 3,
    JANUS_BOOL = 4,
    JANUS_U8 = 5,  /* storage: loads, stores, casts, comparisons, indexing */
    JANUS_F16 = 6, /* storage */
    JANUS_BF16 = 7 /* storage */
} janus_dtype;
enum { JANUS_DTYPE_COUNT = 8 };

typedef enum janus_kind {
    JANUS_KIND_NONE = 0,
    JANUS_KIND_TENSOR = 1,
    JANUS_KIND_INT = 2,   /* int64_t; overflow is an error, as in Python there is none */
    JANUS_KIND_FLOAT = 3, /* double */
    JANUS_KIND_BOOL = 4,
    JANUS_KIND_OBJECT = 5,
    JANUS_KIND_FRAME = 6,
    JANUS_KIND_ACC = 7
} janus_kind;

typedef union janus_scalar {
    int64_t i; /* INT, BOOL (0 or 1) */
    double f;  /* FLOAT */
} janus_scalar;

/* A list of integers as an attribute (stride, dims). */
typedef struct janus_ints {
    const int64_t *data;
    size_t n;
} janus_ints;

/* A small constant tensor as an attribute; row-major bytes. */
typedef struct janus_data {
    janus_dtype dtype;
    int rank;
    const int64_t *dims;
    const void *bytes;
} janus_data;

/* ---- tensors -----------------------------------------------------------------------------------
 */

/* A strided view of a reference-counted storage. */
typedef struct janus_tensor janus_tensor;

/* New row-major tensor, uninitialised.  dims: `rank` sizes >= 0. */
JANUS_API janus_status janus_tensor_new(janus_dtype dtype, int rank, const int64_t *dims,
                                        janus_tensor **out_tensor);
/* New tensor with a copy of `data` (row-major). */
JANUS_API janus_status janus_tensor_from_data(janus_dtype dtype, int rank, const int64_t *dims,
                                              const void *data, janus_tensor **out_tensor);
/* Tensor over foreign memory, without a copy.  `release(user)` is called exactly once, from any
 * thread, when nothing refers to the memory any more; also when this call fails it is not called.
 */
JANUS_API janus_status janus_tensor_wrap(janus_dtype dtype, int rank, const int64_t *dims,
                                         const int64_t *strides /* elements; NULL: row-major */,
                                         void *data, void (*release)(void *user), void *user,
                                         janus_tensor **out_tensor);
/* Of NULL these do nothing, and what follows gives -1 or NULL. */
JANUS_API void janus_tensor_retain(janus_tensor *t);
JANUS_API void janus_tensor_release(janus_tensor *t);
JANUS_API janus_dtype janus_tensor_dtype(const janus_tensor *t);
JANUS_API int janus_tensor_rank(const janus_tensor *t);
JANUS_API const int64_t *janus_tensor_dims(const janus_tensor *t);
JANUS_API const int64_t *janus_tensor_strides(const janus_tensor *t); /* in elements */
JANUS_API void *janus_tensor_data(janus_tensor *t);                   /* first element */

/* ---- modules and SubGraphs ---------------------------------------------------------------------
 */

typedef struct janus_module janus_module;
typedef struct jn_subgraph janus_subgraph; /* belongs to its module */

/* A value of a SubGraph body: by value, no lifetime of its own. */
typedef struct janus_value {
    uint32_t node, index;
} janus_value;

/* A type, for declarations.  Zero-initialise; for tensors give dtype, rank (-1 unknown) and dims
 * (-1 unknown). */
typedef struct janus_type {
    janus_kind kind;
    janus_dtype dtype;
    int rank;
    const int64_t *dims;
    const janus_subgraph *frame_of;
} janus_type;

JANUS_API janus_status janus_module_new(janus_module **out_module);
JANUS_API void janus_module_retain(janus_module *m);
JANUS_API void janus_module_release(janus_module *m);
/* Reads the text form (.jir); `name` is used in messages. */
JANUS_API janus_status janus_module_parse(const char *text, size_t n, const char *name,
                                          janus_module **out_module);
/* Text forms; free with janus_free. */
JANUS_API janus_status janus_module_print(const janus_module *m, char **out_text);
JANUS_API janus_status janus_module_dot(const janus_module *m, char **out_text);
JANUS_API janus_status janus_module_json(const janus_module *m, char **out_text);
JANUS_API void janus_free(void *text);
/* Default optimisations (dead code, common subexpressions, folding, inlining). */
JANUS_API janus_status janus_module_optimize(janus_module *m);
/* Verifies and makes immutable; needed before running. */
JANUS_API janus_status janus_module_freeze(janus_module *m);
JANUS_API janus_subgraph *janus_module_find(const janus_module *m, const char *name);

/* Declares @name; it can be invoked before it is defined.  result types may have unknown dims. */
JANUS_API janus_status janus_subgraph_declare(janus_module *m, const char *name,
                                              const janus_type *results, unsigned n_results,
                                              janus_subgraph **out_sub);
/* Adds a parameter; `shared`: an invariant of the recursion, such as weights. */
JANUS_API janus_status janus_subgraph_param(janus_subgraph *g, const char *name,
                                            const janus_type *type, bool shared,
                                            janus_value *out_value);
/* Completes the body with its results. */
JANUS_API janus_status janus_subgraph_define(janus_subgraph *g, const janus_value *results,
                                             unsigned n);
/* Type of a value; dims are borrowed from the module. */
JANUS_API janus_type janus_value_type(const janus_subgraph *g, janus_value v);

/* Appends a node of the op named `op` (docs/ops.md lists them).  `attrs`: the op's attribute struct
 * from janus_ops.h, or NULL for defaults.  `out` receives n_out results. */
JANUS_API janus_status janus_build(janus_subgraph *g, const char *op, const janus_value *in,
                                   unsigned n_in, const void *attrs, janus_value *out,
                                   unsigned n_out);
JANUS_API janus_status janus_build_int(janus_subgraph *g, int64_t v, janus_value *out);
JANUS_API janus_status janus_build_float(janus_subgraph *g, double v, janus_value *out);
JANUS_API janus_status janus_build_bool(janus_subgraph *g, bool v, janus_value *out);
/* Calls @callee; n_out results. */
JANUS_API janus_status janus_build_invoke(janus_subgraph *g, janus_subgraph *callee,
                                          const janus_value *in, unsigned n_in, janus_value *out,
                                          unsigned n_out);
/* then/else receive the same operands; only the one taken runs. */
JANUS_API janus_status janus_build_if(janus_subgraph *g, janus_value cond, janus_subgraph *then_sub,
                                      janus_subgraph *else_sub, const janus_value *in,
                                      unsigned n_in, janus_value *out, unsigned n_out);
JANUS_API janus_status janus_build_while(janus_subgraph *g, janus_subgraph *cond,
                                         janus_subgraph *body, const janus_value *in, unsigned n_in,
                                         janus_value *out, unsigned n_out);
/* body(i, carried...) for i in 0..count-1. */
JANUS_API janus_status janus_build_foreach(janus_subgraph *g, janus_value count,
                                           janus_subgraph *body, const janus_value *in,
                                           unsigned n_in, janus_value *out, unsigned n_out);
/* Source position attached to nodes built from now on; file NULL: none. */
JANUS_API void janus_subgraph_at(janus_subgraph *g, const char *file, unsigned line, unsigned col);

/* Derives a SubGraph @name with the parameters of `f`: it runs f, and returns f's results followed
 * by the gradient of result 0 (a one-element tensor) with respect to the parameters listed.
 * Everything that f calls must be defined.  When it fails the module is as it was. */
JANUS_API janus_status janus_value_and_grad(janus_subgraph *f, const char *name,
                                            const unsigned *params, unsigned n_params,
                                            janus_subgraph **out_sub);

/* ---- host objects -------------------------------------------------------------------------------
 */

/*
 * How graphs read and write objects of the embedding program (a C tree, a Python heap).  Called
 * only on the thread that runs, in program order.  Any callback may fail: the run is discarded.
 * Results are borrowed and must stay valid until the run ends; reads see the heap as it was at the
 * start (writes are kept in the run's log and applied by the commit).  A NULL callback:
 * unsupported.
 */
typedef void *janus_object;
typedef struct janus_host_value {
    janus_kind kind; /* INT FLOAT BOOL OBJECT TENSOR NONE */
    union {
        janus_scalar s;
        janus_object o;
        janus_tensor *t; /* borrowed */
    };
} janus_host_value;

typedef enum janus_birth { JANUS_BIRTH_LIST, JANUS_BIRTH_TUPLE, JANUS_BIRTH_DICT } janus_birth;

/* Numbers that host.draw makes of the words of a generator, from a place on. */
typedef enum janus_draw {
    JANUS_DRAW_BELOW, /* an int from 0 to n - 1, of as many bits as n has, the first that is */
    JANUS_DRAW_AFTER, /* the place behind the words that were looked at for it */
    JANUS_DRAW_BITS,  /* n bits */
    JANUS_DRAW_UNIT   /* 53 bits: 27 of one word and 26 of the next */
} janus_draw;

/* Numbers of types in files that janus.export wrote: this and a janus_kind, of None that of NONE;
 * of lists, tuples, dicts and texts those below.  Of classes janus_model_type knows them. */
#define JANUS_TYPE_TOKEN INT64_C(0x4a414e5500000000)
enum { JANUS_TYPE_LIST = 16, JANUS_TYPE_TUPLE = 17, JANUS_TYPE_DICT = 18, JANUS_TYPE_TEXT = 19 };

typedef struct janus_host_ops {
    size_t struct_size;
    /* Reads attribute or field `key` (a number the embedding program gave meaning to); like get_key
     * JANUS_NOT_FOUND where there is none. */
    janus_status (*get_attr)(void *ctx, janus_object o, int64_t key, janus_host_value *out);
    janus_status (*get_item)(void *ctx, janus_object o, int64_t index, janus_host_value *out);
    janus_status (*get_key)(void *ctx, janus_object o, const janus_host_value *key,
                            janus_host_value *out);
    janus_status (*length)(void *ctx, janus_object o, int64_t *out);
    /* A token equal for objects of one type: what host.type asserts compare. */
    janus_status (*type_of)(void *ctx, janus_object o, int64_t *out);
    /* Converts an object to a scalar or tensor of the wanted kind, exactly or not at all. */
    janus_status (*unbox)(void *ctx, janus_object o, janus_kind want, janus_host_value *out);
    /* Writes, called by the commit only, after every assertion of the run has held. */
    janus_status (*set_attr)(void *ctx, janus_object o, int64_t key, const janus_host_value *v);
    janus_status (*set_item)(void *ctx, janus_object o, int64_t index, const janus_host_value *v);
    janus_status (*set_key)(void *ctx, janus_object o, const janus_host_value *key,
                            const janus_host_value *v);
    janus_status (*append)(void *ctx, janus_object o, const janus_host_value *v);
    /* Asked now and then while running; a failure cancels the run (signals). */
    janus_status (*poll)(void *ctx);
    /* The token of the type that a value of the graph has as an object: a scalar's or tensor's
     * kind, or JANUS_KIND_OBJECT for something new.  NULL: those of janus.export. */
    janus_status (*kind_type)(void *ctx, janus_kind kind, janus_birth what, int64_t *out);
    /* While preparing, in program order: makes something new, for host.new; the embedding program
     * keeps it until the run is over. */
    janus_status (*make)(void *ctx, janus_birth what, const janus_host_value *items, unsigned n,
                         janus_object *out);
    /* While preparing, once per tensor that the log refers to: the object it becomes (kept like
     * those of `make`); `tag` is that of its first write.  NULL: writes get tensors. */
    janus_status (*wrap)(void *ctx, janus_tensor *t, int64_t tag, janus_object *out);
    /* While preparing, in program order: what host.emit `key` says. */
    janus_status (*emit)(void *ctx, int64_t key, const janus_host_value *items, unsigned n);
    /* More writes of the commit. */
    janus_status (*pop)(void *ctx, janus_object o); /* the last item of a list */
    janus_status (*del_key)(void *ctx, janus_object o, const janus_host_value *key);
    janus_status (*del_attr)(void *ctx, janus_object o, int64_t key);
    /* Around tensor work that takes long, and for which nothing else of this table is needed: the
     * embedding program may give up its lock in between.  Both or none. */
    void (*leave)(void *ctx);
    void (*enter)(void *ctx);
    /* The object that stands for all keys of dicts that are equal to this one; the embedding
     * program keeps it until the run is over.  NULL: keys are equal if they are one object. */
    janus_status (*key_of)(void *ctx, janus_object o, janus_object *out);
    /* A number of generator `o`, which stays as it is: `at` counts its words since the run began.
     */
    janus_status (*draw)(void *ctx, janus_object o, janus_draw what, int64_t at, int64_t n,
                         int64_t *out);
    /* More writes of the commit: del o[index] and o.insert(index, v), 0 <= index. */
    janus_status (*del_item)(void *ctx, janus_object o, int64_t index);
    janus_status (*insert)(void *ctx, janus_object o, int64_t index, const janus_host_value *v);
    /* As unbox, where the run wants to tell gradients of the tensor from those of others, and has
     * not met the object: the tensor (borrowed till the run is over) if somebody takes a gradient
     * of it; JANUS_NOT_FOUND: nobody does.  NULL: nobody ever does. */
    janus_status (*leaf)(void *ctx, janus_object o, janus_tensor **out);
    /* A pair of a dict, in its order: that at *io_place (0: the first one), which becomes the next
     * one's; JANUS_NOT_FOUND: there are no more. */
    janus_status (*next_pair)(void *ctx, janus_object o, int64_t *io_place, janus_host_value *key,
                              janus_host_value *v);
    /* For host.text: a text of the items, in the form of that number, which the embedding program
     * keeps until the run is over. */
    janus_status (*text)(void *ctx, int64_t key, const janus_host_value *items, unsigned n,
                         janus_object *out);
} janus_host_ops;

/* ---- running --------------------------------------------------------------------------------- */

typedef enum janus_numerics {
    JANUS_NUMERICS_FAST = 0, /* may batch rows, fuse, reorder sums within tolerance */
    JANUS_NUMERICS_EXACT = 1 /* kernels and order of imperative execution, bit for bit */
} janus_numerics;

typedef struct janus_run_options {
    size_t struct_size;
    janus_numerics numerics;
    const janus_host_ops *host;
    void *host_ctx;
    uint64_t byte_ceiling;         /* 0: JANUS_MEMORY_LIMIT, or half of what the
                                      process may have */
    uint64_t rng_seed, rng_offset; /* the generator's state at entry */
    const char *device;            /* "cpu" (default), "ref", "null" */
} janus_run_options;
#define JANUS_RUN_OPTIONS_INIT                                                                     \
    { sizeof(janus_run_options), JANUS_NUMERICS_FAST, 0, 0, 0, 0, 0, 0 }

/* An argument or result. */
typedef struct janus_arg {
    janus_kind kind;
    union {
        janus_scalar s;
        janus_object o;
        janus_tensor *t; /* as an argument borrowed; as a result owned by the caller */
    };
} janus_arg;

typedef struct janus_run_stats {
    uint64_t invokes;      /* SubGraph calls made */
    uint64_t instructions; /* host-strand instructions */
    uint64_t tasks;        /* (frame, segment) pairs executed on the tensor strand */
    uint64_t batches;      /* groups they ran in */
    uint64_t kernels;      /* kernel calls */
    uint64_t peak_bytes;   /* of tensor memory */
    uint64_t rng_offset;   /* of the generator after the run */
    uint64_t lanes;        /* most threads that ran tasks independent of each other */
    uint64_t early;        /* tasks given to a thread while the host strand went on */
    uint64_t host_ns;      /* the host strand: scalars, host reads and writes, calls, scheduling */
    uint64_t tensor_ns;    /* the tensor strand: kernels and what they need */
    uint64_t late;         /* tasks that computed in place, in the tensors that the run wrote */
    uint64_t ops;          /* tensor ops, of all tasks: a batch of n rows counts n times */
} janus_run_stats;

/* Runs @sub of a frozen module and commits its effects: all of them, or none on failure. */
JANUS_API janus_status janus_run(const janus_subgraph *sub, const janus_arg *args, unsigned n_args,
                                 const janus_run_options *options, janus_arg *results,
                                 unsigned n_results, janus_run_stats *stats);

/* ---- models: graphs of Python programs ----------------------------------------------------------
 */

/*
 * What `janus.export` wrote to a folder: a graph, its weights, and what its arguments and results
 * are called.  A model is immutable and may be shared between threads, which may call it at the
 * same time.  Arguments are those of the Python function, in its order, by the names they have
 * there; a method's `self` is none of them.  Objects (trees, lists of things) are read through
 * janus_host_ops, None and numbers in them being values of their kinds; a text that the graph looks
 * up (`get_key` of "left") is an object, the `const char *` of it.  Results are the tensors,
 * numbers and constants that its result is made of, named by where they are: "" for a result that
 * is nothing else, "[1]" for an item of a tuple or list, "loss" for that of a dict, "parts[0]" and
 * so on.
 */
typedef struct janus_model janus_model;

/* Weights that models share: of equal ones (type, dims and bytes) those that are loaded later use
 * the memory of the first.  A set of weights belongs to one thread at a time; models go on holding
 * what they use of it after its release. */
typedef struct janus_weights janus_weights;

/* How many calls janus_model_batch makes in one run; more are several runs. */
enum { JANUS_MODEL_BATCH = 32 };

JANUS_API janus_status janus_weights_new(janus_weights **out_weights);
JANUS_API void janus_weights_release(janus_weights *w);
/* Memory of its tensors; of NULL 0. */
JANUS_API uint64_t janus_weights_bytes(const janus_weights *w);

/* Reads the folder that janus.export wrote.  `weights`, NULL: shared with nobody.  A file that is
 * not there is JANUS_NOT_FOUND, one that is damaged JANUS_PARSE, weights that do not fit the graph
 * JANUS_SHAPE or JANUS_DTYPE; JANUS_UNSUPPORTED where janus was built without libcjson. */
JANUS_API janus_status janus_module_load(const char *folder, janus_weights *weights,
                                         janus_model **out_model);
JANUS_API void janus_model_retain(janus_model *m);
JANUS_API void janus_model_release(janus_model *m);

/* How many arguments and results it has, and their names; NULL for a number that is too large. */
JANUS_API unsigned janus_model_arguments(const janus_model *m);
JANUS_API const char *janus_model_argument(const janus_model *m, unsigned i);
JANUS_API unsigned janus_model_results(const janus_model *m);
JANUS_API const char *janus_model_result(const janus_model *m, unsigned i);
/* What an argument or result is: its dims are borrowed from the model, -1 where any size will do.
 * Kind NONE: nothing is known, or it is None or a text. */
JANUS_API janus_type janus_model_argument_type(const janus_model *m, unsigned i);
JANUS_API janus_type janus_model_result_type(const janus_model *m, unsigned i);
/* The weight of that name ("self.linear.weight"), borrowed; NULL: it has none. */
JANUS_API janus_tensor *janus_model_weight(const janus_model *m, const char *name);
/* For the callbacks that read objects: the `key` of an attribute, and the number that type_of gives
 * for objects of a class.  JANUS_NOT_FOUND: the graph does not look at it. */
JANUS_API janus_status janus_model_attribute(const janus_model *m, const char *name,
                                             int64_t *out_key);
JANUS_API janus_status janus_model_type(const janus_model *m, const char *name, int64_t *out_type);

/* Calls it.  args[i] is the argument names[i], in any order.  Arguments that the graph does not use
 * may be left out; where they are given they must be what it was exported for.  `results` gets
 * n_results (all) values, which are the caller's: tensors to be released, numbers, and kind NONE
 * for None and texts. */
JANUS_API janus_status janus_model_call(const janus_model *m, const char *const *names,
                                        const janus_arg *args, unsigned n_args,
                                        const janus_run_options *options, janus_arg *results,
                                        unsigned n_results, janus_run_stats *stats);
/* Calls it n_calls times at once: what the calls do alike is computed together.  `args` has
 * n_args (all) arguments per call, in order, kind NONE where one is left out; `results` gets
 * n_results (all) values per call.  All calls are done or none. */
JANUS_API janus_status janus_model_batch(const janus_model *m, unsigned n_calls,
                                         const janus_arg *args, unsigned n_args,
                                         const janus_run_options *options, janus_arg *results,
                                         unsigned n_results, janus_run_stats *stats);

/*
 * What a graph writes besides its results (the running statistics of a norm, a counter, a hidden
 * state that the program keeps in an attribute) is its state, by the names of the program:
 * "self.norm.running_mean".  Calls of a model that has one are made in a session, which begins with
 * the state as it was exported; each goes on from what the one before has left, in the random
 * numbers, too: those before are added to rng_offset.  Sessions of one model have nothing in
 * common but its weights.  A session belongs to one thread at a time.
 */
typedef struct janus_session janus_session;

/* How many places the model writes, and their names; NULL for a number that is too large. */
JANUS_API unsigned janus_model_states(const janus_model *m);
JANUS_API const char *janus_model_state(const janus_model *m, unsigned i);
JANUS_API janus_status janus_session_new(janus_model *m, janus_session **out_session);
JANUS_API void janus_session_release(janus_session *s);
/* As janus_model_call; the state is as before where it fails. */
JANUS_API janus_status janus_session_call(janus_session *s, const char *const *names,
                                          const janus_arg *args, unsigned n_args,
                                          const janus_run_options *options, janus_arg *results,
                                          unsigned n_results, janus_run_stats *stats);
/* What is there now, a tensor borrowed until the next call; kind NONE: nothing yet, None or a text.
 * JANUS_NOT_FOUND: the model does not write it. */
JANUS_API janus_status janus_session_get(const janus_session *s, const char *name,
                                         janus_arg *out_value);
/* Another value of the same kind, which is copied. */
JANUS_API janus_status janus_session_set(janus_session *s, const char *name,
                                         const janus_arg *value);

/* ---- process -----------------------------------------------------------------------------------
 */

typedef struct janus_allocator {
    void *(*alloc)(void *user, size_t size, size_t align);
    void *(*realloc)(void *user, void *p, size_t size); /* of 16-byte aligned blocks */
    void (*free)(void *user, void *p);
    void *user;
} janus_allocator;
/* Replaces the allocator; only before anything else was called. */
JANUS_API janus_status janus_set_allocator(const janus_allocator *a);
/* Threads used by kernels and batches, this one included; 0: one per core. */
JANUS_API janus_status janus_set_num_threads(int n);
JANUS_API int janus_get_num_threads(void);

#ifdef __cplusplus
}
#endif

#endif
