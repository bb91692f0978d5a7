/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abstract values: what the converter knows of the values of the program that it runs.
 *
 * Values are immutable; what changes is a slot of the converter's table.  A tensor is a proxy, and
 * its record says which value of the graph it holds and which other tensors share its storage.
 */
#ifndef JPY_CONVERT_CORE_ABSTRACT_H
#define JPY_CONVERT_CORE_ABSTRACT_H

#include "pyfront/convert/core/staged.h"
#include "pyfront/convert/tree/tree.h"
#include "pyfront/entry/entry.h"
#include "pyfront/guard/guard.h"
#include "pyfront/tensor/tensor.h"

typedef struct jcv jcv;

typedef enum jcv_kind {
    AV_UNDEF,   /* no value: `lack` says in which sense, text why */
    AV_PY,      /* a Python object; src: where it comes from, NULL for constants */
    AV_TENSOR,  /* proxy py; src for bound ones */
    AV_SCALAR,  /* val */
    AV_HOST,    /* val, samples */
    AV_TUPLE,   /* items */
    AV_LIST,    /* slot holds AV_TUPLE */
    AV_DICT,    /* slot holds AV_TUPLE of key, value, key, value */
    AV_METHOD,  /* py: function, self; or a builtin method `name` of a container */
    AV_CLOSURE, /* tree, frame */
    AV_RANGE,   /* items: start, stop, step */
    AV_ITER,    /* text: what; slot holds AV_TUPLE of what is left of n, 0: items, again and again;
                   self: the function that an item's arguments are given to, NULL: none */
    AV_SEQ,     /* of unknown length; text: what; items: bases; self; slot: used up or not, 0: a
                   list; tree, frame: a generator expression over items[0], or a generator
                   function; val: how many */
    AV_STACK,   /* val: rows of a list of unknown length; n: tracked */
    AV_SUM,     /* self, or the int 0 when val is false: the sum of terms that may be none;
                   items[0]: what it goes over */
    AV_CHOICE,  /* items: key, value, ...; self: the object of the graph that selects; text: how */
    AV_DATA,    /* what a tensor holds: val; n: it requires grad (place.c) */
    AV_SUPER,   /* super(): py: the class, self: the instance (super.c) */
    AV_TEXT,    /* words: text with numbers of the graph (text.c) */
    AV_MAYBE    /* None, or the number items[0], unless val holds; then self; where that is NULL
                   what d.get(key) gives: items: d, key, live_epoch (maybe.c) */
} jcv_kind;

/* What an AV_UNDEF means.  Two of one sense are equal, but for LACK_UNKNOWN: nothing is known of
 * what such a location holds, so it is never the same as before. */
typedef enum jcv_lack {
    LACK_UNKNOWN,    /* it differs between paths */
    LACK_UNBOUND,    /* a name, or an attribute of an object, that is not there */
    LACK_DELETED,    /* the same, because it was deleted */
    LACK_UNREAD,     /* a location that holds what the heap has, which was not looked at */
    LACK_UNRETURNED, /* nothing is returned yet */
    LACK_USED_UP     /* an iterator that has given all its items */
} jcv_lack;

typedef struct jcv_av jcv_av;
typedef struct jcv_frame jcv_frame;
typedef struct jcv_watch jcv_watch;
typedef struct jcv_rows jcv_rows;
struct jcv_av {
    jcv_kind kind;
    PyObject *py; /* of a tuple: the one that stands in the text, NULL: it is made */
    jpy_src *src;
    jcv_val *val;
    PyObject *samples; /* list */
    jcv_av **items;
    unsigned n;
    uint32_t slot;
    jcv_av *self;
    jpy_tree *tree; /* of a closure; of AV_LIST and AV_DICT: where they are made */
    struct jcv_frame *frame;
    const char *text;
    bool sizes;      /* of AV_PY: a tuple that the program has just been given: a shape, strides */
    jcv_lack lack;   /* of AV_UNDEF ... */
    jcv_av *held;    /* ... of unknown value: the object that it holds, or None; NULL: not known */
    PyObject *named; /* of AV_TUPLE: the named tuple type that it is of, or NULL; of a stacked
                        list: tuple, where it is one */
    const jn_type *const *types; /* of the rows of a stacked list */
    jcv_av *origin;   /* of AV_LIST, AV_DICT: the real container that it stands for, or NULL */
    jcv_watch *watch; /* of AV_ITER: where its items come from (watch.c) */
    struct jcv_words *words; /* of AV_TEXT */
    const jpy_tree *site;    /* of a stacked list: the comprehension that made it, or NULL */
    jcv_val *key;            /* of a stacked list: the first of its rows' keys, or NULL */
    jcv_rows *rows;          /* of a stacked list: what became of its items, or NULL */
};

typedef struct jcv_saver {
    const struct jcv_node *node;
    uint32_t writes; /* to the tensor, before the node saved it */
    struct jcv_saver *next;
} jcv_saver;

typedef struct jcv_version {
    jcv_val *val;
    struct jcv_version *next;
} jcv_version;

enum { JCV_BOUND = 256 }; /* buckets of bound tensors */

/* What a proxy's storage leads to. */
typedef struct jcv_rec {
    jcv *c;
    janus_tensor *t; /* the tensor it was made for: other views of the storage are not understood */
    jcv_val *val;
    jcv_ctx *ctx;    /* where it was made */
    uint32_t serial; /* when: of all records */
    jpy_src *src;    /* of a bound tensor, or NULL */
    struct jcv_rec *parent, *root;
    const jn_op *op; /* how it was taken from its parent */
    const void *attrs;
    jcv_val **extra;
    unsigned n_extra;
    jcv_val *up;                  /* of a view: the parent's value that val was taken of */
    jcv_val *first;               /* of a bound root: the parameter */
    PyObject *proxy;              /* of a bound root: the real tensor */
    struct jcv_rec *next_bound;   /* in jcv.bound */
    PyObject *obj;                /* the proxy, kept by c; NULL: no name was given to it yet */
    uint32_t slot;                /* of a root that is written: AV_DATA, else 0 and val holds */
    uint32_t when;                /* of a bound one: slot of a bool, whether it was written */
    uint32_t counted;             /* ... 0, or slot of whether versions count one of its writes */
    bool written;                 /* of a root: on some path */
    bool shared;                  /* of a root: what is not known here may be the same tensor */
    jcv_av *box;                  /* read while the graph runs: the object, AV_HOST; or NULL */
    bool stored;                  /* of a root: the graph stored it in an object */
    bool put;                     /* of a bound one: its value may be among what the graph stores */
    bool stale;                   /* of a root: one of the tensors that it may be was written */
    struct jcv_saver *savers;     /* of a root: whose gradients need what it held (backward.c) */
    struct jcv_version *versions; /* of a leaf that is written: the values that are the leaf */
    uint32_t n_writes;            /* of a root */
    bool read_by_fn;              /* of a root: a recursion made outside of it reads it */
    bool apart;                   /* of a view: has no history of its root's */
    bool uncounted;               /* of a view by way of .data: versions do not count its writes */
    uint32_t n_counted;      /* of a root: writes that versions count and that are certain ... */
    bool may_count;          /* ... or made on some path ... */
    bool wrote_uncounted;    /* ... and one by way of .data */
    bool flagged;            /* of a bound one: its requires_grad was set ... */
    bool moved;              /* ... its data, so that it is in other memory */
    struct jcv_rec *data_of; /* whose memory it got by x.data = y; NULL: nobody's */
    jcv_frame *frame;        /* where it was made */
    struct jcv_rec **from;   /* of what arms or rounds leave: what it may be */
    unsigned n_from;
    uint64_t inside, around;           /* the last walk that came by (tensors/place.c) */
    struct jcv_rec *views, *next_view; /* of a root; of a view */
    struct jcv_rec *leaked; /* of a root: the view of it that leaves the SubGraph, or itself */
    bool two_leaked;        /* of a root: there may be several */
    bool asked;             /* leak.c */
    bool gaps;              /* of a root: there may be gaps, or none, where it has some here */
    struct jcv_rec *next;
} jcv_rec;

/* Tensors that are rows of a stacked list. */
struct jcv_rows {
    jcv_ctx *ctx;         /* where it was made */
    struct jcv_rec **put; /* their roots, n of them */
    size_t n;
    bool stale; /* one of them was written since */
    struct jcv_rows *next;
};

enum { JCV_NOT_KNOWN = UINT_MAX };

struct jcv_frame {
    jpy_source *source; /* of the function or of the enclosing one */
    jpy_tree *def;      /* JPY_DEF or JPY_LAMBDA */
    PyObject *func;     /* the Python function, NULL for closures made here */
    jpy_src *func_src;
    PyObject *code, *globals;
    jcv_av *self_key;
    struct jcv_frame *outer;  /* lexically */
    struct jcv_frame *caller; /* dynamically */
    jpy_tree *called_at;      /* in the caller; NULL: not by a statement of it */
    PyObject **names;
    uint32_t *slots;
    bool *boxed; /* the slot holds a list whose item the variable is (variables.c) */
    unsigned n, cap;
    jcv_av *shape; /* AV_TUPLE: each parameter's, with numbered leaves; the last one's is that
                      of the pairs where there is **kwargs */
    struct jcv_yield *yield; /* of a generator that runs */
    bool fills;              /* its body becomes a SubGraph ... */
    size_t n_fresh;          /* ... begun when so many instances had been made */
    bool comprehension;      /* unknown names belong to `outer` */
    unsigned depth;
    unsigned nested; /* levels of the containers that it was given, together; or JCV_NOT_KNOWN */
};

#endif
